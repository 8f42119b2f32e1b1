"""Measuring on leased devices, as many at once as the tracker has: whatever a candidate does, it costs one trial."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from vta.autotune.measure import Build, Candidate, ErrorKind, Measurement, failed
from vta.autotune.roofline import clock_hz
from vta.codegen.region_program import CompiledModule
from vta.errors import DeviceError, RemoteError, VTAError
from vta.rpc.client import lease, query
from vta.rpc.remote_module import Measured
from vta.rpc.security import Security
from vta.rpc.session import Session

__all__ = ["RPCRunner"]

_ATTEMPTS = 2
"""How often a candidate whose session is lost is tried."""

_GRACE_SECONDS = 30.0


@dataclass(frozen=True, eq=False)
class _Job:
    index: int
    module: CompiledModule
    build_seconds: float
    attempts: int = 0


@dataclass(frozen=True, eq=False)
class _Event:
    """Something that `RPCRunner.run` waits for."""

    session: Session | None = None
    """One that is free now."""
    job: _Job | None = None
    """What it has done."""
    result: Measurement | None = None
    """None: the session was lost."""
    error: VTAError | None = None
    """Why no session could be had, or the session was lost."""


class RPCRunner:
    """Runs modules on devices that a tracker has under `key`; close it to give them back.

    It holds `n_parallel` devices (None: as many as there are when it starts), each as soon as it is free, from the first run
    until it is released or closed. Options are those of `LocalRunner`; a candidate that takes longer than `timeout` seconds
    fails. A candidate whose device is lost is tried once more on another.
    """

    def __init__(
        self,
        tracker: str,
        key: str,
        n_parallel: int | None = None,
        number: int = 1,
        repeat: int = 1,
        timeout: float = 10.0,
        min_repeat_ms: float = 0.0,
        check_correctness: bool = False,
        priority: int = 0,
        lease_timeout: float = 60.0,
        security: Security | None = None,
    ) -> None:
        self._tracker = tracker
        self._key = key
        self._wanted = n_parallel
        self._number, self._repeat, self._least_seconds = number, repeat, min_repeat_ms / 1e3
        self._timeout = timeout
        self._check = check_correctness
        self._priority = priority
        self._lease_timeout = lease_timeout
        self._security = security
        self._events: queue.Queue[_Event] = queue.Queue()
        self._idle: list[Session] = []
        self._acquiring = 0
        self._busy = 0
        self._closed = threading.Event()
        self._released = threading.Event()

    def run(self, candidates: Sequence[Candidate], builds: Sequence[Build]) -> list[Measurement]:
        """See `Runner.run`. Raises `RemoteError` if no device can be had at all: that is no candidate's fault."""
        self._released.clear()
        results: list[Measurement | None] = [None] * len(builds)
        jobs: deque[_Job] = deque()
        for index, build in enumerate(builds):
            if build.product is None:
                results[index] = failed(build.error, build.message, build.seconds)
            else:
                jobs.append(_Job(index, build.product, build.seconds))
        try:
            while jobs or self._busy:
                self._start(jobs)
                self._take(self._next_event(), jobs, results)
        except BaseException:
            self.close()
            raise
        return [result for result in results if result is not None]

    def release(self) -> None:
        """Give the devices back until the next run."""
        self._released.set()
        while not self._events.empty():
            event = self._events.get_nowait()
            self._acquiring -= event.job is None
            if event.session is not None:
                event.session.close()
        while self._idle:
            self._idle.pop().close()

    def close(self) -> None:
        """Give the devices back, for good."""
        self._closed.set()
        while self._idle:
            self._idle.pop().close()

    def _start(self, jobs: deque[_Job]) -> None:
        """Give jobs to idle sessions; ask for more sessions if fewer are there than wanted."""
        if self._wanted is None:
            rows = query(self._tracker, self._security).rows
            self._wanted = max(1, sum(row.total for row in rows if row.key == self._key))
        while len(self._idle) + self._busy + self._acquiring < self._wanted:
            self._acquiring += 1
            threading.Thread(target=self._acquire, daemon=True).start()
        while jobs and self._idle:
            self._busy += 1
            threading.Thread(target=self._measure, args=(self._idle.pop(), jobs.popleft()), daemon=True).start()

    def _next_event(self) -> _Event:
        # Leases and runs end by themselves at their limits.
        return self._events.get(timeout=2 * (self._lease_timeout + self._timeout) + 4 * _GRACE_SECONDS)

    def _take(self, event: _Event, jobs: deque[_Job], results: list[Measurement | None]) -> None:
        if event.job is None:
            self._acquiring -= 1
        else:
            self._busy -= 1
        if event.session is not None:
            self._idle.append(event.session)
        if event.job is None:
            if event.error is not None and not (self._idle or self._busy or self._acquiring):
                raise event.error
        elif event.result is not None:
            results[event.job.index] = event.result
        elif event.job.attempts + 1 < _ATTEMPTS:
            jobs.append(_Job(event.job.index, event.job.module, event.job.build_seconds, event.job.attempts + 1))
        else:
            results[event.job.index] = failed(ErrorKind.RUNTIME_DEVICE, str(event.error), event.job.build_seconds)

    def _acquire(self) -> None:
        """In a thread: wait for a session."""
        try:
            session = lease(self._tracker, self._key, self._lease_timeout, self._priority, security=self._security)
        except VTAError as error:
            self._events.put(_Event(error=error))
            return
        if self._closed.is_set() or self._released.is_set():
            session.close()
            self._events.put(_Event())
        else:
            self._events.put(_Event(session))

    def _measure(self, session: Session, job: _Job) -> None:
        """In a thread: time a module."""
        started = time.perf_counter()
        try:
            result = self._timed(session, job, started)
        except RemoteError as error:
            session.close()
            self._events.put(_Event(job=job, error=error))
            return
        except DeviceError as error:
            kind = ErrorKind.RUN_TIMEOUT if str(error).startswith("time limit") else ErrorKind.RUNTIME_DEVICE
            result = failed(kind, str(error), job.build_seconds + time.perf_counter() - started)
        except Exception as error:  # Whatever it is, the runner must hear of it.
            message = f"{type(error).__name__}: {error}"
            result = failed(ErrorKind.UNKNOWN, message, job.build_seconds + time.perf_counter() - started)
        self._events.put(_Event(session, job, result))

    def _timed(self, session: Session, job: _Job, started: float) -> Measurement:
        with session.load(job.module) as module:
            found = module.measure(self._number, self._repeat, self._least_seconds, self._timeout, self._check)
        seconds = job.build_seconds + time.perf_counter() - started
        if found.mismatch:
            return failed(ErrorKind.WRONG_ANSWER, found.mismatch, seconds)
        return Measurement(_costs(found, job.module), found.cycles, seconds=seconds, timestamp=time.time())


def _costs(found: Measured, module: CompiledModule) -> tuple[float, ...]:
    """Seconds a run: those of the hardware where its cycles are known."""
    if found.cycles is None:
        return found.costs
    return (found.cycles / clock_hz(module.hw),) * len(found.costs)
