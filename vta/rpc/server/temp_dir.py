"""Directories for the files of sessions, which vanish even if the process that made them was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

from vta.rpc.wire.service import SESSION_FOLDER

__all__ = ["TempDir", "remove", "remove_abandoned"]

_AGE_SECONDS = 60.0


class TempDir:
    """A directory that exists until `close`. A lock says that somebody still needs it."""

    def __init__(self) -> None:
        """Raises `OSError` if the folder for temporary files is gone, full, or may not be written to; nothing is left then."""
        self.path = Path(tempfile.mkdtemp(prefix=SESSION_FOLDER))
        self._lock: int | None = None
        try:
            self._lock = os.open(self.path, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        except BaseException:
            self.close()
            raise

    @property
    def usable(self) -> bool:
        """Whether it is still there: others clean the folder for temporary files, too."""
        return self._lock is not None and self.path.is_dir()

    def close(self) -> None:
        """Remove the directory; closing again does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        lock, self._lock = self._lock, None
        if lock is not None:
            with contextlib.suppress(OSError):
                os.close(lock)


def remove(path: Path) -> None:
    """Remove a file, if it is there and can be removed: its directory goes at the end of the session at the latest."""
    with contextlib.suppress(OSError):
        path.unlink()


def remove_abandoned() -> None:
    """Remove the directories of processes that ended without doing so, where that can be done."""
    with contextlib.suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{SESSION_FOLDER}*"):
            _remove_if_abandoned(path)


def _remove_if_abandoned(path: Path) -> None:
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        found = os.fstat(lock)
        # A younger one may be about to be locked.
        old = time.time() - found.st_mtime > _AGE_SECONDS
        if old and found.st_uid == os.getuid() and _is_free(lock):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


def _is_free(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
