"""Names of layers, short enough to stand beside a figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

__all__ = ["short_names"]

_SEPARATORS = ("/.:;", "/.:;_-")
"""Letters that divide names; the first ones do where that is enough to tell names apart."""
_LONGEST = 30
_MOST_OF_THEM = 0.6


def short_names(names: Sequence[str], longest: int = _LONGEST) -> dict[str, str]:
    """Each name without the beginning that most share, cut in the middle where it is long; different names stay different."""
    distinct = list(dict.fromkeys(names))
    divides = [letters for letters in _SEPARATORS if any(set(letters) & set(name) for name in distinct)] or [""]
    tried = [[_bare(name, _shared(distinct, divide), longest) for name in distinct] for divide in divides]
    best = max(tried, key=lambda short: len(set(short)))
    return dict(zip(distinct, _numbered(best), strict=True))


def _shared(names: Sequence[str], divide: str) -> str:
    """The longest beginning, up to a letter of `divide`, that most of the names have."""
    if len(names) < 2:
        return ""
    counts = Counter(name[: place + 1] for name in names for place, letter in enumerate(name) if letter in divide)
    return max((start for start, count in counts.items() if count >= _MOST_OF_THEM * len(names)), key=len, default="")


def _bare(name: str, shared: str, longest: int) -> str:
    text = name.removeprefix(shared) or name
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def _numbered(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that are not the first of their kind."""
    taken: set[str] = set()
    found = []
    for name in names:
        text, number = name, 2
        while text in taken:
            text, number = f"{name} ({number})", number + 1
        taken.add(text)
        found.append(text)
    return found
