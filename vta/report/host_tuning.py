"""Tables of tuning runs of kernels of the host and of GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, isinf, log
from typing import TYPE_CHECKING, TypeVar

from vta.autotune.session import TaskReport
from vta.report.tuning import milliseconds
from vta.support.table import Table, make_table

if TYPE_CHECKING:
    from vta.autotune.gpu.task import GpuTask
    from vta.autotune.host.task import HostTask

__all__ = ["faster_by", "host_tuning_table"]

_Task = TypeVar("_Task", "HostTask", "GpuTask")
_HEADERS = ("layers", "workload", "weight", "default", "best", "faster by", "GOPS", "trials", "failed", "that fit")


def host_tuning_table(reports: Sequence[TaskReport[_Task]]) -> Table:
    """One row a task; that fit: the tiles from which trials are drawn."""
    return make_table(_HEADERS, [_row(report) for report in reports], spare=("workload", "that fit", "GOPS"))


def faster_by(reports: Sequence[TaskReport[_Task]]) -> float:
    """The geometric mean over tasks of the default's time in parts of the best one's."""
    gains = [report.default_cost / report.best_cost for report in reports if not isinf(report.default_cost)]
    return exp(sum(map(log, gains)) / len(gains)) if gains else 1.0


def _row(report: TaskReport[_Task]) -> tuple[object, ...]:
    task = report.task
    gain = report.default_cost / report.best_cost
    return (
        task.label,
        task.name,
        task.weight,
        "failed" if isinf(report.default_cost) else milliseconds(report.default_cost),
        "none" if isinf(report.best_cost) else milliseconds(report.best_cost),
        "-" if isinf(gain) else f"{gain:.2f}",
        f"{report.gops:.1f}",
        report.trials,
        sum(report.errors.values()),
        task.space.size,
    )
