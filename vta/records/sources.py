"""Where schedules come from: logs of tuning records, the records of the package, or the compiler's estimate."""

from __future__ import annotations

from pathlib import Path

from vta.records.shipped import ShippedSchedules
from vta.schedule.source import DEFAULT_SCHEDULES, ScheduleSource

__all__ = ["schedules"]


def schedules(*logs: str | Path, fastest: bool = False, shipped: bool = True) -> ScheduleSource:
    """Where the compiler shall take schedules from, best first: `logs`, the `shipped` records, its own estimate.

    A record is taken if its workload and config are those of an operator, and its schedule fits. Of the shipped records, those
    are taken that do all products and move the fewest bytes, or those that are the `fastest`. Without `shipped` and logs, all
    is left to the estimate.
    Raises `TuningError` if a log cannot be read. Lines that are no records are skipped, and said.
    """
    known = ShippedSchedules(fastest) if shipped else None
    if logs:
        # Compiling without logs need not know how they are read.
        from vta.records.history import load_history

        return load_history(*logs, shipped=known)
    return DEFAULT_SCHEDULES if known is None else known
