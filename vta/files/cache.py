"""What is kept from one process to the next: files that can be made again at any time."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from math import prod
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from vta.files.second_process import made
from vta.files.user_file import open_regular

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Arrays", "cache_directory", "code_digest", "file_stamp", "is_writable", "process_directory", "remembered"]

Arrays = Mapping[str, "NDArray[Any]"]

_MOST_FILES = 8192
"""Of each kind, about; the oldest make room."""
_COUNTED_EACH = 64
"""How many files are written, on average, for each time that files are counted."""
_DIGEST_BYTES = 32


def cache_directory() -> Path | None:
    """Directory of what is kept: VTA_CACHE_PATH, or ``vta`` in the user's cache directory; None for a user without a home."""
    given = os.environ.get("VTA_CACHE_PATH")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "vta"
    try:
        return Path.home() / ".cache" / "vta"
    except RuntimeError:
        return None


def is_writable(directory: Path) -> bool:
    """Whether files can be made in `directory`, which is made if it is not there."""
    with suppress(OSError):
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    return False


@cache
def process_directory(kind: str) -> Path:
    """A directory that goes with this process, for what cannot be kept anywhere; always the same for one `kind`."""
    _OWN.append(tempfile.TemporaryDirectory(prefix=f"vta-{kind}-"))
    return Path(_OWN[-1].name)


_OWN: list[tempfile.TemporaryDirectory[str]] = []
"""Those that are removed at the end."""


def remembered(kind: str, key: bytes, make: Callable[[], Arrays]) -> Arrays:
    """Return what `make` gives for `key`, from a file of an earlier call where there is one.

    `key` must hold everything that the arrays follow from, the code among it. A file that is damaged, or was written for
    another key, is made again; where none can be written, nothing is kept. While a `SecondProcess` is open, that may make them.
    """
    base = cache_directory()
    if base is None:
        return make()
    directory, digest = base / kind, hashlib.sha256(key)
    path = directory / f"{digest.hexdigest()}.kept"
    arrays = _read(path, key)
    if arrays is not None:
        return arrays

    def make_and_keep() -> bytes:
        nonlocal arrays
        arrays = make()
        content = _packed(arrays)
        try:
            _write(directory, path, key, content)
        except OSError as error:
            logging.getLogger(__name__).debug("%s is not kept: %s", path, error)
        return content

    content = made(digest.digest(), make_and_keep)
    return _unpacked(content) if arrays is None else arrays


@cache
def code_digest(*files: Path) -> bytes:
    """What tells versions of the code in `files` apart, to be a part of a key."""
    return b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)


@cache
def file_stamp(path: Path) -> bytes:
    """What tells builds of a large file apart, to be a part of a key, without reading it."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}".encode()


def _read(path: Path, key: bytes) -> Arrays | None:
    """What is kept for `key`, if that can be read and is what was written."""
    try:
        with open_regular(path) as stream:
            content = stream.read()
    except OSError:
        return None
    if _digest(key, content[_DIGEST_BYTES:]) == content[:_DIGEST_BYTES]:
        return _unpacked(content[_DIGEST_BYTES:])
    logging.getLogger(__name__).warning("%s is damaged; it is made again", path)
    return None


def _digest(key: bytes, content: bytes) -> bytes:
    """What a file that is copied over another does not have."""
    return hashlib.sha256(hashlib.sha256(key).digest() + content).digest()


def _write(directory: Path, path: Path, key: bytes, content: bytes) -> None:
    if int(path.stem[:8], 16) % _COUNTED_EACH == 0:
        directory.mkdir(parents=True, exist_ok=True)
        # Another process may take a file away meanwhile: the folder is closed then, too.
        with os.scandir(directory) as entries:
            files = sorted((entry.stat().st_mtime, entry.path) for entry in entries)
        for _, old in files[: max(0, len(files) + 1 - _MOST_FILES)]:
            Path(old).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        if not S_ISREG(os.stat(path).st_mode):
            return
    _replace(path, _digest(key, content) + content)


def _replace(path: Path, content: bytes) -> None:
    """Write a file that appears whole. Nobody waits for the disk: what does not get there is made again."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.urandom(6).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        descriptor = os.open(temporary, flags, 0o666)
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        descriptor = os.open(temporary, flags, 0o666)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(content)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _packed(arrays: Arrays) -> bytes:
    """A line of JSON with names, types and shapes, then the values of all arrays: read in a tenth of the time of an .npz file."""
    header = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    return json.dumps(header).encode() + b"\n" + b"".join(array.tobytes() for array in arrays.values())


def _unpacked(content: bytes) -> Arrays:
    line, _, values = content.partition(b"\n")
    listed = json.loads(line)
    if not listed:
        return {}
    import numpy as np  # which commands import in their own way, after they look for something here

    arrays, at = {}, 0
    for name, dtype, shape in listed:
        count = prod(shape)
        nbytes = count * np.dtype(dtype).itemsize
        array = np.frombuffer(values, dtype, count, at) if nbytes else np.zeros(count, dtype)
        arrays[name] = array.reshape(shape)
        at += nbytes
    return arrays
