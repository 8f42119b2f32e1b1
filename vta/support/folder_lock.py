"""Folders in which one process works at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["alone_in"]


@contextmanager
def alone_in(folder: Path, wait: bool) -> Iterator[None]:
    """Keep other processes that ask for it out of a folder, which is there, until the block or the process ends.

    Without `wait`, raises `BlockingIOError` if another process is in it. Where the file system has no locks nobody is kept out.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise
        except OSError:
            # Of some network's file systems.
            pass
        yield
    finally:
        os.close(handle)
