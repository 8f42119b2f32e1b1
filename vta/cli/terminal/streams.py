"""Standard output and standard error, whose failures are told in words or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

from vta.errors import WriteError
from vta.files.atomic_file import writing

__all__ = ["STANDARD_OUTPUT", "silence_output", "standard_streams"]

STANDARD_OUTPUT = "standard output"
"""What errors call it."""

_PLAIN_LINES = str.maketrans(dict.fromkeys("━─", "-") | dict.fromkeys("┃│", "|") | dict.fromkeys("┏┳┓┡╇┩└┴┘┌┬┐├┼┤", "+"))
"""The lines around tables in characters that every encoding has."""


class _Output:
    """Standard output: a full disk behind it raises `WriteError`, which names it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._problem: WriteError | None = None

    def write(self, text: str) -> int:
        with self._told():
            return self._stream.write(self._writable(text))

    def _writable(self, text: str) -> str:
        """The text in what the stream's encoding has: plain lines around tables, and escapes for other characters."""
        if text.isascii():
            return text
        encoding = self._stream.encoding or "utf-8"
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            return text.translate(_PLAIN_LINES).encode(encoding, "backslashreplace").decode(encoding)
        return text

    def flush(self) -> None:
        # Some who write pass over the error.
        if self._problem is not None:
            raise self._problem
        with self._told():
            self._stream.flush()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            with writing(STANDARD_OUTPUT, "the result", "/dev/fd/1"):
                yield
        except WriteError as error:
            self._problem = error
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Remarks(_Output):
    """Standard error: work goes on if nobody can be told of it."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            return self._stream.write(self._writable(text))
        return 0

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Have `sys.stdout` and `sys.stderr` behave so while the block runs; those that are closed take everything."""
    before = sys.stdout, sys.stderr
    with contextlib.ExitStack() as opened:
        output, remarks = (stream or opened.enter_context(open(os.devnull, "w")) for stream in before)
        sys.stdout, sys.stderr = cast(TextIO, _Output(output)), cast(TextIO, _Remarks(remarks))
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


def silence_output() -> None:
    """Let go of a standard output that takes nothing more, so that the interpreter does not fail when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
