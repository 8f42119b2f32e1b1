"""The two halves of a process that split to share work, and what they tell each other; see `vta.files.second_process`."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable

from vta.support.on_cores import THREADS_VARIABLE

__all__ = ["ProcessHalves"]

_DIGEST_BYTES = 32
_STARTED, _DONE = b"s", b"d"
_HEAD_BYTES = 1 + _DIGEST_BYTES + 8
_LONGEST_WAIT = 600.0
"""Seconds that the first half waits for one thing that the second one makes; then it makes that itself."""


class ProcessHalves:
    """Splits this process; both halves have one of these. Raises `OSError` where no process can be made."""

    def __init__(self) -> None:
        self._child: int | None = None
        self._jobs: dict[bytes, Callable[[], bytes]] = {}
        self._received = bytearray()
        self._started: set[bytes] = set()
        self._results: dict[bytes, bytes] = {}
        to_child, from_child = os.pipe(), os.pipe()
        try:
            child = os.fork()
        except OSError:
            for descriptor in (*to_child, *from_child):
                os.close(descriptor)
            raise
        self.is_second = child == 0
        if self.is_second:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        else:
            self._child = child
        self._threads = os.environ.get(THREADS_VARIABLE)
        # Each half has a core of its own, and no use for threads.
        os.environ[THREADS_VARIABLE] = "1"
        self._reader, unused_writer = to_child if child == 0 else from_child
        unused_reader, self._writer = from_child if child == 0 else to_child
        os.close(unused_writer)
        os.close(unused_reader)
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, child == 0)

    @property
    def ended_early(self) -> bool:
        """In the first half: whether the second one is known to have ended before it began to make anything."""
        return not self.is_second and self._child is None and not self._started

    def postpone(self, digest: bytes, make: Callable[[], bytes]) -> None:
        """In the second half: make this when everything that is asked for is known."""
        self._jobs.setdefault(digest, make)

    def made(self, digest: bytes, make: Callable[[], bytes]) -> bytes:
        """In the first half: what `make` gives, or what the second half made, or is about to make, of it."""
        self._receive(0.0)
        end = time.monotonic() + _LONGEST_WAIT
        while digest in self._started and digest not in self._results and self._child is not None:
            self._receive(end - time.monotonic())
        if digest in self._results:
            return self._results.pop(digest)
        if self._child is not None:
            self._tell(digest)
        return make()

    def make_from_the_end(self, failed: bool = False) -> None:
        """In the second half: make what was asked for, until the first half has begun the rest; never returns."""
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

    def end(self) -> None:
        """In the first half: end the second one, which has no use any more."""
        if self._child is None:
            return
        child, self._child = self._child, None
        if self._threads is None:
            os.environ.pop(THREADS_VARIABLE, None)
        else:
            os.environ[THREADS_VARIABLE] = self._threads
        os.close(self._reader)
        os.close(self._writer)
        self._reader = self._writer = -1
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

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
            self.end()

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
