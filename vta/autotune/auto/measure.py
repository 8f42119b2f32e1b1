"""Building and timing schedules in worker processes: one that crashes or hangs costs one trial."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vta.autotune.auto.space import Made
from vta.autotune.auto.task import AutoTask
from vta.autotune.auto.timing import is_right
from vta.autotune.measure.measure import Build
from vta.autotune.measure.outcomes import build_of, measurement_of
from vta.autotune.measure.workers import WorkerPool
from vta.host.loop.nest import Program
from vta.records.measurement import ErrorKind, Measurement, failed
from vta.support.dataclass import dataclass

__all__ = ["BUILD_SECONDS", "DIFFERS", "THOROUGH", "Engine", "LocalMeasure", "Measurer", "Run", "Timing", "run_arrays"]

BUILD_SECONDS = 60.0
"""That compiling a schedule may take, and timing a default one."""
THOROUGH = 4
"""So many times as many samples, where little is timed."""
DIFFERS = "the result differs from that of the default schedule"

Array = NDArray[Any]


@dataclass(frozen=True)
class Timing:
    """How a schedule is timed."""

    number: int = 10
    """Samples of which a cost is the least, at least."""
    min_repeat_ms: float = 20.0
    """Milliseconds that the samples of a cost take together, at least."""
    check: bool = True
    """Whether the result is compared with that of the default schedule."""

    def times(self, factor: int) -> Timing:
        """The same with more samples."""
        return replace(self, number=self.number * factor, min_repeat_ms=self.min_repeat_ms * factor)


class Measurer(Protocol):
    """Times schedules of a task."""

    def default(self, task: AutoTask) -> Measurement:
        """The time of the default schedule, in seconds."""

    def measure(self, task: AutoTask, made: Sequence[Made], thorough: bool = False) -> list[Measurement]:
        """Times of schedules in parts of the default's, in order.

        Each is timed in turns with the default, so that what disturbs the one disturbs the other. `thorough` takes longer.
        """

    def close(self) -> None:
        """End what measures."""


class Run(Protocol):
    """A program that is ready to run on its inputs."""

    def run(self) -> Array:
        """Run it, and return its result."""


class Engine(Protocol):
    """Compiles and runs programs, in worker processes; it is sent there."""

    def build(self, program: Program) -> Any:
        """Compile a program to what can be sent on."""

    def runs(self, programs: Sequence[Program], products: Sequence[Any], inputs: Sequence[Array]) -> Sequence[Run]:
        """Programs that have been compiled, on the same inputs."""

    def seconds(self, runs: Sequence[Any], timing: Timing) -> list[float]:
        """The least seconds of each of these, timed in turns."""


@dataclass(frozen=True)
class _Job:
    engine: Engine
    programs: tuple[Program, ...]
    """The last one is to be timed; one before it is the default, to compare with."""
    products: tuple[Any, ...]
    arrays: Path
    timing: Timing


class LocalMeasure:
    """Compiles in `n_parallel` worker processes and times in one, a schedule within `timeout` seconds."""

    def __init__(
        self, engine: Engine, timing: Timing, timeout: float = 10.0, n_parallel: int = 1, build_seconds: float = BUILD_SECONDS
    ) -> None:
        """Compiling a schedule may take `build_seconds`; for default ones there is more time."""
        self._engine = engine
        self._build_seconds = build_seconds
        self._timing = timing
        self._timeout = timeout
        self._builders, self._runner = WorkerPool(n_parallel), WorkerPool(1)
        self._folder = tempfile.TemporaryDirectory(prefix="vta-auto-")
        self._arrays: dict[str, Path] = {}
        self._built: dict[int, tuple[Program, Build]] = {}
        """By identity: defaults, and in the end the best programs, are timed once more."""
        self.building = self.timing = 0.0
        """Seconds that compiling and timing have taken."""

    def default(self, task: AutoTask) -> Measurement:
        """See `Measurer.default`."""
        (build,) = self._build([task.default], BUILD_SECONDS)
        if build.product is None:
            return failed(build.error, build.message, build.seconds)
        timing = self._timing.times(THOROUGH)
        job = _Job(self._engine, (task.default,), (build.product,), self._arrays_of(task), timing)
        (outcome,) = self._runner.map(_timed, [job], BUILD_SECONDS)
        return measurement_of(outcome, build.seconds)

    def measure(self, task: AutoTask, made: Sequence[Made], thorough: bool = False) -> list[Measurement]:
        """See `Measurer.measure`."""
        programs = [item.program for item in made]
        (first,) = self._build([task.default], BUILD_SECONDS)
        builds = self._build(programs, self._build_seconds)
        timing = self._timing.times(THOROUGH) if thorough else self._timing
        if first.product is None:
            return [failed(first.error, first.message)] * len(programs)
        arrays = self._arrays_of(task)
        jobs = [
            _Job(self._engine, (task.default, program), (first.product, build.product), arrays, timing)
            for program, build in zip(programs, builds, strict=True)
            if build.product is not None
        ]
        started = time.monotonic()
        outcomes = iter(self._runner.map(_timed, jobs, self._timeout))
        self.timing += time.monotonic() - started
        return [
            failed(build.error, build.message, build.seconds)
            if build.product is None
            else measurement_of(next(outcomes), build.seconds)
            for build in builds
        ]

    def close(self) -> None:
        """End the worker processes."""
        self._builders.close()
        self._runner.close()
        self._folder.cleanup()

    def _build(self, programs: Sequence[Program], seconds: float) -> list[Build]:
        new = [program for program in programs if id(program) not in self._built]
        started = time.monotonic()
        outcomes = self._builders.map(partial(_built, self._engine), new, seconds)
        self.building += time.monotonic() - started
        self._built.update((id(program), (program, build_of(outcome))) for program, outcome in zip(new, outcomes, strict=True))
        return [self._built[id(program)][1] for program in programs]

    def _arrays_of(self, task: AutoTask) -> Path:
        """A file with a task's inputs."""
        if task.name not in self._arrays:
            path = Path(self._folder.name) / f"{len(self._arrays)}.npz"
            np.savez(path, *run_arrays(task))
            self._arrays[task.name] = path
        return self._arrays[task.name]


def run_arrays(task: AutoTask, seed: int = 0) -> list[Array]:
    """Random inputs of a task's kernel, and its constants."""
    rng = np.random.default_rng(seed)
    buffers = task.kernel.inputs
    free = len(buffers) - len(task.constants)
    return [*(_random(rng, buffer.shape, buffer.dtype) for buffer in buffers[:free]), *task.constants]


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    # Sums of what is as large as it can be would wrap, which is right, but tells little.
    bound = min(int(limits.max), 1 << 20)
    return rng.integers(max(int(limits.min), -bound), bound, shape, endpoint=True).astype(dtype)


def _built(engine: Engine, program: Program) -> Any:
    """In a worker: a program, compiled."""
    return engine.build(program)


@lru_cache(maxsize=2)
def _loaded(path: Path) -> tuple[Array, ...]:
    with np.load(path) as arrays:
        return tuple(arrays[name] for name in arrays.files)


def _timed(job: _Job) -> Measurement:
    """In a worker: the time of a program, in parts of that of the one before it if there is one; or that its result is wrong."""
    runs = job.engine.runs(job.programs, job.products, _loaded(job.arrays))
    results = [run.run() for run in runs]
    if job.timing.check and not is_right(results[-1], results[0]):
        return Measurement(error=ErrorKind.WRONG_ANSWER, message=DIFFERS)
    least = job.engine.seconds(runs, job.timing)
    return Measurement((least[-1] / least[0] if len(least) > 1 else least[0],))
