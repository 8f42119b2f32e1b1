"""Tables of searches over all kernels of a network."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, isfinite, log

from vta.autotune.auto.session import AutoReport
from vta.report.tuning import milliseconds
from vta.support.table import Table, make_table

__all__ = ["auto_table", "mean_gain"]

_HEADERS = ("number", "task", "layers", "weight", "default", "best", "faster by", "GFLOPS", "trials", "failed")


def auto_table(reports: Sequence[AutoReport], title: str = "") -> Table:
    """One row a task."""
    return make_table(_HEADERS, [_row(number, report) for number, report in enumerate(reports)], title, ("task", "GFLOPS"))


def mean_gain(reports: Sequence[AutoReport]) -> float:
    """The geometric mean over tasks of the default's time in parts of the best one's."""
    gains = [report.default_seconds / report.best_seconds for report in reports if isfinite(report.default_seconds)]
    return exp(sum(map(log, gains)) / len(gains)) if gains else 1.0


def _row(number: int, report: AutoReport) -> tuple[object, ...]:
    task = report.task
    known = isfinite(report.default_seconds)
    return (
        number,
        task.name,
        task.label,
        task.weight,
        milliseconds(report.default_seconds) if known else "-",
        milliseconds(report.best_seconds) if isfinite(report.best_seconds) else "-",
        f"{report.default_seconds / report.best_seconds:.2f}" if known else "-",
        f"{report.gflops:.1f}",
        report.trials,
        sum(report.errors.values()),
    )
