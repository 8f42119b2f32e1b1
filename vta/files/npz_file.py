"""Arrays of users in `.npz` and `.npy` files; what a header claims is compared with what there is before memory is taken."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import UsageError, VTAError
from vta.files.user_file import open_regular, size_of
from vta.files.zip_file import check_members
from vta.support.shorten import shown

__all__ = ["read_array", "read_arrays"]

_CHUNK_BYTES = 1 << 24
"""Unpacked at once, on one thread while others run."""
_KINDS = "biufcSU"
_SUFFIX = ".npy"
_ZIP = b"PK"


def read_arrays(
    path: str | Path, names: Collection[str] | None = None, error: type[VTAError] = UsageError
) -> dict[str, NDArray[Any]]:
    """Read the arrays of an `.npz` file, of `names` alone if they are given (those that are there).

    Raises `error` naming the file if it is none, damaged, larger inside than `most_unpacked` allows, or holds Python objects.
    """
    try:
        with open_regular(path) as stream:
            if stream.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX:
                raise error(f"{path}: is a single .npy array; expected an .npz file")
            stream.seek(0)
            with zipfile.ZipFile(stream) as archive:
                check_members(archive, size_of(stream))
                return _arrays(archive, names)
    except VTAError:
        raise
    except Exception as problem:  # A damaged file raises whatever the zip and header readers trip over.
        raise error(f"{path}: cannot be read as .npz: {_cause(problem)}") from None


def read_array(path: str | Path) -> NDArray[Any]:
    """Read the array of an `.npy` file. Raises `UsageError` naming the file if it is none, damaged, or holds Python objects."""
    try:
        with open_regular(path) as stream:
            if stream.read(len(_ZIP)) == _ZIP:
                raise UsageError(f"{path}: is an .npz file; expected a single .npy array")
            stream.seek(0)
            return _array(stream, size_of(stream))
    except VTAError:
        raise
    except Exception as problem:  # As above.
        raise UsageError(f"{path}: cannot be read as .npy: {_cause(problem)}") from None


def _cause(problem: Exception) -> str:
    cause = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return cause.splitlines()[0] if cause else type(problem).__name__


def _arrays(archive: zipfile.ZipFile, names: Collection[str] | None) -> dict[str, NDArray[Any]]:
    arrays = {}
    for entry in archive.infolist():
        name = entry.filename.removesuffix(_SUFFIX)
        if names is not None and name not in names:
            continue
        if name in arrays:
            raise ValueError(f"array {shown(name)} is there twice")
        with archive.open(entry) as member:
            try:
                arrays[name] = _array(member, entry.file_size)
            except Exception as problem:  # As above: the reader of headers parses Python's syntax.
                raise ValueError(f"array {shown(name)}: {_cause(problem)}") from None
    return arrays


def _array(member: IO[bytes], nbytes: int) -> NDArray[Any]:
    if nbytes < len(np.lib.format.MAGIC_PREFIX):
        raise ValueError("no array")
    version = np.lib.format.read_magic(member)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"format version {version[0]}.{version[1]}; allowed: 1.0, 2.0")
    shape, by_columns, dtype = readers[version](member)
    if dtype.kind not in _KINDS or not dtype.itemsize:
        raise ValueError(f"holds {dtype}, no numbers or texts of a fixed size")
    if any(size < 0 for size in shape):
        raise ValueError(f"its shape is {shape}")
    wanted = math.prod(shape) * dtype.itemsize
    if wanted > nbytes:
        raise ValueError(f"its header claims {wanted} bytes ({dtype} of shape {shape}); its member has {nbytes}")
    values = np.empty(wanted, np.uint8)
    _fill(member, values)
    return values.view(dtype).reshape(shape, order="F" if by_columns else "C")


def _fill(member: IO[bytes], values: NDArray[np.uint8]) -> None:
    at = 0
    while at < len(values):
        data = member.read(min(_CHUNK_BYTES, len(values) - at))
        if not data:
            raise ValueError(f"ends after {at} of {len(values)} bytes")
        values[at : at + len(data)] = np.frombuffer(data, np.uint8)
        at += len(data)
    # The checksum is compared where the reader meets the end.
    while member.read(_CHUNK_BYTES):
        pass
