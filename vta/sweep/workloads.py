"""A single workload as a graph that any config can compile."""

from __future__ import annotations

import re
from typing import Any

from vta.autotune.reconstruct import graph_of_workload
from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError, TuningError
from vta.ir.graph import Graph
from vta.records.workload import TASK_NAMES, Workload, tensor_argument
from vta.support.shorten import shown

__all__ = ["graph_of_identity", "parse_identity"]

_SIZES = re.compile(r"[0-9]{1,9}(x[0-9]{1,9}){0,9}", re.ASCII)
_FIELDS: dict[str, tuple[str, ...]] = {
    "conv2d_packed.vta": ("data", "kernel", "strides", "padding", "dilation"),
    "group_conv2d_packed.vta": ("data", "kernel", "strides", "padding", "dilation", "groups"),
    "dense_packed.vta": ("data", "weight"),
    "add.vta": ("lhs", "rhs"),
    "multiply.vta": ("lhs", "rhs"),
    "elementwise.vta": ("data",),
    "sum_pool2d.vta": ("data", "pool_size", "strides", "padding"),
}
_TENSORS = ("data", "kernel", "weight", "lhs", "rhs")
_LOG_ROWS = 8


def parse_identity(text: str) -> Workload:
    """The workload that has `text` as its name: the inverse of `Workload.identity`.

    Raises `TuningError` naming the part that is wrong.
    """
    name, *parts = text.split(":")
    if name not in _FIELDS:
        raise TuningError(f"{shown(text)}: unknown workload {shown(name)}; allowed: {', '.join(TASK_NAMES)}")
    fields = _FIELDS[name]
    if len(parts) != len(fields):
        raise TuningError(f"{shown(text)}: {len(parts)} parts after the name; {name} has {len(fields)}: {', '.join(fields)}")
    args = [_argument(field, part, text) for field, part in zip(fields, parts, strict=True)]
    if name == "dense_packed.vta":
        args += [None, "int32"]
    elif "conv2d" in name:
        _, _, _, _, rows, columns = args[0][1] if len(args[0][1]) == 6 else _wrong_rank(text)
        args += ["int32"] if name.startswith("group") else [f"NCHW{rows}n{columns}c", "int32"]
    return Workload(name, tuple(args))


def graph_of_identity(text: str) -> Graph:
    """An integer graph of one workload, with the channels and images that its own packing holds.

    Any config can compile it: channels and images that do not fill a block are padded. Raises `TuningError` if the parts of
    `text` do not go together.
    """
    workload = parse_identity(text)
    data = workload.tensors[0]
    if len(data) < 2:
        _wrong_rank(text)
    return graph_of_workload(workload, _packing(data[-2], data[-1], text))


def _argument(field: str, part: str, text: str) -> Any:
    if field == "rhs" and part == "scalar":
        return tensor_argument((), "int32")
    digits = part.removeprefix("g") if field == "groups" else part
    if not _SIZES.fullmatch(digits):
        raise TuningError(f"{shown(text)}: {field} = {shown(part)}; allowed: sizes joined by x, as tuning lists them")
    sizes = tuple(int(size) for size in digits.split("x"))
    if field == "groups":
        return sizes[0]
    if field not in _TENSORS:
        return sizes
    return tensor_argument(sizes, "int32" if field in ("lhs", "rhs") else "int8")


def _wrong_rank(text: str) -> tuple[int, ...]:
    raise TuningError(f"{shown(text)}: data needs 6 sizes: images, blocks, height, width, rows and columns of a block")


def _packing(rows: int, columns: int, text: str) -> HardwareConfig:
    """Some config whose elements have these rows and columns."""
    log_batch, log_block = max(0, rows.bit_length() - 1), max(0, columns.bit_length() - 1)
    if (1 << log_batch, 1 << log_block) != (rows, columns):
        raise TuningError(f"{shown(text)}: blocks of {rows}x{columns}; both must be powers of two")
    vector = log_batch + log_block
    try:
        return HardwareConfig(
            "sim", "0.0.2", 3, 3, 5, log_batch, log_block,
            2 + _LOG_ROWS, vector + _LOG_ROWS, 2 * log_block + _LOG_ROWS, vector + 2 + _LOG_ROWS,
        )  # fmt: skip
    except ConfigError as error:
        raise TuningError(f"{shown(text)}: no config has blocks of {rows}x{columns}: {error}") from None
