"""The head of a `.bit` file: what was built, and for which part.

The format: a field of 9 bytes that is always the same, the length 1, then fields of a letter, a length of two bytes, big endian,
and a text that ends with a zero byte: a the design, b the part, c the date, d the time; at last e, four bytes of length
and the data (Xilinx, "Tell me about the .BIT file format", FAQ 7 of the JBits documents).
"""

from __future__ import annotations

import json
from pathlib import Path

from vta.boards.description import Board, Design
from vta.boards.lattice_file import read_lattice_part
from vta.errors import DeviceError
from vta.files.user_file import open_regular
from vta.support.dataclass import dataclass

__all__ = [
    "CORE_MARK",
    "PACKAGE_FILE",
    "BitHeader",
    "check_bitstream",
    "design_of",
    "package_path",
    "packaged_design",
    "read_bit_header",
]

CORE_MARK = "vta_core"
"""What the name of a design starts with in the head of a file that this package's scripts built."""

_MAGIC = bytes.fromhex("0ff00ff00ff00ff000")
_HEAD_BYTES = 4096
_LATTICE = "ecp5"
"""The family whose files have another head."""
PACKAGE_FILE = "package.json"
"""What `vta rtl package` wrote beside the scripts that build a bitstream, and they leave it there."""
_TEXTS = {0x61: "design", 0x62: "part", 0x63: "date", 0x64: "time"}
_DATA = 0x65
_SUFFIXES = {"pynq": (".bit",), "de10nano": (".rbf",), "link": (".bit",)}


@dataclass(frozen=True)
class BitHeader:
    """What the head says."""

    design: str
    part: str
    date: str
    time: str
    nbytes: int
    """Bytes of data that follow."""


def read_bit_header(path: Path) -> BitHeader:
    """Read the head of a `.bit` file. Raises `DeviceError` naming the file if it is none, or truncated."""
    try:
        with open_regular(path) as stream:
            head = stream.read(_HEAD_BYTES)
            size = stream.seek(0, 2)
    except OSError as error:
        raise DeviceError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        return _parse(head, size)
    except (ValueError, IndexError) as error:
        raise DeviceError(f"{path}: not a .bit file: {error}") from None


def _parse(head: bytes, size: int) -> BitHeader:
    start = 2 + int.from_bytes(head[:2], "big")
    if head[2:start] != _MAGIC or head[start : start + 2] != b"\0\1":
        raise ValueError("it does not start like one")
    at, texts = start + 2, {}
    while head[at] in _TEXTS:
        length = int.from_bytes(head[at + 1 : at + 3], "big")
        texts[_TEXTS[head[at]]] = head[at + 3 : at + 3 + length].rstrip(b"\0").decode("ascii", errors="replace")
        at += 3 + length
    if head[at] != _DATA or len(texts) != len(_TEXTS):
        raise ValueError("its head lacks fields")
    nbytes = int.from_bytes(head[at + 1 : at + 5], "big")
    if at + 5 + nbytes != size:
        raise ValueError(f"its head announces {nbytes} bytes of data, and {size - at - 5} follow")
    return BitHeader(**texts, nbytes=nbytes)


def design_of(path: Path, board: Board, name: str = "", otherwise: str = "") -> Design:
    """The design of `board` that the bitstream at `path` is.

    That is `name` if it is given, else what the `package.json` beside the file says, or the file's head, and else the design
    called `otherwise`, or the board's default. Raises `ConfigError` if there is no such design, and `DeviceError` if `name`
    contradicts what the file says.
    """
    said = _said_by_package(path, board) or _said_by_head(path, board)
    if said is None:
        return board.design(name or otherwise)
    source, found = said
    if name and board.design(name).registers != found.registers:
        raise DeviceError(f"{path}: {source} says that it is design {found.name}, and not {name}")
    return board.design(name) if name else found


def package_path(bitstream: Path) -> Path:
    """Where the description of a bitstream is: beside it, by its name in a directory of several, or else `package.json`."""
    own = bitstream.with_suffix(".json")
    return own if own.is_file() else bitstream.parent / PACKAGE_FILE


def packaged_design(path: Path) -> str:
    """The name of the design that the `package.json` beside a bitstream says it is; empty if there is none for it."""
    try:
        values = json.loads((path.parent / PACKAGE_FILE).read_text(encoding="utf-8"))
        name, stem = values["design"], Path(values["bitstream"]).stem
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""
    return name if isinstance(name, str) and stem == path.stem else ""


def _said_by_package(path: Path, board: Board) -> tuple[str, Design] | None:
    name = packaged_design(path)
    return (str(path.parent / PACKAGE_FILE), board.designs[name]) if name in board.designs else None


def _said_by_head(path: Path, board: Board) -> tuple[str, Design] | None:
    if board.family == _LATTICE or path.suffix != ".bit" or not read_bit_header(path).design.startswith(CORE_MARK):
        return None
    cores = [design for design in board.designs.values() if design.registers == "core"]
    return ("its head", board.core_design()) if cores else None


def check_bitstream(path: Path, board: Board, design: Design | None = None) -> None:
    """Refuse what is no bitstream for the part of `board`, or says that it is another design.

    Raises `DeviceError` naming file, value and what is allowed.
    """
    allowed = _SUFFIXES[board.driver]
    if path.suffix not in allowed:
        raise DeviceError(f"{path}: board {board.name} takes files that end in {', '.join(allowed)}")
    if path.suffix != ".bit":
        if not path.is_file() or not path.stat().st_size:
            raise DeviceError(f"{path}: no file, or an empty one")
        return
    found = read_lattice_part(path) if board.family == _LATTICE else read_bit_header(path).part
    if not (_same_device if board.family == _LATTICE else _same_part)(found, board.part):
        raise DeviceError(f"{path}: built for part {found}; board {board.name} has {board.part}")
    if design is not None:
        design_of(path, board, design.name)


def _same_part(found: str, wanted: str) -> bool:
    """Heads name parts without their family's letters and without the speed grade, as 7z020clg400 for xc7z020clg400-1."""
    plain = wanted.removeprefix("xc").replace("-", "")
    return plain.startswith(found.removeprefix("xc").replace("-", "")) and len(found) >= len("7z020clg")


def _same_device(found: str, wanted: str) -> bool:
    """Heads name the package in other words than the vendor's order codes, as CABGA554 for BG554I."""
    return found.rpartition("-")[0] == wanted.rpartition("-")[0]
