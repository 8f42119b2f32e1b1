"""Values and words of others, short and printable enough for one line of a message."""

from __future__ import annotations

import reprlib

__all__ = ["printable", "shown"]

_MOST_DIGITS = 40


class _Repr(reprlib.Repr):
    """A `repr` that looks at a bounded part of a value, however large, deep or often shared its parts are."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxtuple = self.maxlist = self.maxdict = self.maxset = self.maxfrozenset = 8
        self.maxstring = self.maxother = 80

    def repr_int(self, x: int, level: int) -> str:
        """Integers of many digits by their size: writing them out takes long, and Python refuses above a limit."""
        bits = x.bit_length()
        return repr(x) if bits <= _MOST_DIGITS * 3 else f"<integer of {bits:,} bits>"

    def repr_bytes(self, x: bytes, level: int) -> str:
        """The first bytes, and how many there are."""
        return repr(x) if len(x) <= self.maxother // 2 else f"{x[: self.maxother // 4]!r}... ({len(x):,} bytes)"

    repr_bytearray = repr_bytes


def shown(value: object, limit: int = 80) -> str:
    """The `repr` of a value as a message quotes it: printable, one line, at most `limit` characters, in little time and memory.

    Of what is longer the middle is left out, as "..."; of nested values the inner ones.
    """
    quoting = _Repr()
    quoting.maxstring = quoting.maxother = limit
    return printable(quoting.repr(value), limit)


def printable(text: str, limit: int = 200) -> str:
    """Words of others (a reason, a name, the text of a library's error) on one line of at most `limit` characters.

    Line ends and runs of blanks become one blank, control characters and lone surrogates their escapes; of what is longer the
    middle is left out, as "...".
    """
    # Far more than can be shown is never looked at: an escape makes text longer only.
    start = text if len(text) <= 4 * limit else f"{text[: 2 * limit]}{text[-2 * limit :]}"
    escaped = "".join(char if char.isprintable() else _escape(char) for char in " ".join(start.split()))
    if len(escaped) <= limit and len(start) == len(text):
        return escaped
    head = max(0, limit - 3) * 2 // 3
    tail = max(0, limit - 3 - head)
    return f"{escaped[:head]}...{escaped[len(escaped) - tail :]}"


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
