"""Tables of a FlatBuffers file, read by the places of their fields; generated readers look up each field anew."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct, error
from typing import Any, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["FlatTable", "FlatTables"]

_HEADER = 4
"""Bytes of a table's fields before the first place."""
_BOOL, _INT8, _INT32, _UINT8, _UINT32 = (Struct(form) for form in ("<?", "<b", "<i", "<B", "<I"))
_KINDS = {
    "flag": _BOOL,
    "int8": _INT8,
    "int32": _INT32,
    "float32": Struct("<f"),
}
_PLACES = tuple(Struct(f"<{count}H") for count in range(64))


class FlatTable:
    """The table at a position of `content`.

    Fields are asked for by the offset of their place in the vtable: 4, 6, 8 and so on, in the order of the schema. What lies
    outside the file raises `struct.error`.
    """

    __slots__ = ("_places", "content", "position")

    def __init__(self, content: bytes, position: int) -> None:
        self.content, self.position = content, position
        start = position - _read(_INT32, content, position)
        nbytes = _read(_PLACES[1], content, start)
        if nbytes < _HEADER or nbytes % 2:
            raise error(f"a table's list of fields has {nbytes} bytes")
        count = min(nbytes // 2, len(_PLACES) - 1)  # places beyond are of fields that nobody asks for
        if start + 2 * count > len(content):
            raise error("a table ends beyond the file")
        self._places = _PLACES[count].unpack_from(content, start)

    @classmethod
    def root(cls, content: bytes) -> FlatTable:
        """The table that holds all others."""
        return cls(content, _read(_UINT32, content, 0))

    def flag(self, field: int) -> bool:
        """A field that is true or false."""
        return bool(self._number(field, _BOOL))

    def int8(self, field: int) -> int:
        """A signed number of a byte; 0 if the field is absent."""
        return self._number(field, _INT8)

    def uint8(self, field: int) -> int:
        """An unsigned number of a byte; 0 if the field is absent."""
        return self._number(field, _UINT8)

    def int32(self, field: int) -> int:
        """A signed number of four bytes; 0 if the field is absent."""
        return self._number(field, _INT32)

    def uint32(self, field: int) -> int:
        """An unsigned number of four bytes; 0 if the field is absent."""
        return self._number(field, _UINT32)

    def number(self, field: int, kind: str, default: float) -> Any:
        """A field whose type is only known by name: flag, int8, int32 or float32; `default`, of that type, if it is absent."""
        at = self._at(field)
        return _read(_KINDS[kind], self.content, at) if at else default

    def target(self, field: int) -> int | None:
        """The position that a field refers to; None if it is absent."""
        at = self._at(field)
        return at + _read(_UINT32, self.content, at) if at else None

    def table(self, field: int) -> FlatTable | None:
        """A table; None if the field is absent."""
        target = self.target(field)
        return None if target is None else FlatTable(self.content, target)

    def tables(self, field: int) -> FlatTables:
        """The tables of a list; empty if the field is absent."""
        return FlatTables(self.content, *self._vector(field))

    def count(self, field: int) -> int:
        """How long a list is."""
        return self._vector(field)[1]

    def array(self, field: int, dtype: DTypeLike) -> NDArray[Any]:
        """A list of numbers, not copied; empty if the field is absent."""
        start, count = self._vector(field)
        if start + count * np.dtype(dtype).itemsize > len(self.content):
            raise error(f"a list of {count} numbers ends beyond the file")
        return np.frombuffer(self.content, dtype, count, start)

    def numbers(self, field: int) -> tuple[int, ...]:
        """A list of signed numbers of four bytes."""
        return tuple(self.array(field, "<i4").tolist())

    def text(self, field: int) -> str:
        """A text; "" if the field is absent."""
        return bytes(self.array(field, np.uint8)).decode(errors="replace")

    def _at(self, field: int) -> int:
        index = field // 2
        offset = self._places[index] if index < len(self._places) else 0
        return self.position + offset if offset else 0

    def _number(self, field: int, form: Struct) -> int:
        at = self._at(field)
        return _read(form, self.content, at) if at else 0

    def _vector(self, field: int) -> tuple[int, int]:
        """Where the elements of a list start, and how many there are."""
        target = self.target(field)
        return (0, 0) if target is None else (target + _UINT32.size, _read(_UINT32, self.content, target))


class FlatTables(Sequence[FlatTable]):
    """Tables that are read when they are asked for, so that a list of many that are one takes no memory."""

    def __init__(self, content: bytes, start: int, count: int) -> None:
        self._content, self._start, self._count = content, start, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> FlatTable: ...
    @overload
    def __getitem__(self, index: slice) -> list[FlatTable]: ...
    def __getitem__(self, index: int | slice) -> FlatTable | list[FlatTable]:
        if isinstance(index, slice):
            return [self[at] for at in range(self._count)[index]]
        at = self._start + _UINT32.size * range(self._count)[index]
        return FlatTable(self._content, at + _read(_UINT32, self._content, at))


def _read(form: Struct, content: bytes, at: int) -> int:
    if at < 0:
        raise error("a table begins before the file")  # what Python would count from the end
    value: int = form.unpack_from(content, at)[0]
    return value
