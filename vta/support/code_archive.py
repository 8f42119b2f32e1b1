"""Compiled code of many modules in one file, for commands: to look for each module and its own file takes a tenth of their time.

What is here says nothing that the files of the modules do not: an entry counts while its source file has the size and the time
that it had, and lies where the package above it says that its modules are. The archive is a file beside the compiled files of
the package; where that cannot be written, or Python is told to write none, there is none.

The file: what it is, its length, the checksum and the length of the index, the index, then the code of each module, both by
`marshal`.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
import zlib
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from mmap import ACCESS_READ, mmap
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import MetaPathFinder
else:
    MetaPathFinder = object  # the module that has it imports `tempfile`

__all__ = ["CodeArchive", "archive_path"]

_FORMAT = b"vta-code-1\n"
"""At the start; another one where entries or their order are others."""
_NUMBER = 8
"""Bytes of each of the three numbers that follow."""
_HEAD_BYTES = len(_FORMAT) + 3 * _NUMBER
_MOST_BYTES = 1 << 26
_UNREADABLE = (OSError, ValueError, EOFError, TypeError, KeyError, AttributeError)
"""What a module or a file raises that is not as it would have to be; it is left alone then."""
_Entry = tuple[str, str, int, int, bool, int, int, int]
"""The folder that is searched for the module, its source file, the time and the size of that, whether it is a package; and the
checksum, place and length of its code."""


def archive_path() -> str | None:
    """The archive of this package and this Python; None if there is to be none."""
    tag = sys.implementation.cache_tag
    if tag is None or sys.dont_write_bytecode or sys.flags.optimize or sys.pycache_prefix is not None:
        return None
    return os.path.join(os.path.dirname(os.path.dirname(__file__)), "__pycache__", f"archive.{tag}")


class _Loader(SourceFileLoader):
    """Loads a module whose code is known; all else is as for its source file."""

    def __init__(self, name: str, path: str, code: memoryview) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType | None:
        return marshal.loads(self._code) if fullname == self.name else super().get_code(fullname)


class CodeArchive(MetaPathFinder):
    """Finds modules of packages in an archive, and knows which were found elsewhere."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._entries: dict[str, _Entry] = {}
        self._content = memoryview(b"")
        with contextlib.suppress(*_UNREADABLE):
            self._read()

    def install(self) -> None:
        """Look here first from now on."""
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module, if there is an entry that counts."""
        entry = self._entries.get(name)
        if entry is None or path is None:
            return None
        folder, origin, time, size, is_package, checksum, at, length = entry
        code = self._content[at : at + length]
        try:
            (searched,) = path
            status = os.stat(origin)
        except (OSError, ValueError):
            return None
        if searched != folder or (status.st_mtime_ns, status.st_size) != (time, size):
            return None
        if zlib.adler32(code) != checksum:
            del self._entries[name]  # it is damaged; the next archive has it again
            return None
        loader = _Loader(name, origin, code)
        spec = ModuleSpec(name, loader, origin=origin, is_package=is_package)
        spec.has_location = True
        holder, file = os.path.split(origin)
        # Where there is an archive compiled files are at their usual place: Python would look up for each where that is.
        spec.cached = os.path.join(holder, "__pycache__", f"{file.removesuffix('.py')}.{sys.implementation.cache_tag}.pyc")
        if is_package:
            spec.submodule_search_locations = [holder]
        return spec

    def save(self) -> None:
        """Write an archive of what is in this one and of all modules that came from elsewhere, if there are any.

        Readers see the old file or the new one. Nothing is said where it cannot be written.
        """
        code: dict[str, tuple[_Entry, bytes | memoryview]] = {}
        packages: set[str] = set()
        for name, module in list(sys.modules.items()):
            spec: Any = getattr(module, "__spec__", None)
            if type(getattr(spec, "loader", None)) is SourceFileLoader and "." in name and spec.name == name:
                with contextlib.suppress(*_UNREADABLE):
                    if not self._has(name, spec.origin):  # some were imported before the archive was
                        packages.add(name.partition(".")[0])
                        code[name] = _entry(name, spec)
        for name in packages:
            _check_package(name)
        if not code:
            return
        for name, entry in self._entries.items():
            *_, at, length = entry
            code.setdefault(name, (entry, self._content[at : at + length]))
        with contextlib.suppress(OSError, ValueError):
            _write(self._path, code)

    def _has(self, name: str, origin: str) -> bool:
        entry, status = self._entries.get(name), os.stat(origin)
        return entry is not None and entry[1:4] == (origin, status.st_mtime_ns, status.st_size)

    def _read(self) -> None:
        # Mapped, not read: a command needs half of it, and memory that is used for the first time takes longer than a read does.
        # A later archive is another file, so that this one stays as it is.
        with open(self._path, "rb") as stream:
            content = mmap(stream.fileno(), 0, access=ACCESS_READ)
        if content[: len(_FORMAT)] != _FORMAT:
            return
        numbers = range(len(_FORMAT), _HEAD_BYTES, _NUMBER)
        total, checksum, length = (int.from_bytes(content[at : at + _NUMBER], "little") for at in numbers)
        index = content[_HEAD_BYTES : _HEAD_BYTES + length]
        if total == len(content) and zlib.crc32(index) == checksum:
            self._entries, self._content = marshal.loads(index), memoryview(content)[_HEAD_BYTES + length :]


def _entry(name: str, spec: Any) -> tuple[_Entry, bytes]:
    """The entry of a module, without its place, and its code. Raises what reading its files does."""
    parent = sys.modules[name.rpartition(".")[0]]
    (folder,) = parent.__path__
    status = os.stat(spec.origin)
    with open(spec.cached, "rb") as stream:
        header, code = stream.read(16), stream.read()
    written = int.from_bytes(header[8:12], "little"), int.from_bytes(header[12:16], "little")
    if header[4:8] != bytes(4) or written != (int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF):
        raise ValueError(f"{spec.cached} is not that of {spec.origin}")
    _check(spec.cached, code)
    is_package = spec.submodule_search_locations is not None
    return (folder, spec.origin, status.st_mtime_ns, status.st_size, is_package, zlib.adler32(code), 0, len(code)), code


def _check(path: str, code: bytes) -> None:
    """Remove a compiled file that is cut off, and raise: Python does not notice that a full disk does that to what it writes, and
    would fail to import the module from then on."""
    try:
        marshal.loads(code)
    except (EOFError, ValueError, TypeError):
        os.unlink(path)
        raise


def _check_package(name: str) -> None:
    with contextlib.suppress(*_UNREADABLE):
        spec: Any = sys.modules[name].__spec__
        with open(spec.cached, "rb") as stream:
            _check(spec.cached, stream.read()[16:])


def _write(path: str, code: dict[str, tuple[_Entry, bytes | memoryview]]) -> None:
    entries: dict[str, _Entry] = {}
    at = 0
    for name, ((*about, _, _), content) in code.items():
        entries[name] = (*about, at, len(content))  # type: ignore[assignment]
        at += len(content)
    if at > _MOST_BYTES:
        code, entries = {}, {}  # of packages that come and go; begin again
    index = marshal.dumps(entries)
    parts = [index, *(content for _, content in code.values())]
    total = _HEAD_BYTES + sum(map(len, parts))
    head = _FORMAT + b"".join(number.to_bytes(_NUMBER, "little") for number in (total, zlib.crc32(index), len(index)))
    temporary = f"{path}.{os.urandom(6).hex()}"
    try:
        with open(temporary, "wb") as stream:
            stream.writelines([head, *parts])
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
