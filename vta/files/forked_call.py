"""A function that a copy of this process calls meanwhile, for commands: Python's lock is not shared with it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from select import select

from vta.files.second_process import can_split
from vta.support.on_cores import THREADS_VARIABLE, usable_cores

__all__ = ["ForkedCall"]

_PIECE = 1 << 20
_COMPLETE = b"\1"
"""Follows what was returned."""


class ForkedCall:
    """The call of a function that returns bytes. Its process ends at the end of a ``with``, if it has not come to its own."""

    _running = 0
    """Copies of this process that have not ended."""

    def __init__(self, work: Callable[[], bytes], nice: int = 0) -> None:
        """The copy comes `nice` steps of the scheduler after this process.

        Raises `OSError` if the process cannot be copied; see `possible`.
        """
        self._reader, writer = os.pipe()
        try:
            self._child: int | None = os.fork()
        except OSError:
            os.close(writer)
            os.close(self._reader)
            raise
        if self._child == 0:
            _call(work, writer, nice)
        ForkedCall._running += 1
        os.close(writer)

    @staticmethod
    def possible() -> bool:
        """Whether there is a core for it, and nothing in this process that does not live through being copied."""
        return can_split()

    @classmethod
    def has_idle_core(cls) -> bool:
        """Whether there is one that neither this process nor another that it has begun is using."""
        return usable_cores() > 1 + cls._running

    def __enter__(self) -> ForkedCall:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def result(self, seconds: float) -> bytes | None:
        """Wait up to so many seconds for what the function returns; None if its process ended, or has to, without that."""
        found, end = bytearray(), time.monotonic() + seconds
        while self._child is not None and select([self._reader], [], [], max(0.0, end - time.monotonic()))[0]:
            piece = os.read(self._reader, _PIECE)
            if not piece:
                break
            found += piece
        self._end()
        return bytes(found[:-1]) if found.endswith(_COMPLETE) else None

    def _end(self) -> None:
        if self._child is None:
            return
        child, self._child = self._child, None
        ForkedCall._running -= 1
        os.close(self._reader)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _call(work: Callable[[], bytes], writer: int, nice: int) -> None:
    """In the copy: call, send, and end."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.environ[THREADS_VARIABLE] = "1"
        os.nice(nice)
        left = memoryview(work() + _COMPLETE)
        while left:
            left = left[os.write(writer, left) :]
        status = 0
    finally:
        os._exit(status)
