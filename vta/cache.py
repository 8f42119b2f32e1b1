"""What is kept from one process to the next: files that can be made again at any time."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
from collections.abc import Callable, Mapping
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.whole_file import write_whole

__all__ = ["Arrays", "cache_directory", "code_digest", "remembered"]

Arrays = Mapping[str, NDArray[Any]]

_LOG = logging.getLogger(__name__)

_MOST_FILES = 8192
"""Of each kind, about; the oldest make room."""
_COUNTED_EACH = 64
"""How many files are written, on average, for each time that files are counted."""
_DIGEST_BYTES = 32


def cache_directory() -> Path:
    """Directory of what is kept: VTA_CACHE_PATH, or ``vta`` in the user's cache directory."""
    given = os.environ.get("VTA_CACHE_PATH")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vta"


def remembered(kind: str, key: bytes, make: Callable[[], Arrays]) -> Arrays:
    """Return what `make` gives for `key`, from a file of an earlier call where there is one.

    `key` must hold everything that the arrays follow from, the code among it. A file that is damaged is made again; where none
    can be written, nothing is kept.
    """
    directory = cache_directory() / kind
    path = directory / f"{hashlib.sha256(key).hexdigest()}.arrays"
    try:
        content = path.read_bytes()
        if hashlib.sha256(content[_DIGEST_BYTES:]).digest() == content[:_DIGEST_BYTES]:
            return _unpacked(content[_DIGEST_BYTES:])
        _LOG.warning("%s is damaged; it is made again", path)
    except OSError:
        pass
    arrays = make()
    try:
        _write(directory, path, arrays)
    except OSError as error:
        _LOG.debug("%s is not kept: %s", path, error)
    return arrays


@cache
def code_digest(*files: Path) -> bytes:
    """What tells versions of the code in `files` apart, to be a part of a key."""
    return b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)


def _write(directory: Path, path: Path, arrays: Arrays) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    if random.randrange(_COUNTED_EACH) == 0:
        files = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(directory))
        for _, old in files[: max(0, len(files) + 1 - _MOST_FILES)]:
            Path(old).unlink(missing_ok=True)
    content = _packed(arrays)
    write_whole(path, hashlib.sha256(content).digest() + content)


def _packed(arrays: Arrays) -> bytes:
    """A line of JSON with names, types and shapes, then the values of all arrays: read in a tenth of the time of an .npz file."""
    header = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    return json.dumps(header).encode() + b"\n" + b"".join(array.tobytes() for array in arrays.values())


def _unpacked(content: bytes) -> Arrays:
    line, _, values = content.partition(b"\n")
    arrays, at = {}, 0
    for name, dtype, shape in json.loads(line):
        count = prod(shape)
        nbytes = count * np.dtype(dtype).itemsize
        array = np.frombuffer(values, dtype, count, at) if nbytes else np.zeros(count, dtype)
        arrays[name] = array.reshape(shape)
        at += nbytes
    return arrays
