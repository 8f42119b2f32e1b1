"""What all devices share of their life: taking turns, counting runs, remembering why the last one failed, being closed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from types import TracebackType
from typing import Concatenate, NoReturn, ParamSpec, Protocol, TypeVar
from weakref import WeakSet

from vta.devices.device import DeviceState, DeviceStatus
from vta.errors import DeviceError

__all__ = ["Lifecycle", "operation"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Lifecycle:
    """Keeps the status of the device `name`, and lets one thread at a time use it.

    A fork copies a device that lies in this process's memory, such as a simulator. With `copied` False it does not: what a
    child of the process has then cannot be used.
    """

    def __init__(self, name: str, copied: bool = True) -> None:
        self._name = name
        self._copied = copied
        self._lock = threading.RLock()
        self._gone = ""
        """Why the device cannot be used any more."""
        self._error = ""
        self._runs = 0
        _LIVES.add(self)

    def __reduce__(self) -> NoReturn:
        """A copy in another process, or a second one here, would be of a device that it does not have."""
        raise DeviceError(f"a {self._name} device can be neither copied nor pickled: open another where it is needed")

    def status(self) -> DeviceStatus:
        """See `Device.status`. Does not wait for other threads."""
        if self._gone:
            return DeviceStatus(DeviceState.CLOSED, self._error, self._runs)
        return DeviceStatus(DeviceState.FAILED if self._error else DeviceState.READY, self._error, self._runs)

    def using(self) -> AbstractContextManager[None]:
        """Wait for the threads that came before, and keep others away until the block ends; the thread itself may come again.

        Raises `DeviceError` if the device is closed.
        """
        return _Turn(self)

    def take(self) -> threading.RLock:
        """The lock, taken. Raises `DeviceError` if the device is closed."""
        lock = self._lock
        lock.acquire()
        if self._gone:
            lock.release()
            raise DeviceError(f"the {self._name} device {self._gone}")
        return lock

    @contextmanager
    def closing(self) -> Iterator[bool]:
        """Close the device, once the operation of another thread has ended. Gives whether it was open until now."""
        with self._lock:
            was_open, self._gone = not self._gone, self._gone or "is closed"
            yield was_open

    @contextmanager
    def run(self, runs: int = 1) -> Iterator[None]:
        """Count so many runs, and remember the error if they fail."""
        with self.using():
            self._runs += runs
            self._error = "the run was interrupted"
            try:
                yield
                self._error = ""
            except DeviceError as error:
                self._error = str(error)
                raise

    def forked(self) -> None:
        """Go on in the child of a fork, whose only thread this is."""
        idle = self._lock.acquire(blocking=False)
        if idle:
            self._lock.release()
        else:
            self._lock = threading.RLock()
        if self._gone:
            return
        if not self._copied:
            self._gone = f"belongs to process {os.getppid()}, which opened it"
        elif not idle:
            self._gone = "was in use by another thread when this process was forked"


class _Turn:
    """One use of a device; a class, as a generator takes longer, and every operation has one."""

    __slots__ = ("_life", "_lock")

    def __init__(self, life: Lifecycle) -> None:
        self._life = life

    def __enter__(self) -> None:
        self._lock = self._life.take()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._lock.release()


class _HasLife(Protocol):
    _life: Lifecycle


_Self = TypeVar("_Self", bound=_HasLife)


def operation(method: Callable[Concatenate[_Self, _P], _T]) -> Callable[Concatenate[_Self, _P], _T]:
    """Make a method of a device, which has its `Lifecycle` as `_life`, wait for its turn; it raises once the device is closed."""

    @wraps(method)
    def in_turn(self: _Self, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self._life.using():
            return method(self, *args, **kwargs)

    return in_turn


_LIVES: WeakSet[Lifecycle] = WeakSet()
"""Those of this process: the locks that other threads held would stay locked in the child of a fork."""


def _after_fork() -> None:
    for life in list(_LIVES):
        life.forked()


os.register_at_fork(after_in_child=_after_fork)
