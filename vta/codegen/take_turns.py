"""Chooses which operators of a region take turns (see `vta.codegen.interleave`), by the cycle engine."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from vta.codegen.emit_operators import emit_operators
from vta.codegen.interleave import Pair, can_take_turns, fit_beside
from vta.codegen.memory import plan_memory
from vta.codegen.prefetch import keeping_weights
from vta.codegen.region_timing import RegionTimer
from vta.codegen.tokens import encoded_with_tokens
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.devices.cycle import CycleDevice
from vta.errors import CompileError
from vta.isa.program import PAGE_BYTES
from vta.schedule.choose import choose_schedule
from vta.schedule.cost import work_cycles
from vta.schedule.schedule import Schedule
from vta.schedule.strips import row_strips
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import RegionOperators, TileOperator

__all__ = ["schedules_together", "taking_turns"]

_LEAST_GAIN = 256
"""Cycles that a pair must promise before it is tried."""
_LEAST_SHARE = 0.03
"""Of the cycles of a pair, that taking turns must save."""
_SHARES = (0.0, 0.08)
"""What pairs save at least, of their cycles, in the choices that are timed in the end."""
_LAG, _OTHER_LAGS = 3, (2, 5, 8)
"""The lag that all schedules are tried with, and those that the likely ones are tried with."""
_MOST_LIKELY = 2
_FEW_ROWS, _MANY_ROWS = (1, 2, 4), (14, 10, 7, 5, 4, 3, 2, 1)
"""Rows of the first and the second operator that are tried."""


@dataclass(frozen=True)
class _Turns:
    """A way in which two operators may take turns, the cycles of both, and what is saved."""

    schedules: tuple[Schedule, Schedule]
    lag: int
    cycles: int
    gain: int = 0

    @property
    def share(self) -> float:
        """Of the cycles of both that is saved."""
        return self.gain / (self.cycles + self.gain)


def taking_turns(
    region: RegionOperators, schedules: Sequence[Schedule | None], hw: HardwareConfig
) -> tuple[Schedule | None, ...]:
    """The schedules with those of pairs that take turns, so that the most cycles are saved, and of classifiers that load early.

    On a config without a requantize unit they are what they were.
    """
    if not hw.capabilities.requantize:
        return tuple(schedules)
    chosen = [
        keeping_weights(operator, schedule, hw) if isinstance(operator, GemmOperator) and schedule is not None else schedule
        for operator, schedule in zip(region.operators, schedules, strict=True)
    ]
    gains, pairs = _Gains(hw), dict[int, _Turns]()
    for index, (first, second) in enumerate(pairwise(region.operators)):
        turns = gains.best_turns(first, second, chosen[index], chosen[index + 1])
        if turns is not None:
            pairs[index] = turns
    if not pairs:
        return tuple(chosen)
    # What pairs save by themselves may be lost beside others.
    choices = [_with_turns(chosen, _best_pairs(pairs, share)) for share in _SHARES]
    timer = RegionTimer(region, hw)
    return min(dict.fromkeys([*choices, tuple(chosen)]), key=timer.cycles)


def _best_pairs(pairs: Mapping[int, _Turns], least_share: float) -> list[tuple[int, _Turns]]:
    """Those that save the most cycles together, of which no two have an operator in common."""
    # Of the operators up to each, the best choice: what it saves, and its pairs.
    best: list[tuple[int, tuple[tuple[int, _Turns], ...]]] = [(0, ()), (0, ())]
    for index in range(max(pairs) + 1):
        turns = pairs.get(index)
        best.append(best[-1])
        if turns is not None and turns.share >= least_share and best[index][0] + turns.gain > best[-1][0]:
            best[-1] = best[index][0] + turns.gain, (*best[index][1], (index, turns))
    return list(best[-1][1])


def _with_turns(schedules: Sequence[Schedule | None], pairs: Iterable[tuple[int, _Turns]]) -> tuple[Schedule | None, ...]:
    found = list(schedules)
    for index, turns in pairs:
        before, after = turns.schedules
        found[index : index + 2] = replace(before, turns=turns.lag), after
    return tuple(found)


class _Gains:
    """What pairs of operators save by taking turns, by the cycle engine."""

    def __init__(self, hw: HardwareConfig) -> None:
        self._hw = hw
        self._device = CycleDevice(hw, timing_only=True)
        self._known: dict[Hashable, _Turns | None] = {}

    def best_turns(
        self, first: TileOperator, second: TileOperator, before: Schedule | None, after: Schedule | None
    ) -> _Turns | None:
        """The best way in which two operators take turns; None if they cannot, or gain little."""
        if before is None or after is None or not can_take_turns(first, second):
            return None
        assert isinstance(first, GemmOperator), "operators that take turns multiply"
        assert isinstance(second, GemmOperator), "the second too"
        if self._promised(first, second) < _LEAST_GAIN:
            return None
        key = first.workload_key, second.workload_key, before, after
        if key not in self._known:
            self._known[key] = self._tried(first, second, (before, after))
        return self._known[key]

    def _tried(self, first: GemmOperator, second: GemmOperator, schedules: tuple[Schedule, Schedule]) -> _Turns | None:
        apart = self._cycles(first, second, schedules, 0)
        if apart is None:
            return None
        tried = self._timed(first, second, schedules_together(first, second, self._hw), _LAG)
        likely = sorted(tried, key=lambda each: each.cycles)[:_MOST_LIKELY]
        for lag in _OTHER_LAGS:
            tried += self._timed(first, second, [turns.schedules for turns in likely], lag)
        best = min(tried, key=lambda each: each.cycles, default=None)
        if best is None or apart - best.cycles <= max(_LEAST_GAIN, _LEAST_SHARE * apart):
            return None
        return replace(best, gain=apart - best.cycles)

    def _timed(
        self, first: GemmOperator, second: GemmOperator, tried: Iterable[tuple[Schedule, Schedule]], lag: int
    ) -> list[_Turns]:
        times = [(schedules, self._cycles(first, second, schedules, lag)) for schedules in tried]
        return [_Turns(schedules, lag, cycles) for schedules, cycles in times if cycles is not None]

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

    def _cycles(self, first: GemmOperator, second: GemmOperator, schedules: tuple[Schedule, Schedule], lag: int) -> int | None:
        """The cycles of both by themselves, one after the other if `lag` is 0; None if they have no program."""
        operators = first, second
        tensors = {tensor.name: tensor for operator in operators for tensor in operator.tensors}
        addresses, arena = plan_memory(operators, list(tensors.values()), [], self._hw)
        pairs = [Pair(0, lag)] if lag else []
        try:
            stream = emit_operators(operators, schedules, pairs, addresses, self._hw, keeps_data=False).stream
            return self._device.run(encoded_with_tokens(stream, arena, PAGE_BYTES)).cycles
        except CompileError:
            return None


def schedules_together(first: GemmOperator, second: GemmOperator, hw: HardwareConfig) -> list[tuple[Schedule, Schedule]]:
    """Schedules of both that fit the buffers together: each takes half, or works on whole rows of its output."""
    return list(dict.fromkeys([*_halves(first, second, hw), *_strips(first, second, hw)]))


def _halves(first: GemmOperator, second: GemmOperator, hw: HardwareConfig) -> Iterator[tuple[Schedule, Schedule]]:
    half = replace(
        hw,
        log_inp_buff_size=hw.log_inp_buff_size - 1,
        log_wgt_buff_size=hw.log_wgt_buff_size - 1,
        log_acc_buff_size=hw.log_acc_buff_size - 1,
    )
    try:
        before, after = choose_schedule(first, half), choose_schedule(second, half)
    except CompileError:
        return
    for pair in ((before, after), (_by_places(before), _by_places(after))):
        if fit_beside(first, second, pair, hw):
            yield pair


def _strips(first: GemmOperator, second: GemmOperator, hw: HardwareConfig) -> Iterator[tuple[Schedule, Schedule]]:
    """For few rows of the first operator the most of the second that fit beside them."""
    for rows in _FEW_ROWS:
        if (before := row_strips(first, rows, hw)) is None:
            continue
        for more in _MANY_ROWS:
            after = row_strips(second, more, hw)
            if after is not None and fit_beside(first, second, (before, after), hw):
                yield before, after
                break


def _by_places(schedule: Schedule) -> Schedule:
    return replace(schedule, weights_outer=False)
