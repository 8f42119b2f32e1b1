"""Schedules that are known to be good before anything is measured."""

from __future__ import annotations

from vta.autotune.task import Task
from vta.records.shipped import ShippedSchedules
from vta.schedule.resources import broken_limits
from vta.schedule.schedule import Schedule

__all__ = ["shipped_schedules"]


def shipped_schedules(task: Task) -> list[Schedule]:
    """The shipped schedules of a task that its space allows and all its variants can take: good points to search around."""
    found = []
    for fastest in (False, True):
        schedule = ShippedSchedules(fastest).find(task.operator, task.hw)
        if schedule is None or (schedule.skip_padding and not task.skip_padding):
            continue
        if not any(broken_limits(operator.laid_out(schedule), schedule, task.hw) for operator in task.variants):
            found.append(schedule)
    return list(dict.fromkeys(found))
