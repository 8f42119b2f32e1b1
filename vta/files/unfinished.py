"""Files that are being written, beside those whose names they are to take: gone when the process ends before that."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

__all__ = ["remove_unfinished", "unfinished"]

_ENDING = (signal.SIGTERM, signal.SIGHUP)
"""What ends a process without a word to it, unless somebody handles it."""

_FILES: list[tuple[int, Path]] = []
"""With the process that writes it: one that was forked off has nothing to do with those of its parent."""


@contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """Remove the file or folder `path`, which need not be there, when the block ends, however it or the process does.

    Only a process that is killed outright, or has handlers of its own for the signals that end it, leaves it; so may a
    second thread, as threads cannot wait for signals.
    """
    entry = (os.getpid(), path)
    _FILES.append(entry)
    ours = _take_signals()
    try:
        yield
    finally:
        _remove(path)
        _FILES.remove(entry)
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def remove_unfinished() -> None:
    """Remove what this process is writing, as it ends now."""
    for process, path in _FILES:
        if process == os.getpid():
            _remove(path)


def _take_signals() -> list[signal.Signals]:
    """Handle the signals that nobody handles; returns them."""
    if threading.current_thread() is not threading.main_thread():
        return []
    found = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in found:
        signal.signal(number, _end)
    return found


def _end(number: int, frame: FrameType | None) -> None:
    remove_unfinished()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            # Takes a moment to import.
            import shutil

            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


atexit.register(remove_unfinished)
