"""Names of layers, short enough to stand beside a figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

__all__ = ["short_names"]

_SEPARATORS = ("/.:;", "_")
"""The first ones divide names; the others count where no name has one of these."""
_LONGEST = 30
_MOST_OF_THEM = 0.6


def short_names(names: Sequence[str], longest: int = _LONGEST) -> dict[str, str]:
    """Each name without the beginning that most share, cut in the middle where it is long; different names stay different."""
    distinct = list(dict.fromkeys(names))
    shared = _shared(distinct)
    short: dict[str, str] = {}
    taken: set[str] = set()
    for name in distinct:
        bare = _cut(name.removeprefix(shared) or name, longest)
        text, number = bare, 2
        while text in taken:
            text, number = f"{bare} ({number})", number + 1
        taken.add(text)
        short[name] = text
    return short


def _shared(names: Sequence[str]) -> str:
    """The longest beginning, up to a separator, that most of the names have."""
    if len(names) < 2:
        return ""
    divide = next((letters for letters in _SEPARATORS if any(set(letters) & set(name) for name in names)), "")
    counts = Counter(name[: place + 1] for name in names for place, letter in enumerate(name) if letter in divide)
    return max((start for start, count in counts.items() if count >= _MOST_OF_THEM * len(names)), key=len, default="")


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[:half]}…{text[-half:]}"
