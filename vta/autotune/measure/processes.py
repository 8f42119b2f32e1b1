"""What builds and measures in worker processes have in common: whatever a candidate does, it costs one trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vta.autotune.measure.measure import Build, Candidate
from vta.autotune.measure.outcomes import build_of, measurement_of
from vta.autotune.measure.workers import WorkerPool
from vta.records.measurement import Measurement, failed

__all__ = ["ProcessBuilder", "ProcessRunner"]


class ProcessBuilder:
    """Builds in `n_parallel` worker processes, each candidate within `timeout` seconds.

    `function` makes there what a runner takes, of what `job_of` says of a candidate here. The function and the jobs are sent, so
    that they must pickle.
    """

    def __init__(
        self, function: Callable[[Any], Any], job_of: Callable[[Candidate], Any], timeout: float, n_parallel: int
    ) -> None:
        self._function = function
        self._job_of = job_of
        self._timeout = timeout
        self._pool = WorkerPool(n_parallel)

    def build(self, candidates: Sequence[Candidate]) -> list[Build]:
        """See `Builder.build`."""
        jobs = [self._job_of(candidate) for candidate in candidates]
        return [build_of(outcome) for outcome in self._pool.map(self._function, jobs, self._timeout)]

    def close(self) -> None:
        """End the worker processes."""
        self._pool.close()


class ProcessRunner:
    """Measures in a worker process, each candidate within `timeout` seconds, by `function` of a build's product and `options`."""

    def __init__(self, function: Callable[[tuple[Any, Any]], Measurement], options: Any, timeout: float) -> None:
        self._function = function
        self._options = options
        self._timeout = timeout
        self._pool = WorkerPool(1)

    def run(self, candidates: Sequence[Candidate], builds: Sequence[Build]) -> list[Measurement]:
        """See `Runner.run`."""
        jobs = [(build.product, self._options) for build in builds if build.product is not None]
        outcomes = iter(self._pool.map(self._function, jobs, self._timeout))
        return [
            failed(build.error, build.message, build.seconds)
            if build.product is None
            else measurement_of(next(outcomes), build.seconds)
            for build in builds
        ]

    def close(self) -> None:
        """End the worker process."""
        self._pool.close()
