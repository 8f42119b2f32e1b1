"""Zip files of members that are stored as they are, written without `zipfile`: that takes fifty times as long for small members.

The layout is that of APPNOTE.TXT (PKWARE, 6.3.10), sections 4.3.7, 4.3.12 and 4.3.16, filled in as `zipfile` does.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import IO

from vta.support.on_cores import on_cores

__all__ = ["write_stored"]

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s4B4H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_VERSION = 20
_UNIX = 3
_FIRST_DAY = 1 << 5 | 1
"""1 January 1980, the first day that there is."""
_OWNER_MAY = 0o600 << 16
_LARGE = 1 << 20
"""Bytes of a member that take longer to write, and to sum, than another thread to begin."""
_MOST_BYTES = 1 << 30
_MOST_MEMBERS = (1 << 16) - 1


def write_stored(
    stream: IO[bytes], members: Mapping[str, bytes | bytearray | memoryview], meanwhile: Sequence[Callable[[], object]] = ()
) -> None:
    """Write `members` to `stream`, at its start; views are of bytes. The same members give the same bytes.

    `meanwhile` is called on other cores while large members are written, and may fill those that are bytearrays.
    """
    names = [name.encode() for name in members]
    plain = all(name.isascii() and 0 < len(name) <= _MOST_MEMBERS and "\0" not in name for name in members)
    size = sum(map(len, members.values())) + sum(map(len, names))
    if not plain or len(names) > _MOST_MEMBERS or size > _MOST_BYTES:
        on_cores(_call, meanwhile)
        _write_by_library(stream, members)
        return
    large = _written_large(stream, members, meanwhile)
    at, listed = 0, bytearray()
    for name, (key, data) in zip(names, members.items(), strict=True):
        size = len(data)
        sums = large[key] if key in large else zlib.crc32(data), size, size
        stream.write(_LOCAL.pack(b"PK\3\4", _VERSION, 0, 0, 0, _FIRST_DAY, *sums, len(name), 0) + name)
        if key in large:
            stream.seek(size, os.SEEK_CUR)
        else:
            stream.write(data)
        listed += _CENTRAL.pack(
            b"PK\1\2", _VERSION, _UNIX, _VERSION, 0, 0, 0, 0, _FIRST_DAY, *sums, len(name), 0, 0, 0, 0, _OWNER_MAY, at
        )
        listed += name
        at += _LOCAL.size + len(name) + size
    stream.write(listed)
    stream.write(_END.pack(b"PK\5\6", 0, 0, len(names), len(names), len(listed), at, 0))


def _written_large(
    stream: IO[bytes], members: Mapping[str, bytes | bytearray | memoryview], meanwhile: Sequence[Callable[[], object]]
) -> dict[str, int]:
    """Write large members to where they belong, if the stream has places, sum them and call `meanwhile`; returns the sums."""
    at, places = 0, {}
    for name, data in members.items():
        at += _LOCAL.size + len(name)
        if len(data) >= _LARGE and not isinstance(data, bytearray) and stream.seekable():
            places[name] = at
        at += len(data)
    sums: dict[str, int] = {}

    def write() -> None:
        for name, place in places.items():
            stream.seek(place)
            stream.write(members[name])

    def find(name: str) -> None:
        sums[name] = zlib.crc32(members[name])

    # Writing takes about as long as all sums together.
    work: list[Callable[[], object]] = [*([write] if places else []), *meanwhile, *(partial(find, name) for name in places)]
    on_cores(_call, work)
    if places:
        stream.seek(0)
    return sums


def _call(work: Callable[[], object]) -> None:
    work()


def _write_by_library(stream: IO[bytes], members: Mapping[str, bytes | bytearray | memoryview]) -> None:
    """The same, for what takes more than the plain layout: gigabytes, or names that are not ASCII."""
    import zipfile

    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
