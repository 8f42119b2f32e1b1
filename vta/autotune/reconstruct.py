"""Makes a small integer graph of nothing but a workload, so that records can be checked and replayed without their network."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.errors import GraphError, TuningError
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.ops.nn.conv import transposed_weight
from vta.records.workload import Workload

__all__ = ["graph_of_workload"]

_SHIFT = 8
_MOST_WEIGHTS = 1 << 28


def graph_of_workload(workload: Workload, hw: HardwareConfig) -> Graph:
    """One layer of random weights with bias, shift and clip to int8.

    Raises `TuningError` if the workload is none that VTA has, or its arguments do not go together on `hw`.
    """
    makers = {
        "conv2d_packed.vta": _convolution,
        "group_conv2d_packed.vta": _convolution,
        "conv2d_transpose_packed.vta": _transposed_convolution,
        "group_conv2d_transpose_packed.vta": _transposed_convolution,
        "dense_packed.vta": _dense,
        "add.vta": _pair,
        "multiply.vta": _pair,
        "elementwise.vta": _single,
        "sum_pool2d.vta": _pool,
    }
    if workload.name not in makers:
        raise TuningError(f"no template for {workload.name}; there are {', '.join(makers)}")
    try:
        inputs, value = makers[workload.name](workload, hw)
        return Graph(tuple(inputs), (_narrowed(value, workload.name),), workload.name)
    except (GraphError, LookupError, TypeError, ValueError, ArithmeticError, MemoryError) as error:
        raise TuningError(f"{workload.identity}: its arguments do not go together: {error}") from None


def _convolution(workload: Workload, hw: HardwareConfig) -> tuple[list[Node], Node]:
    data, kernel = workload.tensors[:2]
    _check_packing(workload, hw, data[4:], kernel[4:])
    strides, padding, dilation = workload.args[2:5]
    groups = workload.args[5] if workload.name.startswith("group") else 1
    channels, per_group, outputs = _channels(data, kernel, groups, hw)
    image = graph_input("data", (data[0] * hw.batch, channels, *data[2:4]), "int8")
    weights = _random((outputs, per_group, *kernel[2:4]))
    pads = tuple(padding) if len(padding) == 4 else (*padding, *padding)
    attributes: dict[str, Any] = {"strides": tuple(strides), "padding": pads, "dilation": tuple(dilation), "groups": groups}
    return [image], call(ops.CONV2D, [image, constant(weights)], workload.name, **attributes)


def _transposed_convolution(workload: Workload, hw: HardwareConfig) -> tuple[list[Node], Node]:
    data, kernel = workload.tensors[:2]
    _check_packing(workload, hw, data[4:], kernel[4:])
    strides, padding = workload.args[2:4]
    dilation, groups = workload.args[4:6] if workload.name.startswith("group") else ((1, 1), 1)
    channels, per_group, outputs = _channels(data, kernel, groups, hw)
    image = graph_input("data", (data[0] * hw.batch, channels, *data[2:4]), "int8")
    weights = transposed_weight(_random((outputs, per_group, *kernel[2:4])), groups)
    attributes = {"strides": strides, "padding": padding, "dilation": dilation, "output_padding": workload.args[-1]}
    return [image], call(ops.CONV2D_TRANSPOSE, [image, constant(weights)], workload.name, groups=groups, **attributes)


def _channels(data: tuple[int, ...], kernel: tuple[int, ...], groups: int, hw: HardwareConfig) -> tuple[int, int, int]:
    """Input channels of all groups and of one, and output channels: of groups, as many as blocks padded with zeros may hold."""
    channels, per_group, outputs = data[1] * hw.block, kernel[1] * hw.block, kernel[0] * hw.block
    if groups == 1:
        return channels, per_group, outputs
    if per_group * groups > channels:
        per_group = max(1, channels // groups)
    return per_group * groups, per_group, outputs // groups * groups


def _dense(workload: Workload, hw: HardwareConfig) -> tuple[list[Node], Node]:
    data, weight = workload.tensors[:2]
    # Records of other geometries pack their tensors in other ways: the logical shape is what counts.
    rows, inner = data[0] * data[2], data[1] * data[3]
    image = graph_input("data", (rows, inner), "int8")
    weights = _random((weight[0] * weight[2], weight[1] * weight[3]))
    return [image], call(ops.DENSE, [image, constant(weights)], workload.name)


def _pair(workload: Workload, hw: HardwareConfig) -> tuple[list[Node], Node]:
    first, second = workload.tensors[:2]
    op = workload.name.removesuffix(".vta")
    left = graph_input("lhs", _logical(first, workload, hw), "int8")
    if second == ():
        return [left], call(op, [_wide(left), constant(np.int32(3))], workload.name)
    right = graph_input("rhs", _logical(second, workload, hw), "int8")
    return [left, right], call(op, [_wide(left), _wide(right)], workload.name)


def _single(workload: Workload, hw: HardwareConfig) -> tuple[list[Node], Node]:
    data = graph_input("data", _logical(workload.tensors[0], workload, hw), "int8")
    return [data], _wide(data)


def _pool(workload: Workload, hw: HardwareConfig) -> tuple[list[Node], Node]:
    data = graph_input("data", _logical(workload.tensors[0], workload, hw), "int8")
    pool_size, strides, padding = workload.args[1:4]
    return [data], call(ops.SUM_POOL2D, [data], workload.name, pool_size=pool_size, strides=strides, padding=padding)


def _narrowed(value: Node, name: str) -> Node:
    """Bias and shift where there are products; the clip of the published templates in any case.

    Transposed convolutions have no bias: they have none in the published log, and its schedules leave no room for one.
    """
    if "conv2d" in name or name.startswith("dense"):
        if "transpose" not in name:
            bias = np.random.default_rng(1).integers(-1000, 1000, (1, value.shape[1], 1, 1)[: len(value.shape)], np.int32)
            value = call(ops.ADD, [value, constant(bias)], name)
        value = call(ops.RIGHT_SHIFT, [value, constant(np.int32(_SHIFT))], name)
    value = call(ops.CLIP, [value], name, a_min=0, a_max=127)
    return call(ops.CAST, [value], name, dtype="int8")


def _wide(node: Node) -> Node:
    return call(ops.CAST, [node], node.name, dtype="int32")


def _logical(shape: tuple[int, ...], workload: Workload, hw: HardwareConfig) -> tuple[int, int, int, int]:
    if len(shape) != 6:
        raise TuningError(f"{workload.identity}: {len(shape)} dimensions; a packed tensor has 6")
    _check_packing(workload, hw, shape[4:], (hw.block, hw.block))
    return shape[0] * hw.batch, shape[1] * hw.block, shape[2], shape[3]


def _check_packing(workload: Workload, hw: HardwareConfig, data: tuple[int, ...], kernel: tuple[int, ...]) -> None:
    if tuple(data) != (hw.batch, hw.block) or tuple(kernel) != (hw.block, hw.block):
        raise TuningError(
            f"{workload.identity}: packed for {'x'.join(map(str, data))} with kernels of {'x'.join(map(str, kernel))}; "
            f"{hw.model} has {hw.batch}x{hw.block}"
        )


def _random(shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.int8]]:
    if prod(shape) > _MOST_WEIGHTS:
        raise TuningError(f"weights of {'x'.join(map(str, shape))}: {prod(shape):,} values; the limit is {_MOST_WEIGHTS:,}")
    return np.random.default_rng(0).integers(-128, 128, shape, np.int8)
