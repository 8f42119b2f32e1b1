"""Arrays by any names in an `.npz` file."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Collection, Mapping
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["write_npz"]

_SUFFIX = ".npy"
_MOST_BYTES = 1000
"""Of a name. A zip file holds 65,535, but few programs expect them."""
_DIGITS = 12


def write_npz(file: Path | IO[bytes], arrays: Mapping[str, NDArray[Any]], compressed: bool = False) -> None:
    """Write arrays as `numpy.savez` does, whatever they are called: there a name must not be one of its own parameters.

    What a zip file cannot hold in a name is escaped, a NUL as ``%00``; a very long name is cut, with a digest of it behind; what
    `numpy.load` would take for the name of another array is numbered.
    """
    kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    names: dict[str, None] = {}
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, array in arrays.items():
            held = _free(_holdable(name), names)
            names[held] = None
            with archive.open(held + _SUFFIX, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def _holdable(name: str) -> str:
    data = name.replace("\0", "%00").encode("utf-8", "backslashreplace")
    if len(data) > _MOST_BYTES:
        data = data[:_MOST_BYTES] + b"~" + hashlib.sha256(data).hexdigest()[:_DIGITS].encode()
    return data.decode("utf-8", "ignore")


def _free(name: str, taken: Collection[str]) -> str:
    """The name, or the first of it with a number that is no other's, with or without the suffix of a member."""
    tries = (f"{name}:{number}" if number else name for number in count())
    return next(found for found in tries if {found, found + _SUFFIX, found.removesuffix(_SUFFIX)}.isdisjoint(taken))
