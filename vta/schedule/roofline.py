"""The least cycles that an operator can take on a config, whatever its schedule: see docs/roofline.md."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa.instruction import REQUANTIZE_PARAMETERS
from vta.schedule.term_work import term_work
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import RegionOperators

__all__ = ["Roofline", "least_cycles_in_order", "roofline_of", "roofline_of_region"]


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


def roofline_of(operator: GemmOperator, hw: HardwareConfig, bus_bytes: int | None = None) -> Roofline:
    """The bounds of an operator with all that follows its products, for beats of `bus_bytes` (default: of the platform)."""
    out = operator.output
    beat = bus_bytes or hw.platform.bus_bytes
    terms = [term_work(term, operator) for term in operator.terms]
    # A row starts with a reset or, from a preload, with one pass of the ALU: either is one cycle. Zeros that are left are free.
    starts = (0 if operator.leaves_zeros else 1) + operator.scratch_operands
    gemm = out.elements * starts + sum(work.products for work in terms)
    alu = out.elements * (operator.alu_passes + sum(bool(digit.shift) for digit in operator.all_digits) + out.planes - 1)
    alu += operator.requantizations * REQUANTIZE_PARAMETERS * out.blocks
    constants = len(operator.vectors) * out.blocks * hw.elem_bytes(MemoryType.ACC)
    inputs: dict[str, int] = {}
    for term, work in zip(operator.terms, terms, strict=True):
        inputs[term.source.name] = max(inputs.get(term.source.name, 0), work.inputs)
    weights = sum(work.weights for work in terms)
    loaded = constants + sum(inputs.values()) * hw.elem_bytes(MemoryType.INP) + weights * hw.elem_bytes(MemoryType.WGT)
    stored = out.elements * out.planes * hw.elem_bytes(MemoryType.OUT)
    return Roofline(gemm, alu, -(-constants // beat), -(-loaded // beat), -(-stored // beat))


def roofline_of_region(region: RegionOperators, hw: HardwareConfig, bus_bytes: int | None = None) -> Roofline:
    """The bounds of operators that run as one program: the bus may work for one while the compute unit works for another.

    Pooling and upsampling are not counted.
    """
    scheduled = (operator.scheduled for operator in region.operators)
    found = [roofline_of(operator, hw, bus_bytes) for operator in scheduled if operator is not None]
    return Roofline(*(sum(getattr(part, entry.name) for part in found) for entry in fields(Roofline)))


def least_cycles_in_order(region: RegionOperators, hw: HardwareConfig, bus_bytes: int | None = None) -> int:
    """What operators take at least that run one after another, where tiles of neighbors may take turns.

    What an operator loads before its time waits on chip: no more of it than the buffers hold, while others but its neighbors
    compute. Pooling and upsampling are not counted.
    """
    beat = bus_bytes or hw.platform.bus_bytes
    held = sum(hw.depth(memory) * hw.elem_bytes(memory) for memory in (MemoryType.INP, MemoryType.WGT)) // beat
    scheduled = [operator.scheduled for operator in region.operators]
    found = [None if operator is None else roofline_of(operator, hw, bus_bytes) for operator in scheduled]
    parts = [(0, 0, 0) if each is None else (each.compute, each.read, each.write) for each in found]
    sums = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(parts, axis=0, dtype=np.int64).reshape(-1, 3)])
    done = np.zeros(len(sums), np.int64)
    """When the first operators have computed: `done[n]` for n of them."""
    for count in range(1, len(sums)):
        done[count] = max(sums[count, :2])
        # One operator is between those that are done and those that begin after it.
        for before in range(count - 1):
            compute, read, _ = sums[count] - sums[before + 1]
            done[count] = max(done[count], done[before] + max(compute, read - held))
    return int(max(done[-1], sums[-1, 2]))
