"""What a reader says of something that may or may not be good."""

from __future__ import annotations

from collections.abc import Callable

from vta.errors import VTAError

__all__ = ["refusal"]


def refusal(read: Callable[[], object], kind: type[VTAError]) -> str:
    """The words of the `kind` of error that `read` raises; empty if it raises none."""
    try:
        read()
    except kind as error:
        return str(error)
    return ""
