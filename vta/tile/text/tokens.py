"""Words of the text of the tile level, and errors that say where one of them is wrong."""

from __future__ import annotations

import json
import re
from typing import NamedTuple, NoReturn

from vta.errors import TileTextError

__all__ = ["Token", "Tokens"]

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|//[^\n]*)+)
    |(?P<tensor>%(?:[A-Za-z0-9_.$/:+-]+|"(?:[^"\\\n]|\\.)*"))
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<digest>\#[0-9a-f]{12})(?![0-9a-z])
    |(?P<dims>-?[0-9]{1,19}(?:x-?[0-9]{1,19})*)(?![0-9A-Za-z_])
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<mark>[{}:=\[\]])
    """,
    re.VERBOSE,
)


class Token(NamedTuple):
    """A word of a text, and where it begins."""

    kind: str
    text: str
    offset: int

    @property
    def name(self) -> str:
        """What a name or a string says. Raises `ValueError` if its escapes are none."""
        text = self.text.removeprefix("%")
        value = json.loads(text) if text.startswith('"') else text
        return str(value)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers between crosses."""
        return tuple(map(int, self.text.split("x")))


class Tokens:
    """The words of a text, one after the other."""

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._next = self._read(0)

    @property
    def next(self) -> Token:
        """The word that is next; of the kind ``end`` behind the last."""
        return self._next

    def take(self) -> Token:
        """Go on behind the next word, and return it."""
        token = self._next
        self._next = self._read(token.offset + len(token.text))
        return token

    def take_kind(self, kind: str, allowed: str) -> Token:
        """The next word, which must be of a kind."""
        return self.take() if self._next.kind == kind else self.fail(allowed)

    def take_text(self, *texts: str) -> Token:
        """The next word, which must be one of these."""
        return self.take() if self._next.text in texts and self._next.kind in ("word", "mark") else self.fail(_listed(texts))

    def accept(self, text: str) -> bool:
        """Go on if the next word is this one."""
        found = self._next.kind in ("word", "mark") and self._next.text == text
        if found:
            self.take()
        return found

    def fail(self, allowed: str, token: Token | None = None) -> NoReturn:
        """Raise the error that something else is allowed in the place of the next word, or of `token`."""
        at = token or self._next
        line = self._text.count("\n", 0, at.offset) + 1
        column = at.offset - self._text.rfind("\n", 0, at.offset)
        found = f"found {at.text!r}" if at.kind != "end" else "the text ends"
        raise TileTextError(f"{self._source}:{line}:{column}: {found}; allowed: {allowed}")

    def _read(self, offset: int) -> Token:
        found = _TOKEN.match(self._text, offset)
        if found is not None and found.lastgroup == "space":
            offset = found.end()
            found = _TOKEN.match(self._text, offset)
        if offset == len(self._text):
            return Token("end", "", offset)
        if found is None or found.lastgroup is None:
            return Token("other", self._text[offset], offset)
        return Token(found.lastgroup, found.group(), offset)


def _listed(texts: tuple[str, ...]) -> str:
    return ", ".join(map(repr, texts))
