"""Which host libraries this user's own compilations made: those of other people's files are code of strangers."""

from __future__ import annotations

import hashlib

from vta.files.cache import Arrays, remembered
from vta.runtime.artifact.host_plan import HostLibrary

__all__ = ["is_trusted", "trust"]

_KIND = "host-libraries"


def trust(library: HostLibrary) -> None:
    """Keep in mind, in the user's cache, that a library was made here."""
    remembered(_KIND, _key(library), dict)


def is_trusted(library: HostLibrary) -> bool:
    """Whether a library was made here, or holds no code."""
    try:
        if library.code:
            remembered(_KIND, _key(library), _stranger)
    except _StrangerError:
        return False
    return True


def _key(library: HostLibrary) -> bytes:
    return hashlib.sha256(library.code).digest() + repr(library.plan).encode()


class _StrangerError(Exception):
    """Nothing is known of a library."""


def _stranger() -> Arrays:
    raise _StrangerError
