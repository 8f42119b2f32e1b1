"""What a user's text may hold once it is read: values of a size that all later code can work with and print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vta.errors import VTAError
from vta.support.shorten import printable, shown

__all__ = ["check_plain", "without_duplicates"]

_INTEGER_BITS = 512


def check_plain(value: Any, source: str, error: type[VTAError]) -> None:
    """Raise `error`, with `source`, if integers of `value` need more than 512 bits or texts are no Unicode text."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            pending += item.keys()
            pending += item.values()
        elif isinstance(item, (list, tuple)):
            pending += item
        elif isinstance(item, int):
            if item.bit_length() > _INTEGER_BITS:
                raise error(f"{source}: holds an integer of {item.bit_length()} bits; allowed: up to {_INTEGER_BITS}")
        elif isinstance(item, str) and not item.isascii():
            _check_text(item, source, error)


def _check_text(text: str, source: str, error: type[VTAError]) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise error(f"{source}: holds a text with half a character, {text[problem.start]!a}") from None


def without_duplicates(
    pairs: Iterable[tuple[Any, Any]], source: str, error: type[VTAError], tell: Callable[[Any], str] = shown
) -> dict[Any, Any]:
    """A dictionary of `pairs`. Raises `error`, with `source`, naming a key that is there twice and its values, as `tell` does."""
    values: dict[Any, Any] = {}
    for key, value in pairs:
        if key in values:
            raise error(f"{source}: key {printable(str(key), 80)} is given twice: {tell(values[key])} and {tell(value)}")
        values[key] = value
    return values
