"""Two operators of a region whose tiles take turns: one waits for the bus while the other computes.

An operator that moves more than it computes leaves the compute unit idle, and one that computes more than it moves leaves the bus
idle. Where the second reads what the first stores, a tile of it can run as soon as what it reads is stored. Both have rows of their
own in every buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vta.codegen.gemm_description import FROM_BOTTOM, Placement
from vta.codegen.memory import plan_memory
from vta.codegen.prefetch import has_one_place, keeping_weights
from vta.codegen.stream import Space, Stream, UopsOverflow
from vta.codegen.templates import emit_operator
from vta.codegen.tokens import encoded_with_tokens
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.devices.cycle import CycleDevice
from vta.errors import CompileError
from vta.isa.instruction import Opcode
from vta.isa.program import PAGE_BYTES
from vta.schedule.choose import choose_schedule
from vta.schedule.cost import work_cycles
from vta.schedule.resources import Buffers, resources
from vta.schedule.schedule import Schedule
from vta.schedule.strips import row_strips
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import RegionOperators, TileOperator

__all__ = ["NOT_INTERLEAVED", "Interleaving", "Pair", "interleave", "interleaved_order"]

_LEAST_GAIN = 256
"""Cycles that a pair must promise before it is tried."""
_LEAST_SHARE = 0.03
"""Of the cycles of a pair, that taking turns must save."""
_LAGS = (2, 3, 5, 8)
_FEW_ROWS, _MANY_ROWS = (1, 2, 4), (14, 10, 7, 5, 4, 3, 2, 1)
"""Rows of the first and the second operator that are tried."""


@dataclass(frozen=True)
class Pair:
    """The operator `first` of a region and the one after it take turns."""

    first: int
    lag: int
    """Tiles of the first operator that run between the last one that a tile of the second reads, and that tile."""


@dataclass(frozen=True)
class Interleaving:
    """The schedules of a region's operators, and which of them take turns."""

    schedules: tuple[Schedule | None, ...]
    pairs: tuple[Pair, ...] = ()


NOT_INTERLEAVED: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class _Turns:
    """A way in which two operators may take turns, and the cycles that it saves."""

    schedules: tuple[Schedule, Schedule]
    lag: int
    gain: int


def interleave(region: RegionOperators, schedules: Sequence[Schedule | None], hw: HardwareConfig) -> Interleaving:
    """Choose which operators take turns, so that the most cycles are saved; the others keep their schedules.

    On a config without a requantize unit none do.
    """
    if not hw.capabilities.requantize:
        return Interleaving(tuple(schedules))
    chosen = tuple(
        keeping_weights(operator, schedule, hw) if has_one_place(operator) and schedule is not None else schedule
        for operator, schedule in zip(region.operators, schedules, strict=True)
    )
    gains = _Gains(hw)
    # Of the operators up to each, the best choice: what it saves, and its pairs.
    best: list[tuple[int, tuple[tuple[int, _Turns], ...]]] = [(0, ()), (0, ())]
    for index, (first, second) in enumerate(zip(region.operators, region.operators[1:], strict=False)):
        turns = gains.best_turns(first, second, chosen[index], chosen[index + 1])
        best.append(best[-1])
        if turns is not None and best[index][0] + turns.gain > best[-1][0]:
            best[-1] = best[index][0] + turns.gain, (*best[index][1], (index, turns))
    found = list(chosen)
    for index, turns in best[-1][1]:
        found[index : index + 2] = turns.schedules
    return Interleaving(tuple(found), tuple(Pair(index, turns.lag) for index, turns in best[-1][1]))


