"""The `.params` file of MXNet: named arrays, little endian."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._files import read_bytes

__all__ = ["decode_params", "encode_params", "read_params"]

_LIST_MAGIC = 0x112
_RECORD_V1 = 0xF993FAC8
_RECORD_V2 = 0xF993FAC9
_RECORD_V3 = 0xF993FACA
_MAX_RANK = 32
_DENSE = 0
_CPU = 1
_DTYPES = ("<f4", "<f8", "<f2", "u1", "<i4", "i1", "<i8", "?")


class _Cursor:
    """A position in the bytes of a file; every read is checked against the end."""

    def __init__(self, content: bytes, path: object) -> None:
        self._content = content
        self._path = path
        self._offset = 0

    def error(self, message: str) -> ImportModelError:
        return ImportModelError(f"{self._path}: {message} (at byte {self._offset})")

    def take(self, count: int, what: str) -> memoryview:
        left = len(self._content) - self._offset
        if count > left:
            raise self.error(f"the file is truncated or damaged: {what} needs {count} bytes, {left} are left")
        start, self._offset = self._offset, self._offset + count
        return memoryview(self._content)[start : self._offset]

    def numbers(self, layout: str, what: str) -> tuple[int, ...]:
        return struct.unpack(f"<{layout}", self.take(struct.calcsize(f"<{layout}"), what))

    def number(self, layout: str, what: str) -> int:
        return self.numbers(layout, what)[0]


def read_params(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a `.params` file by name, without the ``arg:`` or ``aux:`` prefix.

    Raises `ImportModelError` naming the file, the cause and the byte if it cannot be read.
    """
    return decode_params(read_bytes(path), path)


def decode_params(content: bytes, path: object = "params") -> dict[str, NDArray[Any]]:
    """Decode the bytes of a `.params` file; `path` is only for messages."""
    cursor = _Cursor(content, path)
    if cursor.number("Q", "the file header") != _LIST_MAGIC:
        raise ImportModelError(f"{path}: not an MXNet .params file (it does not start with 0x112)")
    cursor.take(8, "the file header")
    arrays = [_record(cursor) for _ in range(cursor.number("Q", "the number of arrays"))]
    count = cursor.number("Q", "the number of names")
    if count != len(arrays):
        raise cursor.error(f"{len(arrays)} arrays but {count} names")
    return dict(zip((_name(cursor) for _ in range(count)), arrays, strict=True))


def _name(cursor: _Cursor) -> str:
    raw = bytes(cursor.take(cursor.number("Q", "the length of a name"), "a name"))
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        raise cursor.error("a name is not UTF-8 text") from None
    prefix, separator, rest = name.partition(":")
    return rest if separator and prefix in ("arg", "aux") else name


def _record(cursor: _Cursor) -> NDArray[Any]:
    magic = cursor.number("I", "the header of an array")
    if magic in (_RECORD_V2, _RECORD_V3) and (storage := cursor.number("i", "the storage type")) != _DENSE:
        raise cursor.error(f"an array has storage type {storage}; only dense arrays (0) can be imported")
    if magic in (_RECORD_V1, _RECORD_V2, _RECORD_V3):
        shape = _shape(cursor, cursor.number("i", "the rank of an array"), "q")
    else:
        shape = _shape(cursor, magic, "I")
    if not shape and magic != _RECORD_V3:
        return np.zeros(0, np.float32)
    cursor.numbers("ii", "the device of an array")
    code = cursor.number("i", "the data type of an array")
    if not 0 <= code < len(_DTYPES):
        raise cursor.error(f"an array has data type {code}; known are 0 to {len(_DTYPES) - 1}")
    dtype = np.dtype(_DTYPES[code])
    raw = cursor.take(math.prod(shape) * dtype.itemsize, f"an array of shape {shape}")
    try:
        return np.frombuffer(raw, dtype).reshape(shape)
    except ValueError:
        raise cursor.error(f"an array has shape {shape}") from None


def _shape(cursor: _Cursor, rank: int, layout: str) -> tuple[int, ...]:
    if not 0 <= rank <= _MAX_RANK:
        raise cursor.error(f"an array has rank {rank}; allowed are 0 to {_MAX_RANK}")
    shape = cursor.numbers(f"{rank}{layout}", "a shape")
    if any(dim < 0 for dim in shape):
        raise cursor.error(f"an array has shape {shape}")
    return shape


def encode_params(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a `.params` file (V2 records) with `arrays`, whose names carry ``arg:`` or ``aux:``."""
    parts = [struct.pack("<QQQ", _LIST_MAGIC, 0, len(arrays))]
    for name, array in arrays.items():
        codes = [code for code, dtype in enumerate(_DTYPES) if np.dtype(dtype) == array.dtype]
        if not codes or not array.shape:
            raise ImportModelError(f"{name}: a .params file cannot hold {array.dtype} of shape {array.shape}")
        head = struct.pack(f"<Iii{array.ndim}q", _RECORD_V2, _DENSE, array.ndim, *array.shape)
        parts += [head, struct.pack("<iii", _CPU, 0, codes[0]), array.astype(_DTYPES[codes[0]]).tobytes()]
    parts.append(struct.pack("<Q", len(arrays)))
    for name in arrays:
        raw = name.encode()
        parts += [struct.pack("<Q", len(raw)), raw]
    return b"".join(parts)
