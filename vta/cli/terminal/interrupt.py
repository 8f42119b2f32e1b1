"""Ctrl-C while the command starts and ends, when nobody can catch `KeyboardInterrupt`: a word, and no traceback."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["EXIT_INTERRUPTED", "interruptible", "is_command", "stay_quiet"]

EXIT_INTERRUPTED = 130


def is_command(arguments: list[str]) -> bool:
    """Whether a process with `arguments` is the command itself, rather than a program that uses it."""
    if not arguments:
        return False
    # What is started as "python -m" is called -m while its package is imported, and by its file from then on.
    return os.path.basename(arguments[0]) in ("-m", "vta") or arguments[0].endswith(("/vta/__main__.py", "/vta/cli/main.py"))


def stay_quiet() -> None:
    """From now on Ctrl-C ends the process with a word; what the process was started to ignore it goes on to ignore."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


@contextmanager
def interruptible() -> Iterator[None]:
    """Have Ctrl-C raise `KeyboardInterrupt` in this block, as usual, and be quiet again after it."""
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is _end
    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, _end)


def _end(number: int, frame: FrameType | None) -> None:
    # Other threads, and what else runs at exit, have nothing to do any more.
    files = sys.modules.get("vta.files.atomic_file")
    if files is not None:
        files.remove_unfinished()
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"vta: interrupted\n")
    os._exit(EXIT_INTERRUPTED)
