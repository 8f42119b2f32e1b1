"""Points of a sweep on a cluster: what they need goes with them, and what comes of them comes back."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from vta.autotune.cluster.cluster import Cluster, Lost, Slot
from vta.autotune.measure.workers import Crashed, Finished, Outcome, WorkerPool
from vta.errors import VTAError
from vta.files.atomic_file import write_whole
from vta.frontend.companions import files_of_model
from vta.support.dataclass import dataclass
from vta.support.deal import Deal
from vta.sweep.evaluate import Job, evaluate
from vta.sweep.spec import Net
from vta.sweep.table import Row
from vta.sweep.workplace import ONE_THREAD, Done, in_order, row_of_outcome, shared_by

__all__ = ["ClusterWorkplace"]

_PARCEL_SECONDS = 1.0
_LEAST_SECONDS = 1e-3
_SHARE = 6
"""Parcels of what is left that there are for each thread, at least."""

Files = Mapping[str, bytes]
"""By name: those of a model, which lie beside each other."""


@dataclass(frozen=True)
class _Away:
    """What came of a point on another machine."""

    outcome: Outcome
    records: str
    """The log of its trials, empty for none."""


class ClusterWorkplace:
    """Runs points on a cluster, each in a process of its own there, as `LocalWorkplace` does here.

    Points that share what is made of a network go to the same worker, several at a time.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._files: dict[str, Any] = {}
        """What stands for the files of each model, by its path."""

    def run(self, jobs: Sequence[Job], done: Done) -> None:
        """See `Workplace.run`."""
        jobs = in_order(jobs)
        parcels = _Parcels(jobs)

        def take(slot: Slot) -> tuple[tuple[Slot, list[int]], tuple[Any, ...]] | None:
            if not (indices := parcels.take(slot, self._cluster.threads)):
                return None
            sent = [replace(jobs[index], records=Path(jobs[index].records.name)) for index in indices]
            return (slot, indices), (sent, self._files_of(sent[0]))

        for (slot, indices), result in self._cluster.deal(_evaluate_here, take):
            lost = isinstance(result, Lost)
            if lost and len(indices) > 1:
                parcels.give_back(slot, indices)
                continue
            found = [_Away(Crashed(result.message, 0.0), "")] if lost else result
            parcels.took(slot, indices, sum(away.outcome.seconds for away in found))
            for index, away in zip(indices, found, strict=True):
                if away.records:
                    write_whole(jobs[index].records, away.records, "the records of a point")
                done(row_of_outcome(jobs[index].point, away.outcome))

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


class _Parcels:
    """How many points are sent at a time: about as many as take `_PARCEL_SECONDS`, and fewer towards the end.

    While points are known to be short, a worker has some to go on with; of long ones it gets another when one is done, so that
    none waits where another worker has nothing to do.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._groups = [shared_by(job) for job in jobs]
        self._deal = Deal(self._groups)
        self._seconds: dict[Hashable, float] = {}
        """That a point of each group took of late."""
        self._away: Counter[Slot] = Counter()
        """Parcels that have not come back."""

    def take(self, slot: Slot, slots: int) -> list[int]:
        """The points for a thread of a worker, one of `slots`."""
        first = self._deal.next_of(slot)
        if first is None:
            return []
        seconds = max(self._seconds.get(self._groups[first], _PARCEL_SECONDS), _LEAST_SECONDS)
        if seconds >= _PARCEL_SECONDS and self._away[slot]:
            return []
        self._away[slot] += 1
        return self._deal.take(slot, max(1, min(int(_PARCEL_SECONDS / seconds), len(self._deal) // (_SHARE * slots))))

    def took(self, slot: Slot, indices: Sequence[int], seconds: float) -> None:
        """A parcel is back, which took so many seconds."""
        self._away[slot] -= 1
        self._seconds[self._groups[indices[0]]] = seconds / len(indices)

    def give_back(self, slot: Slot, indices: Sequence[int]) -> None:
        """A parcel is lost; its points are to be sent one by one: not all of them are to blame."""
        self._away[slot] -= 1
        self._deal.give_back(indices)


class _Room:
    """What a worker keeps from point to point: a process for points, and the files of models."""

    def __init__(self) -> None:
        self.pool = WorkerPool(1, ONE_THREAD)
        self.group: Hashable = None
        """Of the points that were here last."""
        self._folder = tempfile.TemporaryDirectory(prefix="vta-")
        self._models: dict[int, tuple[Files, Path]] = {}

    def point_with_files(self, job: Job, files: Files | None) -> Job:
        """The job with its model where its files are here, and with a log of its own."""
        folder = Path(self._folder.name)
        job = replace(job, records=folder / job.records.name)
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


_LOCK = threading.Lock()
_ROOMS: list[_Room] = []
"""Those that are empty."""


def _evaluate_here(jobs: Sequence[Job], files: Files | None) -> list[_Away]:
    """On a worker: the rows of points that share a network, whatever they do, and the logs of their trials."""
    with _room_for(shared_by(jobs[0])) as room:
        moved = [room.point_with_files(job, files) for job in jobs]
        outcomes = room.pool.map(evaluate, moved, max(job.time_limit for job in jobs))
        return [
            _Away(_as_of(job, there, outcome), _taken(there.records))
            for job, there, outcome in zip(jobs, moved, outcomes, strict=True)
        ]


def _taken(log: Path) -> str:
    text = log.read_text() if log.exists() else ""
    log.unlink(missing_ok=True)
    return text


@contextmanager
def _room_for(group: Hashable) -> Iterator[_Room]:
    """The room where such points were last, if it is empty; there is one for each thread of the worker."""
    with _LOCK:
        room = next((room for room in _ROOMS if room.group == group), None) or next(iter(_ROOMS), None)
        if room is not None:
            _ROOMS.remove(room)
    room = room or _Room()
    room.group = group
    try:
        yield room
    finally:
        with _LOCK:
            _ROOMS.append(room)


def _as_of(job: Job, moved: Job, outcome: Outcome) -> Outcome:
    """An outcome, whose reason names files as whoever asked does."""
    there, here = job.point.work, moved.point.work
    if not isinstance(outcome, Finished) or isinstance(there, str) or isinstance(here, str) or there == here:
        return outcome
    row: Row = outcome.value
    return replace(outcome, value=replace(row, reason=row.reason.replace(here.model, there.model)))
