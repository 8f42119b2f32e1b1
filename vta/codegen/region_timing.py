"""The cycles of a whole region for many choices of schedules, operator by operator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vta.codegen.arrangement import fastest_arrangement
from vta.codegen.emit_operators import emit_operators
from vta.codegen.gemm_description import GemmDescription, emit_gemm
from vta.codegen.interleave import pairs_of
from vta.codegen.memory import plan_memory
from vta.codegen.region_parts import Part, fit_together, joined, part_of
from vta.codegen.stream import Stream
from vta.codegen.templates import emit_operator
from vta.codegen.tokens import encoded_with_tokens
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.devices.cycle import CycleDevice
from vta.devices.device import Counters, RunOptions
from vta.schedule.schedule import Schedule
from vta.tile.operator import RegionOperators, TileOperator

__all__ = ["RegionTimer"]

_LIMIT_SECONDS = 60.0


class RegionTimer:
    """Counts the cycles of a region's program, without its data.

    What an operator emits is kept by its schedule, so that a choice costs little more than its run on the cycle engine.
    """

    def __init__(self, region: RegionOperators, hw: HardwareConfig, timing: TimingParameters | None = None) -> None:
        self._operators = region.operators
        self._inputs, self._outputs = region.inputs, region.outputs
        self._hw = hw
        self._addresses, self._arena = plan_memory(region.operators, region.inputs, region.outputs, hw)
        self._device = CycleDevice(hw, timing, timing_only=True)
        self._described: dict[tuple[int, bool], GemmDescription] = {}
        self._parts: dict[tuple[int, Schedule | None], Part] = {}

    def cycles(self, schedules: Sequence[Schedule | None]) -> int:
        """The cycles with a schedule for each operator, None for those that have none.

        Raises `CompileError` if something does not fit.
        """
        return self.run(schedules)[0]

    def run(self, schedules: Sequence[Schedule | None]) -> tuple[int, Counters]:
        """The cycles, see `cycles`, and what else is counted."""
        return self._run(self.stream(schedules))

    def cycles_near(self, schedules: Sequence[Schedule | None], index: int) -> int:
        """The cycles of the operator at `index` and those before and after it, as if the region had no others.

        Raises `CompileError` if something does not fit.
        """
        return self.run_near(schedules, index)[0]

    def run_near(self, schedules: Sequence[Schedule | None], index: int) -> tuple[int, Counters]:
        """The cycles, see `cycles_near`, and what else is counted."""
        if self._hw.capabilities.requantize:
            near_index = slice(max(0, index - 1), index + 2)
            return self._run(self._whole(self._operators[near_index], schedules[near_index]))
        parts = self._parts_of(schedules)
        near = parts[max(0, index - 1) : index + 2]
        return self._run(joined(near, self._hw, self._arena, fit_together(parts, self._hw)))

    def stream(self, schedules: Sequence[Schedule | None]) -> NDArray[np.uint8]:
        """The binary stream, shape (n, 16), of the program that `compile_operators` makes."""
        if self._hw.capabilities.requantize:
            return self._whole(self._operators, schedules)
        parts = self._parts_of(schedules)
        return joined(parts, self._hw, self._arena, fit_together(parts, self._hw))

    def _whole(self, operators: Sequence[TileOperator], schedules: Sequence[Schedule | None]) -> NDArray[np.uint8]:
        """The stream of operators that depend on each other by more than addresses: by their places on chip, and by turns."""
        pairs = pairs_of(operators, schedules, self._hw)
        joined_with_next = frozenset(pair.first for pair in pairs)
        addresses, arena = self._addresses, self._arena
        if len(operators) == len(self._operators) and joined_with_next:
            addresses, arena = plan_memory(operators, self._inputs, self._outputs, self._hw, joined_with_next)
        arrangement = fastest_arrangement(operators, schedules, pairs, addresses, arena, self._hw)
        stream = emit_operators(
            operators, schedules, pairs, addresses, self._hw, keeps_data=False, arrangement=arrangement
        ).stream
        return encoded_with_tokens(stream, arena)

    def _run(self, stream: NDArray[np.uint8]) -> tuple[int, Counters]:
        result = self._device.run(stream, RunOptions(limit_seconds=_LIMIT_SECONDS))
        assert result.cycles is not None, "the cycle device counts cycles"
        return result.cycles, result.counters

    def _parts_of(self, schedules: Sequence[Schedule | None]) -> list[Part]:
        return [self._part(index, schedule) for index, schedule in enumerate(schedules)]

    def _part(self, index: int, schedule: Schedule | None) -> Part:
        key = index, schedule
        if key not in self._parts:
            stream = Stream(self._hw, keeps_data=False, groups_uops=True)
            with stream.origin(0, 0):
                self._emit(stream, index, schedule)
            self._parts[key] = part_of(stream)
        return self._parts[key]

    def _emit(self, stream: Stream, index: int, schedule: Schedule | None) -> None:
        operator = self._operators[index].scheduled
        if operator is None or schedule is None:
            emit_operator(self._operators[index], stream, self._addresses, schedule)
            return
        key = index, schedule.flat
        if key not in self._described:
            self._described[key] = GemmDescription(operator.laid_out(schedule), self._addresses)
        emit_gemm(stream, self._described[key], schedule)
