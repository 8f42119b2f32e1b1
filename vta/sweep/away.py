"""Points of a sweep on a cluster: what they need goes with them, and what comes of them comes back."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vta.autotune.cluster.cluster import Cluster, Lost
from vta.autotune.measure.workers import Crashed, Finished, Outcome, WorkerPool
from vta.errors import VTAError
from vta.files.atomic_file import write_whole
from vta.frontend.companions import files_of_model
from vta.support.dataclass import dataclass
from vta.sweep.evaluate import Job, evaluate
from vta.sweep.spec import Net
from vta.sweep.table import Row
from vta.sweep.workplace import Done, in_order, row_of_outcome

__all__ = ["ClusterWorkplace"]

Files = Mapping[str, bytes]
"""By name: those of a model, which lie beside each other."""


@dataclass(frozen=True)
class _Away:
    """What came of a point on another machine."""

    outcome: Outcome
    records: str
    """The log of its trials, empty for none."""


class ClusterWorkplace:
    """Runs points on a cluster, each in a process of its own there, as `LocalWorkplace` does here."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._files: dict[str, Any] = {}
        """What stands for the files of each model, by its path."""

    def run(self, jobs: Sequence[Job], done: Done) -> None:
        """See `Workplace.run`."""
        jobs = in_order(jobs)
        works = ((replace(job, records=Path(job.records.name)), self._files_of(job)) for job in jobs)
        for index, result in self._cluster.map(_evaluate_here, works):
            job = jobs[index]
            away = _Away(Crashed(result.message, 0.0), "") if isinstance(result, Lost) else result
            if away.records:
                write_whole(job.records, away.records, "the records of a point")
            done(row_of_outcome(job.point, away.outcome))

    def close(self) -> None:
        """Let go of the cluster."""
        self._files.clear()
        self._cluster.close()

    def _files_of(self, job: Job) -> Any:
        work = job.point.work
        if isinstance(work, str):
            return None
        if work.model not in self._files:
            files = _read(Path(work.model), work.random_weights)
            self._files[work.model] = self._cluster.kept(files) if files else None
        return self._files[work.model]


def _read(model: Path, random_weights: int | None) -> Files:
    """A model's files, as far as they are there: what is missing is the point's to say."""
    try:
        paths = files_of_model(model, random_weights)
    except VTAError:
        paths = (model,)
    return {path.relative_to(model.parent).as_posix(): path.read_bytes() for path in paths}


class _Here:
    """What a thread of a worker keeps from point to point: a process for points, and the files of models."""

    def __init__(self) -> None:
        self.pool = WorkerPool(1)
        self._folder = tempfile.TemporaryDirectory(prefix="vta-")
        self._models: dict[int, tuple[Files, Path]] = {}

    def point_with_files(self, job: Job, files: Files | None) -> Job:
        """The job with its model where its files are here, and with a log of its own."""
        folder = Path(self._folder.name)
        job = replace(job, records=folder / "records.log")
        work = job.point.work
        if files is None or not isinstance(work, Net):
            return job
        known = next((path for kept, path in self._models.values() if kept == files), None)
        if known is None:
            known = folder / str(len(self._models))
            known.mkdir()
            for name, data in files.items():
                (known / name).parent.mkdir(parents=True, exist_ok=True)
                (known / name).write_bytes(data)
            self._models[len(self._models)] = files, known
        model = replace(work, model=str(known / Path(work.model).name))
        return replace(job, point=replace(job.point, work=model))


_LOCAL = threading.local()


def _evaluate_here(job: Job, files: Files | None) -> _Away:
    """On a worker: the row of a point, whatever it does, and the log of its trials."""
    here = _here()
    moved = here.point_with_files(job, files)
    moved.records.unlink(missing_ok=True)
    (outcome,) = here.pool.map(evaluate, [moved], moved.time_limit)
    records = moved.records.read_text() if moved.records.exists() else ""
    return _Away(_as_of(job, moved, outcome), records)


def _as_of(job: Job, moved: Job, outcome: Outcome) -> Outcome:
    """An outcome, whose reason names files as whoever asked does."""
    there, here = job.point.work, moved.point.work
    if not isinstance(outcome, Finished) or isinstance(there, str) or isinstance(here, str) or there == here:
        return outcome
    row: Row = outcome.value
    return replace(outcome, value=replace(row, reason=row.reason.replace(here.model, there.model)))


def _here() -> _Here:
    if not hasattr(_LOCAL, "here"):
        _LOCAL.here = _Here()
    found: _Here = _LOCAL.here
    return found
