"""Calls on another thread, in order, while this one goes on: for native code and NumPy's, which lets go of Python's lock."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from types import TracebackType

from vta.support.on_cores import threads_at_once

__all__ = ["Beside"]

_Call = Callable[[], object]
_MOST_WAITING = 8
"""What calls hold stays in memory until they are done."""


class Beside:
    """Within its block `do` returns at once, unless there are many calls before it. At its end all calls are done.

    The first error that a call raises is raised by a later `do`, or at the end; no call after it is made. With one thread at
    once calls are made as they come.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._room: SimpleQueue[None] = SimpleQueue()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="vta-beside") if threads_at_once() > 1 else None

    def __enter__(self) -> Beside:
        if self._thread is not None:
            for _ in range(_MOST_WAITING):
                self._room.put(None)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._thread is None:
            return
        if error is not None:
            # Nobody wants what is still waiting.
            self._error = self._error or error
        self._calls.put(None)
        self._thread.join()
        if error is None and self._error is not None:
            raise self._error

    def do(self, call: _Call) -> None:
        """Have `call` made, after those before it."""
        if self._thread is None:
            call()
            return
        self._room.get()
        if self._error is not None:
            raise self._error
        self._calls.put(call)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            if self._error is None:
                try:
                    call()
                except BaseException as error:
                    self._error = error
            # What it holds must not stay until the next call comes.
            del call
            self._room.put(None)