class _Gains:
    """What pairs of operators save by taking turns, by the cycle engine."""

    def __init__(self, hw: HardwareConfig) -> None:
        self._hw = hw
        self._device = CycleDevice(hw, timing_only=True)
        self._half = replace(
            hw,
            log_inp_buff_size=hw.log_inp_buff_size - 1,
            log_wgt_buff_size=hw.log_wgt_buff_size - 1,
            log_acc_buff_size=hw.log_acc_buff_size - 1,
        )

    def best_turns(
        self, first: TileOperator, second: TileOperator, before: Schedule | None, after: Schedule | None
    ) -> _Turns | None:
        """The best way in which two operators take turns; None if they cannot, or gain little."""
        if before is None or after is None or not isinstance(first, GemmOperator) or not isinstance(second, GemmOperator):
            return None
        if not _can_interleave(first, second) or self._promised(first, second) < _LEAST_GAIN:
            return None
        apart = self._cycles(first, second, (before, after), None)
        if apart is None:
            return None
        turns = [
            _Turns(schedules, lag, apart - cycles)
            for schedules in self._together(first, second)
            for lag in _LAGS
            if (cycles := self._cycles(first, second, schedules, lag)) is not None
        ]
        found = max(turns, key=lambda each: each.gain, default=None)
        return found if found is not None and found.gain > max(_LEAST_GAIN, _LEAST_SHARE * apart) else None

    def _promised(self, first: GemmOperator, second: GemmOperator) -> float:
        """The cycles that are saved if neither the bus nor the compute unit waits."""
        (compute, read, written), (compute_2, read_2, written_2) = self._least(first), self._least(second)
        apart = max(compute, read, written) + max(compute_2, read_2, written_2)
        return apart - max(compute + compute_2, read + read_2, written + written_2)

    def _least(self, operator: GemmOperator) -> tuple[float, float, float]:
        """Cycles that an operator computes, reads and writes."""
        hw, beat = self._hw, self._hw.platform.bus_bytes
        inputs = sum(tensor.elements for tensor in operator.sources) * hw.elem_bytes(MemoryType.INP)
        weights = sum(term.weights.nbytes for term in operator.terms if term.computed is None)
        written = operator.stored.elements * operator.stored.planes * hw.elem_bytes(MemoryType.OUT)
        return work_cycles(operator), (inputs + weights) / beat, written / beat

    def _together(self, first: GemmOperator, second: GemmOperator) -> list[tuple[Schedule, Schedule]]:
        """Schedules of both that fit the buffers together: each takes half, or works on whole rows of its output."""
        return list(dict.fromkeys([*self._halves(first, second), *self._strips(first, second)]))

    def _halves(self, first: GemmOperator, second: GemmOperator) -> Iterator[tuple[Schedule, Schedule]]:
        try:
            before, after = choose_schedule(first, self._half), choose_schedule(second, self._half)
        except CompileError:
            return
        for pair in ((before, after), (_by_places(before), _by_places(after))):
            if self._fit(first, second, pair):
                yield pair

    def _strips(self, first: GemmOperator, second: GemmOperator) -> Iterator[tuple[Schedule, Schedule]]:
        """For few rows of the first operator the most of the second that fit beside them."""
        for rows in _FEW_ROWS:
            if (before := row_strips(first, rows, self._hw)) is None:
                continue
            for more in _MANY_ROWS:
                after = row_strips(second, more, self._hw)
                if after is not None and self._fit(first, second, (before, after)):
                    yield before, after
                    break

    def _fit(self, first: GemmOperator, second: GemmOperator, schedules: tuple[Schedule, Schedule]) -> bool:
        buffers = Buffers.of(self._hw)
        inp = wgt = acc = 0
        for operator, schedule in zip((first, second), schedules, strict=True):
            need = resources(operator.laid_out(schedule), schedule, buffers)
            inp += schedule.inp_slots * need.inp_slot
            wgt += schedule.wgt_slots * need.wgt_slot + need.wgt_fixed
            acc += schedule.acc_slots * need.acc_slot + need.vectors
        return inp <= buffers.inp and wgt <= buffers.wgt and acc <= buffers.acc

    def _cycles(
        self, first: GemmOperator, second: GemmOperator, schedules: tuple[Schedule, Schedule], lag: int | None
    ) -> int | None:
        """The cycles of both by themselves, one after the other without a `lag`; None if they have no program."""
        operators = first, second
        tensors = {tensor.name: tensor for operator in operators for tensor in operator.tensors}
        addresses, arena = plan_memory(operators, list(tensors.values()), [], self._hw)
        stream = Stream(self._hw, keeps_data=False, gathers_uops=True)
        middle = 0
        try:
            for number, (operator, schedule) in enumerate(zip(operators, schedules, strict=True)):
                middle = len(stream)
                placement = Placement(from_top=number > 0, interleaved=lag is not None)
                with stream.origin(number, number):
                    emit_operator(operator, stream, addresses, schedule, placement)
            if lag is not None:
                stream.select(interleaved_order(stream, 0, middle, len(stream), lag))
            stream.trim_resets()
            stream.gather_uop_loads()
            return self._device.run(encoded_with_tokens(stream, arena, PAGE_BYTES)).cycles
        except (CompileError, UopsOverflow):
            return None


def _can_interleave(first: GemmOperator, second: GemmOperator) -> bool:
    """Whether the second reads what the first stores, and there is a table for at most one."""
    reads = any(tensor.memory.name == first.stored.memory.name for tensor in second.sources)
    return reads and (first.table is None or second.table is None)


def _by_places(schedule: Schedule) -> Schedule:
    return replace(schedule, weights_outer=False)


def interleaved_order(stream: Stream, first: int, middle: int, last: int, lag: int) -> NDArray[np.int64]:
    """The instructions [first, last) of a stream, shape (last - first,), in which those of two operators take turns.

    The second one begins at `middle`. A tile of it follows `lag` tiles after the last one that stores what it loads.
    """
    tiles, fields = stream.tiles, stream.instructions
    ends = np.cumsum(stream.access_counts)
    starts, accesses = ends - stream.access_counts, stream.accesses
    groups = [_groups(tiles, begin, end) for begin, end in ((first, middle), (middle, last))]
    stored = _Stored(accesses)
    for number, (begin, end) in enumerate(groups[0]):
        for row in begin + np.flatnonzero(fields["opcode"][begin:end] == Opcode.STORE):
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
    return list(zip(edges, edges[1:], strict=False))


class _Stored:
    """Which tile stored each element of the arena last."""

    def __init__(self, accesses: NDArray[np.int64]) -> None:
        self._accesses = accesses
        in_dram = accesses[accesses[:, 0] == Space.DRAM]
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
