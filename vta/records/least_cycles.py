"""The least cycles that any operator of a workload can take, whatever follows its products: what records are checked against."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import TuningError
from vta.records.workload import Workload

__all__ = ["least_workload_cycles"]


def least_workload_cycles(workload: Workload, hw: HardwareConfig, dense: bool = True) -> int:
    """A bound for any operator of a workload, whatever follows its products; 0 where the workload is not known.

    Zero padding is not counted: a design that skips it stays within the bound. If the weights may not be `dense`, so that most
    products could be left out, only the outputs count. Raises `TuningError` if the arguments of the workload do not go together.
    """
    try:
        least = _least_of_workload(workload)
        if least is None:
            return 0
        beat = hw.platform.bus_bytes
        outputs = max(least.outputs, least.outputs * hw.elem_bytes(MemoryType.OUT) // beat)
        return max(outputs, least.products, least.read_bytes // beat) if dense else outputs
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError) as error:
        raise TuningError(f"{workload.identity}: its arguments do not go together: {error}") from None


class _Least(NamedTuple):
    """What any operator of a workload takes."""

    products: int
    read_bytes: int
    outputs: int
    """Elements: each is started in the accumulator, and stored."""


def _least_of_workload(workload: Workload) -> _Least | None:
    if workload.name in ("conv2d_packed.vta", "group_conv2d_packed.vta"):
        return _least_of_convolution(workload)
    if workload.name in ("conv2d_transpose_packed.vta", "group_conv2d_transpose_packed.vta"):
        return _least_of_transposed(workload)
    if workload.name == "dense_packed.vta":
        data, weight = workload.tensors[:2]
        return _Least(data[0] * weight[0] * weight[1], int(np.prod(data)) + int(np.prod(weight)), data[0] * weight[0])
    tensors = workload.tensors
    return _Least(0, 0, int(np.prod(tensors[0][:4]))) if tensors and len(tensors[0]) == 6 and _elementwise(workload) else None


def _elementwise(workload: Workload) -> bool:
    return workload.name in ("add.vta", "multiply.vta", "elementwise.vta")


def _least_of_convolution(workload: Workload) -> _Least:
    data, kernel = workload.tensors[:2]
    strides, padding, dilation = workload.args[2:5]
    before, after = (padding[:2], padding[2:]) if len(padding) == 4 else (padding, padding)
    positions, outputs, reached = 1, 1, 1
    for axis in (0, 1):
        size, taps = data[2 + axis], np.arange(kernel[2 + axis]) * dilation[axis]
        extent = (size + before[axis] + after[axis] - taps[-1] - 1) // strides[axis] + 1
        rows = np.arange(extent)[:, None] * strides[axis] + taps[None, :] - before[axis]
        inside = (rows >= 0) & (rows < size)
        positions, outputs, reached = positions * int(inside.sum()), outputs * extent, reached * int(inside.any(axis=0).sum())
    nbytes = int(np.prod(kernel)) // (kernel[2] * kernel[3]) * reached
    return _Least(data[0] * kernel[0] * kernel[1] * positions, nbytes, data[0] * kernel[0] * int(outputs))


def _least_of_transposed(workload: Workload) -> _Least:
    data, kernel = workload.tensors[:2]
    strides, padding = workload.args[2:4]
    dilation = workload.args[4] if workload.name.startswith("group") else (1, 1)
    positions, outputs, reached = 1, 1, 1
    for axis in (0, 1):
        size, taps = data[2 + axis], np.arange(kernel[2 + axis]) * dilation[axis]
        extent = (size - 1) * strides[axis] + taps[-1] + 1 - padding[axis] - padding[2 + axis] + workload.args[-1][axis]
        rows = np.arange(size)[:, None] * strides[axis] + taps[None, :] - padding[axis]
        inside = (rows >= 0) & (rows < extent)
        positions, outputs, reached = positions * int(inside.sum()), outputs * extent, reached * int(inside.any(axis=0).sum())
    nbytes = int(np.prod(kernel)) // (kernel[2] * kernel[3]) * reached
    return _Least(data[0] * kernel[0] * kernel[1] * positions, nbytes, data[0] * kernel[0] * int(outputs))
