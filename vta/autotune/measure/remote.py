"""Measuring on leased devices, as many at once as the tracker has: whatever a candidate does, it costs one trial."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from vta.autotune.measure.measure import Build, Candidate
from vta.errors import DeviceError, RemoteError, TimeLimitError, VTAError
from vta.records.measurement import ErrorKind, Measurement, failed
from vta.rpc.client.connect import lease, query
from vta.rpc.client.remote_module import Measured
from vta.rpc.client.session import Session
from vta.rpc.wire.security import Security
from vta.runtime.compiled_module import CompiledModule
from vta.support.dataclass import dataclass

__all__ = ["RPCRunner"]

_ATTEMPTS = 2
"""How often a candidate whose session is lost is tried."""

_GRACE_SECONDS = 30.0
_PAUSE_SECONDS = 1.0


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
    fails. A candidate whose device is lost is tried once more on another. When no device is left, another is waited for
    `lease_timeout` seconds, and no longer.
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
        self._busy = 0
        self._waits = 0
        """Threads that wait for a session."""
        self._next_wait = 0.0
        """When another may begin, on the monotonic clock."""
        self._had_one = False
        self._without_since = time.monotonic()
        """Since when no session is there, if none is."""
        self._lock = threading.Lock()
        self._sessions: set[Session] = set()
        """All that are open; nothing is added once `_open` is false."""
        self._open = True

    def run(self, candidates: Sequence[Candidate], builds: Sequence[Build]) -> list[Measurement]:
        """See `Runner.run`. Raises `RemoteError` if no device can be had at all: that is no candidate's fault."""
        results: list[Measurement | None] = [None] * len(builds)
        jobs: deque[_Job] = deque()
        for index, build in enumerate(builds):
            if build.product is None:
                results[index] = failed(build.error, build.message, build.seconds)
            else:
                jobs.append(_Job(index, build.product, build.seconds))
        if not self._idle:
            self._without_since = time.monotonic()
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
        with self._lock:
            sessions = list(self._sessions)
            self._sessions.clear()
            # Events of threads that are on their way belong to the past.
            self._events = queue.Queue()
        self._idle.clear()
        self._waits = self._busy = 0
        for session in sessions:
            session.close()

    def close(self) -> None:
        """Give the devices back, for good. What still runs there is ended."""
        with self._lock:
            self._open = False
        self.release()

    def _start(self, jobs: deque[_Job]) -> None:
        """Give jobs to idle sessions; ask for more sessions if fewer are there than wanted."""
        if self._wanted is None:
            rows = query(self._tracker, self._security).rows
            self._wanted = max(1, sum(row.total for row in rows if row.key == self._key))
        self._drop_lost()
        while jobs and self._idle:
            self._busy += 1
            self._in_thread(self._measure, self._idle.pop(), jobs.popleft())
        if time.monotonic() >= self._next_wait:
            while len(self._idle) + self._busy + self._waits < self._wanted:
                self._waits += 1
                self._in_thread(self._acquire)

    def _drop_lost(self) -> None:
        """Forget idle sessions whose server has gone: no candidate is to pay for that."""
        lost = [session for session in self._idle if session.lost is not None]
        for session in lost:
            self._idle.remove(session)
            with self._lock:
                self._sessions.discard(session)
            session.close()
        if lost and not (self._idle or self._busy):
            self._without_since = time.monotonic()

    def _in_thread(self, work: Callable[..., None], *arguments: object) -> None:
        threading.Thread(target=work, args=(self._events, *arguments), daemon=True).start()

    def _next_event(self) -> _Event | None:
        """What happens next; None if it is time to ask for a session again. Leases and runs end by themselves at their limits."""
        longest = 2 * (self._lease_timeout + self._timeout) + 4 * _GRACE_SECONDS
        pause = self._next_wait - time.monotonic()
        try:
            return self._events.get(timeout=min(max(0.0, pause), longest) if pause > 0 else longest)
        except queue.Empty:
            if pause > 0:
                return None
            raise RemoteError(f"nothing was heard of the devices with the key {self._key!r} for {longest:g} s") from None

    def _take(self, event: _Event | None, jobs: deque[_Job], results: list[Measurement | None]) -> None:
        if event is None:
            return
        if event.job is None:
            self._waits -= 1
        else:
            self._busy -= 1
        if event.session is not None:
            self._had_one = True
            self._idle.append(event.session)
        elif event.job is not None and not (self._idle or self._busy):
            self._without_since = time.monotonic()
        if event.job is None:
            if event.error is not None:
                self._go_on_without(event.error)
        elif event.result is not None:
            results[event.job.index] = event.result
        elif event.job.attempts + 1 < _ATTEMPTS:
            jobs.append(_Job(event.job.index, event.job.module, event.job.build_seconds, event.job.attempts + 1))
        else:
            results[event.job.index] = failed(ErrorKind.RUNTIME_DEVICE, str(event.error), event.job.build_seconds)

    def _go_on_without(self, error: VTAError) -> None:
        """A session could not be had. Raises `error` if there is none at all, and has not been for long enough."""
        left = self._without_since + self._lease_timeout - time.monotonic()
        hopeless = left <= 0 or not (self._had_one or self._waits)
        if hopeless and not (self._idle or self._busy):
            raise error
        # Whoever is refused at once must not ask all the time.
        self._next_wait = time.monotonic() + _PAUSE_SECONDS

    def _acquire(self, events: queue.Queue[_Event]) -> None:
        """In a thread: wait for a session."""
        seconds = self._lease_timeout
        if self._had_one and not (self._idle or self._busy):
            seconds = max(_PAUSE_SECONDS, self._without_since + seconds - time.monotonic())
        try:
            session = lease(self._tracker, self._key, seconds, self._priority, security=self._security)
        except VTAError as error:
            events.put(_Event(error=error))
        except Exception as error:  # Whatever it is, the runner must hear of it.
            events.put(_Event(error=RemoteError(f"{type(error).__name__}: {error}")))
        else:
            self._hand_over(events, _Event(session))

    def _hand_over(self, events: queue.Queue[_Event], event: _Event) -> None:
        """Tell of a session that is open; one that nobody waits for any more is given back."""
        assert event.session is not None, "there is one"
        with self._lock:
            wanted = self._open and events is self._events
            if wanted:
                self._sessions.add(event.session)
                events.put(event)
        if not wanted:
            event.session.close()

    def _measure(self, events: queue.Queue[_Event], session: Session, job: _Job) -> None:
        """In a thread: time a module."""
        started = time.perf_counter()
        try:
            result = self._timed(session, job, started)
        except RemoteError as error:
            with self._lock:
                self._sessions.discard(session)
            session.close()
            events.put(_Event(job=job, error=error))
            return
        except DeviceError as error:
            kind = ErrorKind.RUN_TIMEOUT if isinstance(error, TimeLimitError) else ErrorKind.RUNTIME_DEVICE
            result = failed(kind, str(error), job.build_seconds + time.perf_counter() - started)
        except Exception as error:  # Whatever it is, the runner must hear of it.
            message = f"{type(error).__name__}: {error}"
            result = failed(ErrorKind.UNKNOWN, message, job.build_seconds + time.perf_counter() - started)
        self._hand_over(events, _Event(session, job, result))

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
    return (found.cycles / module.hw.platform.clock_hz,) * len(found.costs)
