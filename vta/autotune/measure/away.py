"""Measuring on a cluster: each batch of candidates is dealt out to its workers, which measure as this process would."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from vta.autotune.cluster.cluster import Cluster, Lost
from vta.autotune.measure.in_process import TimingRunner, stream_build
from vta.autotune.measure.measure import Build, Candidate, MeasureOption
from vta.autotune.task import Task
from vta.codegen.timing import TimingEmitter
from vta.config.hardware import HardwareConfig
from vta.config.technology import Technology
from vta.records.measurement import ErrorKind, Measurement, failed
from vta.schedule.schedule import Schedule
from vta.tile.gemm_operator import GemmOperator

__all__ = ["on_cluster"]


class _Sender:
    """Builds nothing: workers make the streams that they time."""

    def build(self, candidates: Sequence[Candidate]) -> list[Build]:
        """See `Builder.build`."""
        return [Build(candidate.schedule) for candidate in candidates]


class _ClusterRunner:
    """Counts cycles on the cycle engines of a cluster."""

    def __init__(self, cluster: Cluster, hw: HardwareConfig, technology: Technology | None) -> None:
        self._cluster = cluster
        self._hw = hw
        self._technology = technology
        self._operators: WeakKeyDictionary[Task, Any] = WeakKeyDictionary()

    def run(self, candidates: Sequence[Candidate], builds: Sequence[Build]) -> list[Measurement]:
        """See `Runner.run`."""
        results: list[Measurement | None] = [None] * len(candidates)
        parts = self._dealt(candidates)
        works = [
            (self._kept(candidates[part[0]]), self._hw, [builds[index].product for index in part], self._technology)
            for part in parts
        ]
        for number, found in self._cluster.map(_measured, works):
            for at, index in enumerate(parts[number]):
                lost = isinstance(found, Lost)
                results[index] = failed(ErrorKind.RUNTIME_DEVICE, found.message, 0.0) if lost else found[at]
        return [result for result in results if result is not None]

    def _dealt(self, candidates: Sequence[Candidate]) -> list[list[int]]:
        """Indices of the candidates of each task, in about as many parts as the cluster has threads."""
        of_task: dict[int, list[int]] = {}
        for index, candidate in enumerate(candidates):
            of_task.setdefault(id(candidate.task), []).append(index)
        threads = self._cluster.threads
        return [part for indices in of_task.values() for at in range(threads) if (part := indices[at::threads])]

    def _kept(self, candidate: Candidate) -> Any:
        task = candidate.task
        assert isinstance(task, Task)
        if task not in self._operators:
            self._operators[task] = self._cluster.kept(task.operator)
        return self._operators[task]


def on_cluster(cluster: Cluster, hw: HardwareConfig, technology: Technology | None = None) -> MeasureOption:
    """Measure on the cycle engines of a cluster; the costs, and energies, are those of `in_process`."""
    return MeasureOption(_Sender(), _ClusterRunner(cluster, hw, technology))


_LOCAL = threading.local()


def _measured(
    operator: GemmOperator, hw: HardwareConfig, schedules: Sequence[Schedule], technology: Technology | None
) -> list[Measurement]:
    """On a worker: the measurements of schedules of an operator."""
    builds = [stream_build(lambda: _emitter(operator, hw), schedule) for schedule in schedules]
    return TimingRunner(hw, technology=technology).timed(builds)


def _emitter(operator: GemmOperator, hw: HardwareConfig) -> TimingEmitter:
    """That of an operator, which the worker keeps for as long as it has the operator."""
    if not hasattr(_LOCAL, "emitters"):
        _LOCAL.emitters = WeakKeyDictionary()
    emitters: WeakKeyDictionary[GemmOperator, TimingEmitter] = _LOCAL.emitters
    if operator not in emitters:
        emitters[operator] = TimingEmitter(operator, hw)
    return emitters[operator]
