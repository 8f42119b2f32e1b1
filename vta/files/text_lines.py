"""Lines of a text file that may hold anything: one that is no text costs nothing but itself."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from vta.errors import VTAError

__all__ = ["START_BYTES", "TextLine", "may_be_objects", "may_hold_objects", "text_lines"]

START_BYTES = 4096
"""Of a file, that tell what it is."""

_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r"))


class TextLine(NamedTuple):
    """A line, with its end, and what is wrong with it."""

    number: int
    """From 1."""
    text: str
    """Where there is a problem, as much of it as can be read."""
    problem: str = ""
    """Empty if all of it is text."""


def text_lines(path: str | Path, longest: int, error: type[VTAError]) -> Iterator[TextLine]:
    """The lines of a file of UTF-8, with or without a byte order mark; of a line of more than `longest` bytes only the start.

    Raises `error`, naming the file, if it cannot be read, or is no regular file: a pipe could be waited for, and a device need
    not end.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise error(f"{path}: cannot be read: it is no regular file")
        with open(path, "rb") as stream:
            for number, data in enumerate(_lines(stream, longest), 1):
                yield _line(number, data, longest)
    except (OSError, ValueError) as problem:
        raise error(f"{path}: cannot be read: {getattr(problem, 'strerror', None) or problem}") from None


def may_be_objects(start: bytes) -> bool:
    """Whether a file with these first bytes may hold lines of JSON objects: they are text, or one line begins an object."""
    start = start[:START_BYTES]
    return not set(start).intersection(_CONTROLS) or start.startswith(b'{"') or b'\n{"' in start


def may_hold_objects(path: str | Path) -> bool:
    """The same of a file; of one that cannot be read it is not known, and so it may."""
    try:
        with open(path, "rb") as stream:
            return may_be_objects(stream.read(START_BYTES))
    except OSError:
        return True


def _lines(stream: BinaryIO, longest: int) -> Iterator[bytes]:
    while data := stream.readline(longest + 1):
        yield data
        while len(data) > longest and not data.endswith(b"\n"):
            data = stream.readline(longest + 1)


def _line(number: int, data: bytes, longest: int) -> TextLine:
    encoding = "utf-8-sig" if number == 1 else "utf-8"
    if len(data) > longest:
        return TextLine(number, data.decode(encoding, errors="replace"), f"longer than {longest:,} bytes")
    try:
        return TextLine(number, data.decode(encoding))
    except UnicodeDecodeError as problem:
        text = data.decode(encoding, errors="replace")
        return TextLine(number, text, f"not UTF-8: {problem.reason} at byte {problem.start + 1}")
