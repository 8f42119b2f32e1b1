"""Schedules that are known to be good before anything is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vta.autotune.task import Task
from vta.errors import TuningError
from vta.records.knobs import fitting_schedule
from vta.records.record import Record
from vta.records.shipped import ShippedSchedules
from vta.records.workload import Workload
from vta.schedule.resources import broken_limits
from vta.schedule.schedule import Schedule

__all__ = ["recorded_schedules", "shipped_schedules"]


def shipped_schedules(task: Task) -> list[Schedule]:
    """The shipped schedules of a task that its space allows and all its variants can take: good points to search around."""
    found = (ShippedSchedules(fastest).find(task.operator, task.hw) for fastest in (False, True))
    return _usable(task, (schedule for schedule in found if schedule is not None))


def recorded_schedules(records: Iterable[Record]) -> Callable[[Task], list[Schedule]]:
    """Schedules of records, whatever config these are for: those of a task's workload that it can have."""
    by_workload: dict[Workload, list[Record]] = {}
    for record in records:
        by_workload.setdefault(record.workload, []).append(record)

    def of(task: Task) -> list[Schedule]:
        found = (_schedule(task, record) for record in by_workload.get(task.workload, ()))
        return _usable(task, (schedule for schedule in found if schedule is not None))

    return of


def _schedule(task: Task, record: Record) -> Schedule | None:
    try:
        return fitting_schedule(record.entity, task.operator, task.hw)
    except TuningError:
        return None


def _usable(task: Task, schedules: Iterable[Schedule]) -> list[Schedule]:
    allowed = (schedule for schedule in dict.fromkeys(schedules) if task.skip_padding or not schedule.skip_padding)
    return [
        schedule
        for schedule in allowed
        if not any(broken_limits(operator.laid_out(schedule), schedule, task.hw) for operator in task.variants)
    ]
