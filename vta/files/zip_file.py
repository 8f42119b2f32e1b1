"""Zip archives that users give: whether they are what they claim is asked of the list of members, before any is read."""

from __future__ import annotations

import zipfile
from collections.abc import Collection

from vta.support.shorten import shown

__all__ = ["check_members", "most_unpacked"]

_HEADER_BYTES = 30
_LEAST_LIMIT = 256 << 20
_GROWTH = 16

_METHODS = {zipfile.ZIP_STORED: "stored", zipfile.ZIP_DEFLATED: "deflated"}


def most_unpacked(nbytes: int) -> int:
    """How many bytes an archive of `nbytes` may hold: 16 times as many, or 256 MiB."""
    return max(_LEAST_LIMIT, _GROWTH * nbytes)


def check_members(
    archive: zipfile.ZipFile, nbytes: int, methods: Collection[int] = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
) -> None:
    """Raise `zipfile.BadZipFile` naming what an archive of `nbytes` claims and cannot hold, or may not.

    Members lie one after the other; they are packed by one of `methods`, are as large as they say where they are not packed, and
    hold together no more than `most_unpacked`.
    """
    end, unpacked, last = 0, 0, ""
    names: set[str] = set()
    for entry in sorted(archive.infolist(), key=lambda member: member.header_offset):
        name = f"member {shown(entry.filename)}"
        if entry.filename in names:
            raise zipfile.BadZipFile(f"{name} occurs twice")
        names.add(entry.filename)
        if entry.flag_bits & 1:
            raise zipfile.BadZipFile(f"{name} is encrypted")
        if entry.compress_type not in methods:
            allowed = " or ".join(_METHODS[method] for method in methods)
            raise zipfile.BadZipFile(f"{name} is compressed by method {entry.compress_type}; allowed: {allowed}")
        if entry.compress_type == zipfile.ZIP_STORED and entry.file_size != entry.compress_size:
            raise zipfile.BadZipFile(f"{name} claims {entry.file_size} bytes; {entry.compress_size} are stored")
        if entry.header_offset < end:
            raise zipfile.BadZipFile(f"{name} at byte {entry.header_offset} lies inside {last}, which ends at byte {end}")
        end, last = entry.header_offset + _HEADER_BYTES + entry.compress_size, name
        if end > nbytes:
            raise zipfile.BadZipFile(f"{name} would end at byte {end}; the file has {nbytes}")
        unpacked += entry.file_size
    if unpacked > most_unpacked(nbytes):
        raise zipfile.BadZipFile(
            f"its members claim {unpacked} bytes, from a file of {nbytes}; the limit is {most_unpacked(nbytes)} bytes"
        )
