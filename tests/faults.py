"""Makes calls of the system fail, from the n-th on, in one thread of this process: files, folders, sockets, processes.

Python tells its audit hooks of every such call before it makes it, and a hook may raise in its place. What libraries in C call
by themselves (gRPC's sockets) is out of reach; a real limit of open files does for these.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Faults", "faults"]

CALLS = frozenset(
    (
        "open",
        "os.mkdir",
        "os.listdir",
        "os.scandir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.chmod",
        "os.truncate",
        "os.posix_spawn",
        "os.fork",
        "fcntl.flock",
        "socket.__new__",
        "socket.connect",
        "socket.bind",
        "subprocess.Popen",
    )
)

_POSSIBLE_WHEN_FULL = ("os.listdir", "os.scandir", "os.remove", "os.rmdir")


@dataclass
class Faults:
    """What is to fail. `calls` counts what was seen, `failed` what was made to fail."""

    error: int
    first: int = 0
    """Calls that succeed before."""
    most: int | None = None
    """Calls that fail, from then on; None: all."""
    thread: str = ""
    """Name of the thread; empty for any."""
    below: str = ""
    """Only files below this folder; empty for all calls."""
    calls: int = 0
    failed: int = 0
    seen: list[str] = field(default_factory=list)

    def judge(self, event: str, arguments: tuple[object, ...]) -> None:
        """Raise `OSError` in place of a call that is to fail."""
        if event not in CALLS or (self.thread and threading.current_thread().name != self.thread):
            return
        name = arguments[0] if arguments and isinstance(arguments[0], (str, bytes)) else ""
        name = os.fsdecode(name)
        if self.below and not name.startswith(self.below):
            return
        if self.error == errno.ENOSPC and event in _POSSIBLE_WHEN_FULL:
            return
        if self.error in (errno.ENOSPC, errno.EROFS) and event == "open" and not _writes(arguments):
            return
        # Modules that Python is importing say nothing of the product.
        if name.endswith((".py", ".pyc", ".so", "__pycache__")):
            return
        self.calls += 1
        if self.calls > self.first and (self.most is None or self.failed < self.most):
            self.failed += 1
            self.seen.append(f"{event} {name}")
            raise OSError(self.error, os.strerror(self.error), name or None)


def _writes(arguments: tuple[object, ...]) -> bool:
    flags = arguments[2] if len(arguments) > 2 else 0
    return isinstance(flags, int) and bool(flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR))


_active: list[Faults] = []


@functools.cache
def _install() -> None:
    """A hook stays for good, so there is one."""
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    for active in _active:
        active.judge(event, arguments)


@contextlib.contextmanager
def faults(error: int, first: int = 0, most: int | None = None, thread: str = "", below: str = "") -> Iterator[Faults]:
    """Make calls fail with `error` while the block runs, see `Faults`."""
    _install()
    made = Faults(error, first, most, thread, below)
    _active.append(made)
    try:
        yield made
    finally:
        _active.remove(made)
