"""The schedules of a compilation: each workload is asked for once."""

from __future__ import annotations

from collections.abc import Hashable

from vta.config.hardware import HardwareConfig
from vta.schedule.kept_choice import kept_choice
from vta.schedule.schedule import Schedule
from vta.schedule.source import ScheduleSource
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import RegionOperators

__all__ = ["Schedules"]


class Schedules:
    """What a source says of the operators of one network. Copies are not tuned."""

    def __init__(self, source: ScheduleSource, hw: HardwareConfig) -> None:
        self._source = source
        self._hw = hw
        self._known: dict[Hashable, Schedule] = {}

    def of(self, operator: GemmOperator) -> Schedule:
        """The schedule of an operator. Raises `CompileError` if none fits."""
        is_tuned = operator.tuned is not None
        key = is_tuned, operator.workload_key
        if key not in self._known:
            choose = self._source.choose if is_tuned else kept_choice
            self._known[key] = choose(operator, self._hw)
        return self._known[key]

    def of_region(self, region: RegionOperators) -> tuple[Schedule | None, ...]:
        """Those of a region's operators, None for operators that have none."""
        together = self._source.choose_region(region, self._hw)
        scheduled = (operator.scheduled for operator in region.operators)
        found = tuple(
            schedule or (None if operator is None else self.of(operator))
            for operator, schedule in zip(scheduled, together or [None] * len(region.operators), strict=True)
        )
        return found if together is not None or not self._hw.capabilities.requantize else self._taking_turns(region, found)

    def _taking_turns(self, region: RegionOperators, schedules: tuple[Schedule | None, ...]) -> tuple[Schedule | None, ...]:
        # Most configs need none of this.
        from vta.codegen.take_turns import taking_turns

        return taking_turns(region, schedules, self._hw)
