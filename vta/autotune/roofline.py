"""The least cycles that an operator can take on a config, whatever its schedule: see docs/roofline.md."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vta.autotune.workload import Workload
from vta.codegen.schedule import terms_of, vectors_of
from vta.codegen.workload import Branch, GemmTerm, TileOperator
from vta.config import HardwareConfig
from vta.errors import TuningError
from vta.targets import TARGETS, MemoryType

__all__ = ["Roofline", "clock_hz", "least_workload_cycles", "roofline_of"]


@dataclass(frozen=True)
class Roofline:
    """Lower bounds of an operator, in cycles."""

    gemm: int
    """Products of blocks, without those with zero padding, and a reset of every output row."""
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


def clock_hz(hw: HardwareConfig) -> int:
    """Clock of the config's platform."""
    return TARGETS[hw.target].platform.fabric_mhz * 1_000_000


def roofline_of(operator: TileOperator, hw: HardwareConfig, bus_bytes: int | None = None) -> Roofline:
    """The bounds of an operator with all that follows its products, for beats of `bus_bytes` (default: of the platform)."""
    out = operator.output
    rows = out.elements
    beat = bus_bytes or _beat_bytes(hw)
    # A row starts with a reset or, from a preload, with one pass of the ALU: either is one cycle.
    resets, shifts = 1, sum(bool(level.shift) for level in operator.levels)
    for step in operator.steps:
        if isinstance(step.operand, tuple):
            resets, shifts = resets + 1, shifts + sum(bool(level.shift) for level in step.operand)
        elif isinstance(step.operand, Branch):
            resets, shifts = resets + 1, shifts + len(step.operand.steps)
    alu = len(operator.steps) + shifts + out.planes - 1
    gemm = rows * resets + sum(_products(term, operator) for term in terms_of(operator))
    constants = len(vectors_of(operator)) * out.blocks * hw.elem_bytes(MemoryType.ACC)
    loaded = constants + _loaded_bytes(operator, hw)
    stored = rows * out.planes * hw.elem_bytes(MemoryType.OUT)
    return Roofline(gemm, rows * alu, -(-constants // beat), -(-loaded // beat), -(-stored // beat))


def least_workload_cycles(workload: Workload, hw: HardwareConfig) -> int:
    """A bound for any operator of a workload, whatever follows its products; 0 where the workload is not known.

    Zero padding is not counted: a design that skips it stays within the bound. Raises `TuningError` if its arguments do not go
    together.
    """
    try:
        return _least_workload_cycles(workload, hw)
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError) as error:
        raise TuningError(f"{workload.identity}: its arguments do not go together: {error}") from None


def _least_workload_cycles(workload: Workload, hw: HardwareConfig) -> int:
    if workload.name in ("conv2d_packed.vta", "group_conv2d_packed.vta"):
        return _convolution_cycles(workload, hw)
    if workload.name in ("conv2d_transpose_packed.vta", "group_conv2d_transpose_packed.vta"):
        return _transposed_cycles(workload, hw)
    if workload.name == "dense_packed.vta":
        data, weight = workload.tensors[:2]
        products = data[0] * weight[0] * weight[1]
        nbytes = int(np.prod(data)) + int(np.prod(weight))
        return max(products, nbytes // _beat_bytes(hw))
    tensors = workload.tensors
    return int(np.prod(tensors[0][:4])) if tensors and len(tensors[0]) == 6 else 0


def _convolution_cycles(workload: Workload, hw: HardwareConfig) -> int:
    data, kernel = workload.tensors[:2]
    strides, padding, dilation = workload.args[2:5]
    before, after = (padding[:2], padding[2:]) if len(padding) == 4 else (padding, padding)
    positions = 1
    for axis in (0, 1):
        size, taps = data[2 + axis], np.arange(kernel[2 + axis]) * dilation[axis]
        extent = (size + before[axis] + after[axis] - taps[-1] - 1) // strides[axis] + 1
        rows = np.arange(extent)[:, None] * strides[axis] + taps[None, :] - before[axis]
        positions *= int(((rows >= 0) & (rows < size)).sum())
    products = data[0] * kernel[0] * kernel[1] * positions
    nbytes = int(np.prod(kernel))
    return max(products, nbytes // _beat_bytes(hw))


def _transposed_cycles(workload: Workload, hw: HardwareConfig) -> int:
    data, kernel = workload.tensors[:2]
    strides, padding = workload.args[2:4]
    dilation = workload.args[4] if workload.name.startswith("group") else (1, 1)
    positions = 1
    for axis in (0, 1):
        size, taps = data[2 + axis], np.arange(kernel[2 + axis]) * dilation[axis]
        extent = (size - 1) * strides[axis] + taps[-1] + 1 - padding[axis] - padding[2 + axis] + workload.args[-1][axis]
        rows = np.arange(size)[:, None] * strides[axis] + taps[None, :] - padding[axis]
        positions *= int(((rows >= 0) & (rows < extent)).sum())
    return max(data[0] * kernel[0] * kernel[1] * positions, int(np.prod(kernel)) // _beat_bytes(hw))


def _beat_bytes(hw: HardwareConfig) -> int:
    return (1 << TARGETS[hw.target].platform.log_bus_bits) // 8


def _products(term: GemmTerm, operator: TileOperator) -> int:
    """Products of blocks, without those with zero padding."""
    count = operator.output.batch * operator.output.blocks * (1 if term.diagonal else term.source.blocks)
    for axis in (0, 1):
        count *= int(_reads(term, operator, axis)[1].sum())
    return count


def _loaded_bytes(operator: TileOperator, hw: HardwareConfig) -> int:
    sources: dict[str, int] = {}
    weights = 0
    for term in terms_of(operator):
        sources[term.source.name] = max(sources.get(term.source.name, 0), _touched(term, operator))
        weights += term.weights.nbytes
    return sum(sources.values()) * hw.elem_bytes(MemoryType.INP) + weights


def _touched(term: GemmTerm, operator: TileOperator) -> int:
    """Elements of the source that some product reads."""
    touched = term.source.batch * term.source.blocks
    for axis in (0, 1):
        rows, inside = _reads(term, operator, axis)
        touched *= len(np.unique(rows[inside]))
    return touched


def _reads(term: GemmTerm, operator: TileOperator, axis: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Rows (axis 0) or columns of the source that each output and kernel position reads, and whether they are inside it."""
    extent = (operator.output.height, operator.output.width)[axis]
    size = (term.source.height, term.source.width)[axis]
    taps = np.arange(term.kernel[axis]) * term.dilation[axis] - term.padding[axis]
    rows, between = np.divmod(np.arange(extent)[:, None] * term.strides[axis] + taps[None, :], term.source_dilation[axis])
    return rows, (between == 0) & (rows >= 0) & (rows < size)
