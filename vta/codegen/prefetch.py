"""Weights of an operator of one place, loaded while operators before it compute.

A classifier multiplies each weight once, so that it only waits for the bus. Operators before it often leave the bus idle, and
have room beside their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vta.codegen.stream import Segment, Space, Stream
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa.instruction import Opcode
from vta.schedule.resources import MAX_SLOTS, Buffers, broken_limits, resources
from vta.schedule.schedule import Schedule
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import TileOperator

__all__ = ["has_one_place", "keeping_weights", "prefetched_order"]

_STEP_ROWS = 8
"""Blocks of weights of a load: few enough to fit between the loads of others."""
_MOST_BUFFERS = 4
"""Weights that fill the buffer more often than this gain less by an early start than small steps cost."""
_LOAD_CYCLES = 32
"""What a load of the compute unit takes besides its beats."""
_INSTRUCTION_BEATS = 2
_RUN_AHEAD = 3
"""Tiles that the load unit is ahead of the compute unit."""


def has_one_place(operator: TileOperator) -> bool:
    """Whether an operator multiplies each of its weights once."""
    if not isinstance(operator, GemmOperator):
        return False
    out, main = operator.output, operator.main_term
    return out.batch * out.height * out.width == 1 and not main.diagonal and main.computed is None


def keeping_weights(operator: GemmOperator, schedule: Schedule, hw: HardwareConfig) -> Schedule:
    """The schedule of an operator of one place with small steps, and room for the weights of as many as fit; others as is."""
    buffers, main = Buffers.of(hw), operator.main_term
    if not has_one_place(operator) or operator.output.blocks * main.source.blocks > _MOST_BUFFERS * buffers.wgt:
        return schedule
    finer = replace(schedule, tile_ci=max(1, min(schedule.tile_ci, _STEP_ROWS // schedule.tile_co)), wgt_slots=1)
    laid_out = operator.laid_out(finer)
    need = resources(laid_out, finer, buffers)
    slots = min(MAX_SLOTS, (buffers.wgt - need.wgt_fixed) // need.wgt_slot)
    found = replace(finer, wgt_slots=max(schedule.wgt_slots, slots))
    return schedule if broken_limits(laid_out, found, hw) else found


def prefetched_order(stream: Stream, stops: Sequence[int], wanted: Sequence[int], hw: HardwareConfig) -> NDArray[np.int64]:
    """The instructions of a stream, shape (n,), with loads of the weights of operators `wanted` where the bus is idle.

    Operators end at `stops`. A load moves no further than to where the rows that it fills are free.
    """
    work = _Work(stream, hw)
    place = np.arange(len(stream), dtype=np.float64)
    for index in wanted:
        begin, end = (stops[index - 1] if index else 0), stops[index]
        for load, before in work.moves(begin, end).items():
            place[load] = before - 0.5
    return np.argsort(place, kind="stable")


class _Work:
    """What the instructions of a stream compute and load."""

    def __init__(self, stream: Stream, hw: HardwareConfig) -> None:
        fields, beat = stream.instructions, hw.platform.bus_bytes
        loads = fields["opcode"] == Opcode.LOAD
        size = np.array([hw.elem_bytes(memory) for memory in MemoryType])[np.where(loads, fields["memory_type"], 0)]
        beats = np.where(loads, -(-fields["x_size"] * size // beat) * fields["y_size"], 0)
        # Micro-ops are loaded once, at the start.
        beats[stream.segments == Segment.UOPS] = 0
        computes = np.isin(fields["opcode"], (Opcode.GEMM, Opcode.ALU, Opcode.DEPTHWISE))
        slots = np.where(computes, fields["iter_out"] * fields["iter_in"] * (fields["uop_end"] - fields["uop_bgn"]), 0)
        by_compute = loads & (fields["memory_type"] != MemoryType.INP) & (fields["memory_type"] != MemoryType.WGT) & (beats > 0)
        self._beats = beats
        self._idle = slots + np.where(by_compute, beats + _LOAD_CYCLES, 0) - beats - _INSTRUCTION_BEATS
        self._weights = loads & (fields["memory_type"] == MemoryType.WGT) & (stream.segments == Segment.CONSTANTS)
        self._ends = np.cumsum(stream.access_counts)
        self._accesses = stream.accesses
        streamed = np.isin(fields["memory_type"], (MemoryType.INP, MemoryType.WGT))
        self._groups = np.flatnonzero(loads & streamed)
        self._depth = hw.depth(MemoryType.WGT)

    def moves(self, begin: int, end: int) -> dict[int, int]:
        """Which loads of weights in [begin, end) move, and before which instruction."""
        free = self._free_from(begin)
        waiting = []
        for row in (begin + np.flatnonzero(self._weights[begin:end])).tolist():
            start, length = self._accesses[self._ends[row] - 1, 2:4].tolist()
            from_row = int(free[start : start + length].max())
            free[start : start + length] = end
            if from_row < begin:
                waiting.append((row, from_row))
        groups = self._groups[self._groups < begin]
        idle = np.add.reduceat(self._idle[:begin], groups) if len(groups) else np.zeros(0, dtype=np.int64)
        total = sum(int(self._beats[row]) for row, _ in waiting)
        reached = np.cumsum(np.maximum(idle, 0)[::-1])
        first = len(groups) - 1 - int(np.searchsorted(reached, total)) if len(groups) else 0
        found: dict[int, int] = {}
        room, most = 0, 2 * max((int(self._beats[row]) for row, _ in waiting), default=0)
        for number in range(max(0, first), len(groups)):
            here = max(0, int(idle[number]))
            room = min(room + here, max(here, most))
            settled = groups[max(0, number - _RUN_AHEAD)]
            for row, from_row in list(waiting):
                if from_row < settled and self._beats[row] <= room:
                    found[row] = int(groups[number])
                    room -= int(self._beats[row])
                    waiting.remove((row, from_row))
        return found

    def _free_from(self, end: int) -> NDArray[np.int64]:
        """For each row of the weights, the last instruction before `end` that touches it; -1 if none does."""
        last = np.full(self._depth, -1, dtype=np.int64)
        starts = np.concatenate([[0], self._ends[:-1]])
        owner = np.repeat(np.arange(len(self._ends)), self._ends - starts)
        for access in np.flatnonzero(self._accesses[: self._ends[end - 1] if end else 0, 0] == Space.WGT):
            start, length = self._accesses[access, 2:4].tolist()
            last[start : start + length] = owner[access]
        return last
