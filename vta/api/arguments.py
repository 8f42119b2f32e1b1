"""Arguments of the package's functions that are of another kind than they have to be."""

from __future__ import annotations

from vta.errors import UsageError
from vta.support.shorten import shown

__all__ = ["check_kind"]


def check_kind(name: str, value: object, kinds: tuple[type, ...], expected: str) -> None:
    """Raise `UsageError` naming an argument, its value and what is `expected`, unless the value is of one of `kinds`, or None."""
    if value is not None and not isinstance(value, kinds):
        raise UsageError(f"{name} = {shown(value)}: expected {expected}", parameters=(name,))
