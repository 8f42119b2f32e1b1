"""The least cycles that an operator can take on a config, whatever its schedule: see docs/roofline.md."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.errors import TuningError
from vta.records.workload import Workload
from vta.schedule.least_work import term_work
from vta.schedule.schedule import alu_passes, joins_products, terms_of, vectors_of
from vta.tile.operator import RegionOperators, TileOperator

__all__ = ["Roofline", "least_workload_cycles", "roofline_of", "roofline_of_region"]


@dataclass(frozen=True)
class Roofline:
    """Lower bounds of an operator, in cycles."""

    gemm: int
    """Products of blocks, without those that a schedule can leave out, and a reset of every output row."""
    alu: int
    acc_loads: int
    """Beats of per-channel constants, which the compute unit loads itself."""
    read: int
    """Beats of everything that must be loaded at least once."""
    write: int
    """Beats of everything that must be stored."""

    @property
    def compute(self) -> int:
        """Cycles of the compute unit: what it does shares one queue, so it adds up."""
        return self.gemm + self.alu + self.acc_loads

    @property
    def memory(self) -> int:
        """Cycles of the busier direction of the bus; reads and writes do not slow each other."""
        return max(self.read, self.write)

    @property
    def cycles(self) -> int:
        """The bound: the larger of compute and memory."""
        return max(self.compute, self.memory)


def roofline_of(operator: TileOperator, hw: HardwareConfig, bus_bytes: int | None = None) -> Roofline:
    """The bounds of an operator with all that follows its products, for beats of `bus_bytes` (default: of the platform)."""
    out = operator.output
    beat = bus_bytes or hw.platform.bus_bytes
    terms = [term_work(term, operator) for term in terms_of(operator)]
    tensors = [step.operand for step in operator.steps if isinstance(step.operand, tuple) and not joins_products(step)]
    joined = [step.operand for step in operator.steps if isinstance(step.operand, tuple) and joins_products(step)]
    levels = [*operator.levels, *(level for operand in (*tensors, *joined) for level in operand)]
    # A row starts with a reset or, from a preload, with one pass of the ALU: either is one cycle.
    gemm = out.elements * (1 + len(tensors)) + sum(work.products for work in terms)
    alu = out.elements * (alu_passes(operator) + sum(bool(level.shift) for level in levels) + out.planes - 1)
    constants = len(vectors_of(operator)) * out.blocks * hw.elem_bytes(MemoryType.ACC)
    inputs: dict[str, int] = {}
    for term, work in zip(terms_of(operator), terms, strict=True):
        inputs[term.source.name] = max(inputs.get(term.source.name, 0), work.inputs)
    weights = sum(work.weights for work in terms)
    loaded = constants + sum(inputs.values()) * hw.elem_bytes(MemoryType.INP) + weights * hw.elem_bytes(MemoryType.WGT)
    stored = out.elements * out.planes * hw.elem_bytes(MemoryType.OUT)
    return Roofline(gemm, alu, -(-constants // beat), -(-loaded // beat), -(-stored // beat))


def roofline_of_region(region: RegionOperators, hw: HardwareConfig, bus_bytes: int | None = None) -> Roofline:
    """The bounds of operators that run as one program: the bus may work for one while the compute unit works for another.

    Pooling and upsampling are not counted.
    """
    found = [roofline_of(operator, hw, bus_bytes) for operator in region.operators if isinstance(operator, TileOperator)]
    return Roofline(*(sum(getattr(part, entry.name) for part in found) for entry in fields(Roofline)))


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
