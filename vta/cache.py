"""What is kept from one process to the next: files that can be made again at any time."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Arrays", "cache_directory", "remembered"]

Arrays = Mapping[str, NDArray[Any]]

_LOG = logging.getLogger(__name__)

_MOST_FILES = 8192
"""Of each kind; the oldest make room."""
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
    path = directory / f"{hashlib.sha256(key).hexdigest()}.npz"
    try:
        content = path.read_bytes()
        if hashlib.sha256(content[_DIGEST_BYTES:]).digest() == content[:_DIGEST_BYTES]:
            with np.load(io.BytesIO(content[_DIGEST_BYTES:]), allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
        _LOG.warning("%s is damaged; it is made again", path)
    except OSError:
        pass
    arrays = make()
    try:
        _write(directory, path, arrays)
    except OSError as error:
        _LOG.debug("%s is not kept: %s", path, error)
    return arrays


def _write(directory: Path, path: Path, arrays: Arrays) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    others = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(directory)]
    for _, old in sorted(others)[: max(0, len(others) + 1 - _MOST_FILES)]:
        Path(old).unlink(missing_ok=True)
    buffer = io.BytesIO()
    values: dict[str, Any] = dict(arrays)
    np.savez(buffer, **values)
    with tempfile.NamedTemporaryFile(dir=directory, delete=False) as file:
        file.write(hashlib.sha256(buffer.getvalue()).digest() + buffer.getvalue())
    os.replace(file.name, path)
