"""The page of a tuning log: how far each workload came, and what its good schedules have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vta.pages.data.tuning_log import TunedWorkload, TuningLog
from vta.pages.draw.tuning import draw_curves, draw_gains, draw_knobs, draw_trials
from vta.pages.page import Fact, Page, Section, TablePart
from vta.pages.vega import PageError

__all__ = ["tuning_page"]


def tuning_page(log: TuningLog, name: str) -> Page:
    """Make the page of a log. Raises `PageError` if all of its trials failed."""
    found = [workload for workload in log.workloads if workload.curve]
    if not found:
        raise PageError(f"{name}: all of its {sum(workload.count for workload in log.workloads):,} trials failed")
    knobs = draw_knobs(found)
    progress = Section("progress", "Progress", (draw_curves(found), draw_gains(found)))
    trials = Section("trials", "Trials", (draw_trials(found), *(() if knobs is None else (knobs,))))
    table = Section("workloads", "Workloads", (_table(log.workloads),))
    models = ", ".join(dict.fromkeys(workload.model for workload in found))
    return Page(name, "tuning", f"Trials on {models}.", tuple(_facts(log, found)), (progress, trials, table))


def _facts(log: TuningLog, found: Sequence[TunedWorkload]) -> list[Fact]:
    trials, failed = sum(workload.count for workload in log.workloads), sum(workload.failed for workload in log.workloads)
    gains = sorted(workload.first / workload.best for workload in found)
    mean = math.exp(sum(map(math.log, gains)) / len(gains))
    most = max(found, key=lambda workload: workload.first / workload.best)
    facts = [
        Fact("workloads", f"{len(log.workloads)}", f"{len(found)} with a result"),
        Fact("trials", f"{trials:,}", f"{failed:,} failed"),
        Fact("times as fast", f"{mean:.2f}", "as the first trial, geometric mean of the workloads"),
        Fact("largest gain", f"{most.first / most.best:.2f}", most.name),
    ]
    return [*facts, Fact("lines that are no record", f"{log.problems}")] if log.problems else facts


def _table(workloads: Sequence[TunedWorkload]) -> TablePart:
    rows = tuple(
        (
            workload.name,
            workload.identity,
            workload.model,
            workload.count,
            workload.failed,
            _cost(workload.first),
            _cost(workload.best),
            workload.unit,
            workload.first / workload.best if workload.curve else 0.0,
            workload.curve[-1][0] if workload.curve else 0,
        )
        for workload in workloads
    )
    headers = ("workload", "in full", "config", "trials", "failed", "first", "best", "in", "gain", "best at trial")
    return TablePart("workloads", "All workloads", headers, rows)


def _cost(cost: float) -> int | float:
    if not math.isfinite(cost):
        return 0
    return int(cost) if cost == int(cost) else cost
