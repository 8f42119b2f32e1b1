"""Work in another thread, one call after the other, while the caller goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Queue
from typing import Any, Generic, TypeVar

import numpy as np

__all__ = ["called_beside"]

_T = TypeVar("_T")
_MOST_WAITING = 4
"""Calls whose arguments are kept in memory until it is their turn."""


@contextmanager
def called_beside(work: Callable[[_T], None]) -> Iterator[Callable[[_T], None]]:
    """Within it, what is called has another thread call `work`, in order; at its end all calls have returned.

    NumPy's errors are handled there as here. Raises what `work` raises, at the end if not before; calls after that are dropped.
    """
    worker = _Worker(work)
    try:
        yield worker.call
    finally:
        worker.end()
    worker.check()


class _Worker(Generic[_T]):
    def __init__(self, work: Callable[[_T], None]) -> None:
        self._work = work
        self._waiting: Queue[_T | _End] = Queue(_MOST_WAITING)
        self._error: BaseException | None = None
        self._handling: dict[str, Any] = dict(np.geterr())
        self._thread = threading.Thread(target=self._go_on, name="vta-beside", daemon=True)
        self._thread.start()

    def call(self, argument: _T) -> None:
        self.check()
        self._waiting.put(argument)

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def end(self) -> None:
        """Wait for what is left, which is little."""
        self._waiting.put(_END)
        self._thread.join()

    def _go_on(self) -> None:
        with np.errstate(**self._handling):
            while not isinstance(argument := self._waiting.get(), _End):
                if self._error is None:
                    try:
                        self._work(argument)
                    except BaseException as error:
                        self._error = error


class _End:
    """Says that nothing more will come."""


_END = _End()
