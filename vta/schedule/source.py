"""Where the schedules of a network come from, as a value that is handed to the compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from vta.config.hardware import HardwareConfig
from vta.schedule.choose import choose_schedule
from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.operator import RegionOperators

__all__ = ["DEFAULT_SCHEDULES", "EstimatedSchedules", "PerOperator", "ScheduleSource"]


class ScheduleSource(Protocol):
    """Gives every operator a schedule, and may give those of a whole region together."""

    def choose(self, operator: GemmOperator, hw: HardwareConfig) -> Schedule:
        """The schedule of an operator. Raises `CompileError` if none fits `hw`."""

    def choose_region(self, region: RegionOperators, hw: HardwareConfig) -> Sequence[Schedule | None] | None:
        """A schedule for each operator of a region, None for those that are left to `choose`; or None if it has none for it."""


class _EachAlone:
    """Of a source that does not look at regions."""

    def choose_region(self, region: RegionOperators, hw: HardwareConfig) -> None:
        """Nothing: see `ScheduleSource.choose_region`."""


@dataclass(frozen=True)
class EstimatedSchedules(_EachAlone):
    """What the compiler takes by itself: the best by its estimate, see `choose_schedule`."""

    def choose(self, operator: GemmOperator, hw: HardwareConfig) -> Schedule:
        """See `ScheduleSource.choose`."""
        return choose_schedule(operator, hw)


DEFAULT_SCHEDULES = EstimatedSchedules()


@dataclass(frozen=True)
class PerOperator(_EachAlone):
    """What a function says."""

    function: Callable[[GemmOperator, HardwareConfig], Schedule]

    def choose(self, operator: GemmOperator, hw: HardwareConfig) -> Schedule:
        """See `ScheduleSource.choose`."""
        return self.function(operator, hw)
