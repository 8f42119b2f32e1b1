"""One file of named, checksummed members: the outer layer of a `.vta` file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import BinaryIO

from vta.errors import ArtifactError, WriteError
from vta.files.atomic_file import whole_file
from vta.files.stored_zip import write_stored
from vta.files.user_file import open_regular, size_of
from vta.support.shorten import shown

__all__ = ["Content", "read_container", "write_container"]

Content = bytes | memoryview
"""Of a member; a view is of bytes."""

_DIGESTS = "sha256"
_DIGEST_DIGITS = 64


def write_container(path: str | Path, members: Mapping[str, Content]) -> None:
    """Write `members` to `path`; the same members give the same bytes, and a reader never sees a partial file.

    Raises `ArtifactError` if the file cannot be written.
    """
    try:
        with whole_file(path, "the compiled network") as beside, open(beside, "wb") as stream:
            lines, finding = _digest_lines(members)
            # Members are stored as they are: loading stays fast, and no compressor's version shows in the bytes.
            write_stored(stream, {_DIGESTS: lines, **members}, finding)
    except WriteError as error:
        raise ArtifactError(str(error)) from None


def read_container(path: str | Path) -> dict[str, bytes]:
    """Read the members of `path` and check each against its checksum.

    Raises `ArtifactError` naming the file, and the member if one is damaged, missing or unexpected.
    """
    try:
        with open_regular(path) as stream:
            members = _read_zip(stream, str(path))
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read: {error.strerror or error}") from None
    _check_digests(members, str(path))
    del members[_DIGESTS]
    return members


def _read_zip(stream: BinaryIO, source: str) -> dict[str, bytes]:
    import zipfile  # which takes as long to import as some layers to compile, and to write needs none of it

    from vta.files.zip_file import check_members

    members: dict[str, bytes] = {}
    name = ""
    try:
        with zipfile.ZipFile(stream) as archive:
            check_members(archive, size_of(stream), (zipfile.ZIP_STORED,))
            for entry in archive.infolist():
                name = entry.filename
                members[name] = archive.read(entry)
    except (ArtifactError, OSError):
        raise
    except Exception as error:  # A damaged zip file raises whatever its reader trips over.
        where = f"member {shown(name)} is damaged" if name else "not a .vta file, or damaged"
        raise ArtifactError(f"{source}: {where}: {str(error) or type(error).__name__}") from None
    return members


def _digest_lines(members: Mapping[str, Content]) -> tuple[bytearray, list[Callable[[], None]]]:
    """Lines of a checksum and a name, and what is to be called to fill in the checksums."""
    lines, finding = bytearray(), list[Callable[[], None]]()

    def find(at: int, data: Content) -> None:
        lines[at : at + _DIGEST_DIGITS] = hashlib.sha256(data).hexdigest().encode()

    for name, data in members.items():
        finding.append(partial(find, len(lines), data))
        lines += f"{'0' * _DIGEST_DIGITS}  {name}\n".encode()
    return lines, finding


def _check_digests(members: Mapping[str, bytes], source: str) -> None:
    try:
        lines = members[_DIGESTS].decode().splitlines()
        expected = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    except (KeyError, ValueError):
        raise ArtifactError(f"{source}: not a .vta file, or damaged: its list of checksums is missing or unreadable") from None
    for name in sorted(members.keys() - expected.keys() - {_DIGESTS}):
        raise ArtifactError(f"{source}: member {name!r} has no checksum")
    for name, digest in expected.items():
        if name not in members:
            raise ArtifactError(f"{source}: member {name!r} is missing")
        if hashlib.sha256(members[name]).hexdigest() != digest:
            raise ArtifactError(f"{source}: member {name!r} is damaged: its checksum does not match")
