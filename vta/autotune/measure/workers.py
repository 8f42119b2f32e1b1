"""Worker processes that run one job at a time each, and are replaced when a job hangs or takes the process down with it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Hashable, Mapping, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from types import MappingProxyType
from typing import Any

from vta.errors import VTAError
from vta.support.dataclass import dataclass
from vta.support.deal import Deal

__all__ = ["Crashed", "Failed", "Finished", "Outcome", "TimedOut", "WorkerPool", "serve"]


@dataclass(frozen=True)
class Finished:
    """A job returned."""

    value: Any
    seconds: float


@dataclass(frozen=True)
class Failed:
    """A job raised."""

    message: str
    seconds: float


@dataclass(frozen=True)
class Crashed:
    """A job took its process down."""

    message: str
    seconds: float


@dataclass(frozen=True)
class TimedOut:
    """A job took longer than it may; its process was killed."""

    message: str
    seconds: float


Outcome = Finished | Failed | Crashed | TimedOut

_COMMAND = "import sys; from vta.autotune.measure.workers import serve; serve(int(sys.argv[1]))"


def serve(handle: int) -> None:
    """The life of a worker: jobs in at the socket `handle`, outcomes out, until the pool closes the other end."""
    jobs: Connection = Connection(handle)
    while True:
        try:
            function, argument = jobs.recv()
        except (EOFError, KeyboardInterrupt):
            return
        started = time.perf_counter()
        try:
            outcome: Outcome = Finished(function(argument), time.perf_counter() - started)
        except KeyboardInterrupt:
            return
        except VTAError as error:
            outcome = Failed(str(error), time.perf_counter() - started)
        except Exception:
            outcome = Failed(traceback.format_exc(limit=4).strip(), time.perf_counter() - started)
        try:
            jobs.send(outcome)
        except OSError:  # Whoever asked is gone.
            return


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    jobs: Connection
    index: int = -1
    """The job that it runs, -1 for none."""
    started: float = 0.0


class WorkerPool:
    """Up to `count` processes. Close it, or use it in a ``with`` statement, so that they end."""

    def __init__(self, count: int = 1, environment: Mapping[str, str] = MappingProxyType({})) -> None:
        """`environment` has variables that the processes get where this one has them not."""
        self._count = count
        self._environment = environment
        self._workers: list[_Worker] = []

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        while self._workers:
            self._end(self._workers[-1])

    def map(
        self,
        function: Callable[[Any], Any],
        arguments: Sequence[Any],
        timeout_seconds: float,
        watch: Callable[[int, Outcome], None] | None = None,
        groups: Sequence[Hashable] | None = None,
    ) -> list[Outcome]:
        """Run `function` on each argument; returns the outcomes in order. Both must be picklable.

        `watch` is told the index and outcome of each job as soon as it ends. No job runs longer than `timeout_seconds`,
        counted from when its worker is ready for it. Jobs of a group, one for each argument, share a process where they can.
        """
        outcomes: list[Outcome | None] = [None] * len(arguments)
        pending = Deal(groups or [None] * len(arguments))
        try:
            while pending or any(worker.index >= 0 for worker in self._workers):
                self._start_jobs(function, arguments, pending)
                for index in self._collect(outcomes, timeout_seconds):
                    outcome = outcomes[index]
                    if watch is not None and outcome is not None:
                        watch(index, outcome)
        except BaseException:
            self.close()
            raise
        return [outcome for outcome in outcomes if outcome is not None]

    def _start_jobs(self, function: Callable[[Any], Any], arguments: Sequence[Any], pending: Deal) -> None:
        idle = [worker for worker in self._workers if worker.index < 0]
        while pending and (idle or len(self._workers) < self._count):
            worker = idle.pop() if idle else self._start()
            (worker.index,) = pending.take(worker.process.pid)
            worker.jobs.send((function, arguments[worker.index]))
            worker.started = time.monotonic()

    def _start(self) -> _Worker:
        ours, theirs = Pipe()
        handle = theirs.fileno()
        environment = {**self._environment, **os.environ, "PYTHONPATH": os.pathsep.join(path or os.curdir for path in sys.path)}
        process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, str(handle)], stdin=subprocess.DEVNULL, pass_fds=[handle], env=environment
        )
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        # The first job asks whether the worker is there: starting it is not part of anyone's time.
        ours.send((_ready, None))
        ours.recv()
        return worker

    def _collect(self, outcomes: list[Outcome | None], timeout_seconds: float) -> list[int]:
        """Wait for the next outcome or the next deadline; returns the jobs that ended."""
        ended = []
        busy = [worker for worker in self._workers if worker.index >= 0]
        deadline = min(worker.started for worker in busy) + timeout_seconds
        ready = wait([worker.jobs for worker in busy], max(0.0, deadline - time.monotonic()))
        now = time.monotonic()
        for worker in busy:
            index, elapsed = worker.index, now - worker.started
            if worker.jobs in ready:
                outcomes[index] = self._receive(worker, elapsed)
            elif elapsed >= timeout_seconds:
                self._end(worker)
                outcomes[index] = TimedOut(f"took longer than {timeout_seconds:g} s", elapsed)
            if outcomes[index] is not None:
                ended.append(index)
        return ended

    def _receive(self, worker: _Worker, elapsed: float) -> Outcome:
        worker.index = -1
        try:
            outcome: Outcome = worker.jobs.recv()
        except (EOFError, OSError):
            code = worker.process.wait()
            self._end(worker)
            return Crashed(f"the worker process ended with exit code {code}", elapsed)
        return outcome

    def _end(self, worker: _Worker) -> None:
        worker.jobs.close()
        worker.process.kill()
        worker.process.wait()
        self._workers.remove(worker)


def _ready(_: None) -> None:
    """Nothing: a worker that answers is ready."""
