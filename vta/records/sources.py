"""Where schedules come from: logs of tuning records, the records of the package, or the compiler's estimate."""

from __future__ import annotations

from pathlib import Path

from vta.records.shipped import ShippedSchedules
from vta.schedule.source import DEFAULT_SCHEDULES, ScheduleSource

__all__ = ["schedules"]


def schedules(
    *logs: str | Path,
    fastest: bool = False,
    shipped: bool = True,
    objective: str = "cycles",
    technology: str | Path | None = None,
) -> ScheduleSource:
    """Where the compiler shall take schedules from, best first: `logs`, the `shipped` records, its own estimate.

    A record is taken if its workload and config are those of an operator, and its schedule fits. Of the shipped records, those
    are taken that do all products and move the fewest bytes, or those that are the `fastest`. Without `shipped` and logs, all
    is left to the estimate. Of several records in `logs` that fit, the best by `objective` is taken: cycles, energy, or powers of
    both such as ``cycles=1,energy=2``, with energies by the figures in the file `technology`, which those of the log have to be.
    Raises `TuningError` if a log cannot be read, or the objective is none. Lines that are no records are skipped, and said.
    """
    known = ShippedSchedules(fastest) if shipped else None
    if logs or objective != "cycles":
        # Compiling without logs need not know how they are read.
        from vta.config.technology import load_technology
        from vta.records.history import load_history
        from vta.records.objective import Objective

        judged = Objective.parse(objective, load_technology(Path(technology)) if technology is not None else None)
    if logs:
        return load_history(*logs, shipped=known, objective=judged)
    return DEFAULT_SCHEDULES if known is None else known
