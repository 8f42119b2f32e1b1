"""Two operators of a region whose tiles take turns: one waits for the bus while the other computes.

An operator that moves more than it computes leaves the compute unit idle, and one that computes more than it moves leaves the
bus idle. Where the second reads what the first stores, a tile of it can run as soon as what it reads is stored. Both have rows
of their own in every buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vta.codegen.stream import Space, Stream
from vta.config.hardware import HardwareConfig
from vta.isa.instruction import Opcode
from vta.schedule.resources import Buffers, resources
from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import TileOperator

__all__ = ["Pair", "Written", "can_take_turns", "fit_beside", "interleaved_order", "pairs_of"]


@dataclass(frozen=True)
class Pair:
    """The operator `first` of a region and the one after it take turns."""

    first: int
    lag: int
    """Tiles of the first operator that run between the last one that a tile of the second reads, and that tile."""


def pairs_of(operators: Sequence[TileOperator], schedules: Sequence[Schedule | None], hw: HardwareConfig) -> tuple[Pair, ...]:
    """The pairs that schedules ask for, and that `hw` can have; no operator is in two."""
    pairs: list[Pair] = []
    for index, schedule in enumerate(schedules[:-1]):
        after = schedules[index + 1]
        if not hw.capabilities.requantize or schedule is None or after is None or not schedule.turns:
            continue
        first, second = operators[index], operators[index + 1]
        if (pairs and pairs[-1].first == index - 1) or not can_take_turns(first, second):
            continue
        if fit_beside(first, second, (schedule, after), hw):
            pairs.append(Pair(index, schedule.turns))
    return tuple(pairs)


def can_take_turns(first: TileOperator, second: TileOperator) -> bool:
    """Whether the second reads what the first stores, and there is a table for at most one."""
    if not isinstance(first, GemmOperator) or not isinstance(second, GemmOperator):
        return False
    reads = any(tensor.memory.name == first.stored.memory.name for tensor in second.sources)
    return reads and (first.table is None or second.table is None)


def fit_beside(first: TileOperator, second: TileOperator, schedules: tuple[Schedule, Schedule], hw: HardwareConfig) -> bool:
    """Whether both fit every buffer of `hw` together."""
    buffers = Buffers.of(hw)
    inp = wgt = acc = 0
    for operator, schedule in zip((first, second), schedules, strict=True):
        assert isinstance(operator, GemmOperator), "operators with a schedule multiply"
        need = resources(operator.laid_out(schedule), schedule, buffers)
        inp += schedule.inp_slots * need.inp_slot
        wgt += schedule.wgt_slots * need.wgt_slot + need.wgt_fixed
        acc += schedule.acc_slots * need.acc_slot + need.vectors
    return inp <= buffers.inp and wgt <= buffers.wgt and acc <= buffers.acc


@dataclass(frozen=True)
class Written:
    """What a stream has so far, for any number of pairs of its operators."""

    tiles: NDArray[np.int32]
    """Shape (n,)."""
    opcodes: NDArray[np.int64]
    """Shape (n,)."""
    ends: NDArray[np.int64]
    """Shape (n,): behind the last access of each instruction."""
    accesses: NDArray[np.int64]
    """Shape (m, 6)."""

    @classmethod
    def of(cls, stream: Stream) -> Written:
        """What is in `stream`."""
        return cls(stream.tiles, stream.instructions["opcode"], np.cumsum(stream.access_counts), stream.accesses)


def interleaved_order(written: Written, first: int, middle: int, last: int, lag: int) -> NDArray[np.int64]:
    """The instructions [first, last) of a stream, shape (last - first,), in which those of two operators take turns.

    The second one begins at `middle`. A tile of it follows `lag` tiles after the last one that stores what it loads.
    """
    tiles, ends = written.tiles, written.ends
    starts = np.append(0, ends[:-1])
    groups = [_groups(tiles, begin, end) for begin, end in ((first, middle), (middle, last))]
    stored = _Stored(written.accesses, int(starts[first]), int(ends[last - 1]))
    for number, (begin, end) in enumerate(groups[0]):
        for row in begin + np.flatnonzero(written.opcodes[begin:end] == Opcode.STORE):
            stored.write(starts[row], ends[row], number)
    # What a second operator does before its first tile, tables and the padding around its output, takes rows of the first one.
    waiting = int(tiles[middle] < 0)
    order = [np.arange(*group) for group in groups[1][:waiting]]
    need = np.maximum.accumulate([stored.latest(starts[begin], ends[end - 1]) for begin, end in groups[1]])
    turn = _spread(need) + lag
    for number, (begin, end) in enumerate(groups[0]):
        order.append(np.arange(begin, end))
        while waiting < len(need) and turn[waiting] <= number:
            order.append(np.arange(*groups[1][waiting]))
            waiting += 1
    order += [np.arange(begin, end) for begin, end in groups[1][waiting:]]
    return np.concatenate(order)


def _spread(need: NDArray[np.int64]) -> NDArray[np.int64]:
    """After which tile of the first operator each of the second comes: those that need the same one do not all follow it."""
    first = np.searchsorted(need, need, side="left")
    last = np.searchsorted(need, need, side="right")
    until = np.append(need, need[-1:])[last]
    return np.asarray(need + (np.arange(len(need)) - first) * (until - need) // (last - first))


def _groups(tiles: NDArray[np.int32], begin: int, end: int) -> list[tuple[int, int]]:
    """Where the instructions of each tile begin and end."""
    cuts = begin + 1 + np.flatnonzero(np.diff(tiles[begin:end]))
    edges = [begin, *cuts.tolist(), end]
    return list(pairwise(edges))


class _Stored:
    """Which tile stored each element of the arena last."""

    def __init__(self, accesses: NDArray[np.int64], begin: int, end: int) -> None:
        """Only accesses [begin, end) will be asked for."""
        self._accesses = accesses
        part = accesses[begin:end]
        in_dram = part[part[:, 0] == Space.DRAM]
        reach = in_dram[:, 2] + (in_dram[:, 4] - 1) * in_dram[:, 5] + in_dram[:, 3]
        self._tile = np.full(int(reach.max(initial=0)), -1, dtype=np.int64)

    def write(self, begin: int, end: int, tile: int) -> None:
        """Note the writes among accesses [begin, end)."""
        for _, writes, start, length, runs, stride in self._of_dram(begin, end):
            if writes:
                self._tile[self._rows(start, length, runs, stride)] = tile

    def latest(self, begin: int, end: int) -> int:
        """The last tile that stored what accesses [begin, end) read; -1 if none did."""
        latest = -1
        for _, writes, start, length, runs, stride in self._of_dram(begin, end):
            if not writes:
                latest = max(latest, int(self._tile[self._rows(start, length, runs, stride)].max(initial=-1)))
        return latest

    def _of_dram(self, begin: int, end: int) -> list[list[int]]:
        found: list[list[int]] = [row for row in self._accesses[begin:end].tolist() if row[0] == Space.DRAM]
        return found

    @staticmethod
    def _rows(start: int, length: int, runs: int, stride: int) -> NDArray[np.int64]:
        return (start + np.arange(runs)[:, None] * stride + np.arange(length)).reshape(-1)
