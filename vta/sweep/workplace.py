"""Where the points of a sweep run: in processes of this machine, or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from types import MappingProxyType
from typing import Protocol

from vta.autotune.measure.workers import Finished, Outcome, TimedOut, WorkerPool
from vta.compiler.shared import geometry_of
from vta.support.on_cores import usable_cores
from vta.sweep.evaluate import Job, evaluate
from vta.sweep.points import Point
from vta.sweep.table import Row, Status, row_of

__all__ = ["ONE_THREAD", "Done", "LocalWorkplace", "Workplace", "in_order", "row_of_outcome", "shared_by"]

Done = Callable[[Row], None]

ONE_THREAD = MappingProxyType(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
"""For processes that run points: there is one for each core."""


class Workplace(Protocol):
    """Runs points, whatever they do; each gives a row."""

    def run(self, jobs: Sequence[Job], done: Done) -> None:
        """Run all jobs; `done` is told the row of each as soon as it is there."""

    def close(self) -> None:
        """Let go of all that runs."""


class LocalWorkplace:
    """Up to `count` processes of this machine (default: as many as it has cores), which keep what points share."""

    def __init__(self, count: int | None = None) -> None:
        self._pool = WorkerPool(count or usable_cores(), ONE_THREAD)

    def run(self, jobs: Sequence[Job], done: Done) -> None:
        """See `Workplace.run`."""
        jobs = in_order(jobs)

        def told(index: int, outcome: Outcome) -> None:
            done(row_of_outcome(jobs[index].point, outcome))

        limit = max((job.time_limit for job in jobs), default=1.0)
        self._pool.map(evaluate, jobs, limit, told, [shared_by(job) for job in jobs])

    def close(self) -> None:
        """End the processes."""
        self._pool.close()


def shared_by(job: Job) -> Hashable:
    """Jobs for which this is the same share what is made of a network for a geometry."""
    return job.point.work, geometry_of(job.point.design.hw)


def in_order(jobs: Sequence[Job]) -> list[Job]:
    """The jobs, so that those that share most follow each other."""
    return sorted(jobs, key=lambda job: (job.point.workload, geometry_of(job.point.design.hw), job.point.number))


def row_of_outcome(point: Point, outcome: Outcome) -> Row:
    """The row of a point whose job ended so."""
    if isinstance(outcome, Finished):
        row: Row = outcome.value
        return row
    status = Status.TIMEOUT if isinstance(outcome, TimedOut) else Status.CRASHED
    return row_of(point, status, reason=outcome.message)
