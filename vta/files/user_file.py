"""Opening the files that users name: regular files only, with a limit on what is read whole."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from vta.errors import VTAError

__all__ = ["MOST_TEXT_BYTES", "open_regular", "read_bytes", "read_text", "size_of"]

MOST_TEXT_BYTES = 64 << 20
"""Of a file of text that is read whole."""

_KINDS = (
    (stat.S_ISDIR, "it is a directory"),
    (stat.S_ISFIFO, "it is a named pipe"),
    (stat.S_ISSOCK, "it is a socket"),
    (stat.S_ISCHR, "it is a device"),
    (stat.S_ISBLK, "it is a device"),
)


def open_regular(path: str | Path) -> BufferedReader:
    """Open a file for reading. Raises `OSError` with a reason, also for what is no regular file.

    Reading a pipe could wait for ever, and a device need not end.
    """
    try:
        _require_regular(os.stat(path).st_mode, path)
        # Whatever has taken its place since then is not waited for either.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:
        raise OSError(errno.EINVAL, "no file can have this name", str(path)) from None
    try:
        _require_regular(os.fstat(handle).st_mode, path)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def size_of(stream: BinaryIO) -> int:
    """Bytes of an open file."""
    return os.fstat(stream.fileno()).st_size


def read_bytes(path: str | Path, error: type[VTAError], most: int | None = None) -> bytes:
    """The content of a file of at most `most` bytes. Raises `error` naming the file and why it cannot be read."""
    try:
        with open_regular(path) as stream:
            if most is not None and size_of(stream) > most:
                raise error(f"{path}: cannot be read: it has {size_of(stream)} bytes; the limit is {most}")
            return stream.read()
    except OSError as problem:
        raise error(f"{path}: cannot be read: {problem.strerror or problem}") from None
    except MemoryError:
        raise error(f"{path}: cannot be read: it does not fit the memory") from None


def read_text(path: str | Path, error: type[VTAError], most: int = MOST_TEXT_BYTES) -> str:
    """The UTF-8 text in a file, likewise."""
    content = read_bytes(path, error, most)
    try:
        return content.decode()
    except UnicodeDecodeError as problem:
        raise error(f"{path}: cannot be read: no UTF-8 text: {problem.reason} at byte {problem.start}") from None


def _require_regular(mode: int, path: str | Path) -> None:
    if not stat.S_ISREG(mode):
        kind = next((words for is_kind, words in _KINDS if is_kind(mode)), "it is no file")
        raise OSError(errno.EINVAL, f"{kind}; a regular file is needed", str(path))
