"""A second process that makes some of what this one would have to make next, for commands, which use one core of a machine.

What is made is named by digests. While a `SecondProcess` is open, the first thing that has to be made splits the process in two.
The first half makes one thing after the other as it comes to them. The second half runs through the same code with stand-ins to
learn what will be asked for, then makes that from its end, and sends it. Where both meet, all is made, each thing by one of
them; what either makes is the same. If the second half does not come about, or dies, the first makes all of it. Where few things
are to be made, to split takes longer than they do: the first ones can be made before.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType

__all__ = ["Postponed", "SecondProcess", "allow_second_process", "can_split", "made"]

_DIGEST_BYTES = 32
_STARTED, _DONE = b"s", b"d"
_HEAD_BYTES = 1 + _DIGEST_BYTES + 8
_LONGEST_WAIT = 600.0
"""Seconds that the first half waits for one thing that the second one makes; then it makes that itself."""
_THREADS = "OMP_NUM_THREADS"
_MOST_THREADS = 2
"""The main one, and that of a command's progress, which holds no lock for long that the second half needs."""


class _Now:
    """What holds in this process."""

    allowed = False
    opened: SecondProcess | None = None


class Postponed(Exception):  # noqa: N818 - nothing is wrong
    """Raised by `made` in the second half while that learns what will be asked for: a stand-in is to take the place of it."""


def allow_second_process() -> None:
    """Let `SecondProcess` split this process from now on: only for commands, whose threads and locks are known."""
    _Now.allowed = True


def made(digest: bytes, make: Callable[[], bytes]) -> bytes:
    """Return what `make` gives, or what the second half of an open `SecondProcess` made of it; `digest` has 32 bytes.

    Raises `Postponed` in the second half.
    """
    return make() if _Now.opened is None else _Now.opened.made(digest, make)


class SecondProcess:
    """Open while its block runs; see the module. The block is to replace what raises `Postponed`, and to have no other effects.

    Without `allow_second_process`, on a machine with one core, or where OMP_NUM_THREADS is 1, it does nothing.
    """

    def __init__(self, wanted: bool = True, *, alone: int = 0) -> None:
        """With `wanted` false it does nothing either. The first `alone` things are made before anything is split."""
        self._usable = wanted and can_split()
        self._alone = alone
        self._child: int | None = None
        self._second = False
        self._threads: str | None = None
        self._jobs: dict[bytes, Callable[[], bytes]] = {}
        self._reader = self._writer = -1
        self._received = bytearray()
        self._started: set[bytes] = set()
        self._results: dict[bytes, bytes] = {}

    def __enter__(self) -> SecondProcess:
        if self._usable and _Now.opened is None:
            _Now.opened = self
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if _Now.opened is not self:
            return
        _Now.opened = None
        if self._second:
            self._make_from_the_end(failed=kind is not None)
        self._end_child()

    def made(self, digest: bytes, make: Callable[[], bytes]) -> bytes:
        """See the function `made`."""
        if self._usable and self._alone:
            self._alone -= 1
            return make()
        if self._usable:
            self._usable = False
            self._split()
        if self._second:
            self._jobs.setdefault(digest, make)
            raise Postponed
        self._receive(0.0)
        end = time.monotonic() + _LONGEST_WAIT
        while digest in self._started and digest not in self._results and self._child is not None:
            self._receive(end - time.monotonic())
        if digest in self._results:
            return self._results.pop(digest)
        if self._child is not None:
            self._tell(digest)
        return make()

    def _split(self) -> None:
        to_child, from_child = os.pipe(), os.pipe()
        try:
            child = os.fork()
        except OSError as error:
            import logging  # which takes as long to import as this package

            logging.getLogger(__name__).debug("no second process: %s", error)
            for descriptor in (*to_child, *from_child):
                os.close(descriptor)
            return
        if child == 0:
            self._second = True
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        else:
            self._child = child
            self._threads = os.environ.get(_THREADS)
        # Each half has a core of its own, and no use for threads.
        os.environ[_THREADS] = "1"
        self._reader, unused_writer = to_child if child == 0 else from_child
        unused_reader, self._writer = from_child if child == 0 else to_child
        os.close(unused_writer)
        os.close(unused_reader)
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, child == 0)

    def _make_from_the_end(self, failed: bool) -> None:
        """Make what was asked for, until the first half has begun the rest; never returns."""
        status = 1
        try:
            for digest in () if failed else reversed(self._jobs):
                self._receive(0.0)
                if digest in self._started:
                    break
                self._send(_STARTED, digest, b"")
                self._send(_DONE, digest, self._jobs[digest]())
            status = 0
        finally:
            os._exit(status)

    def _send(self, kind: bytes, digest: bytes, content: bytes) -> None:
        """Send from the second half to the first."""
        left = memoryview(kind + digest + len(content).to_bytes(8, "little") + content)
        while left:
            left = left[os.write(self._writer, left) :]

    def _tell(self, digest: bytes) -> None:
        """Tell the second half that the first begins to make something; where there is no room, both may make it."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(self._writer, _STARTED + digest + bytes(8))

    def _receive(self, seconds: float) -> None:
        """Take what the other half sent, waiting up to `seconds` for something to come; one that is not there ended."""
        if self._reader < 0:
            return
        ready = select.select([self._reader], [], [], max(seconds, 0.0))[0]
        ended = not ready and seconds > 0.0
        if ready:
            with contextlib.suppress(BlockingIOError):
                while piece := os.read(self._reader, 1 << 16):
                    self._received += piece
                ended = True
            self._take_messages()
        if ended:
            self._end_child()

    def _take_messages(self) -> None:
        while len(self._received) >= _HEAD_BYTES:
            size = int.from_bytes(self._received[_HEAD_BYTES - 8 : _HEAD_BYTES], "little")
            if len(self._received) < _HEAD_BYTES + size:
                return
            kind, digest = bytes(self._received[:1]), bytes(self._received[1 : 1 + _DIGEST_BYTES])
            self._started.add(digest)
            if kind == _DONE:
                self._results[digest] = bytes(self._received[_HEAD_BYTES : _HEAD_BYTES + size])
            del self._received[: _HEAD_BYTES + size]

    def _end_child(self) -> None:
        """End the second half, if this is the first one; it has no use any more."""
        if self._second or self._child is None:
            return
        child, self._child = self._child, None
        if self._threads is None:
            os.environ.pop(_THREADS, None)
        else:
            os.environ[_THREADS] = self._threads
        os.close(self._reader)
        os.close(self._writer)
        self._reader = self._writer = -1
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def can_split() -> bool:
    """Whether this process may be split: others than Linux have no `fork`, or libraries that do not live through one."""
    if not _Now.allowed or sys.platform != "linux" or os.environ.get(_THREADS) == "1":
        return False
    return len(os.sched_getaffinity(0)) > 1 and threading.active_count() <= _MOST_THREADS
