"""Directories of bitstreams: a manifest says which file is which config of which design, and what its checksum is."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from vta.boards.bit_file import package_path
from vta.boards.description import Board, Design
from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError, DeviceError
from vta.files.atomic_file import make_folder, whole_file, write_whole
from vta.files.json_file import parse_json
from vta.files.user_file import open_regular, read_text
from vta.support.dataclass import dataclass
from vta.support.folder_lock import alone_in
from vta.support.shorten import shown

__all__ = [
    "MANIFEST",
    "BitstreamEntry",
    "add_bitstream",
    "checksum",
    "find_bitstream",
    "listed_design",
    "read_manifest",
]

MANIFEST = "manifest.json"
_VERSION = 1
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class BitstreamEntry:
    """One bitstream."""

    board: str
    design: str
    config: str
    """`HardwareConfig.bitstream` of the config that it implements."""
    hw_version: str
    """HW_VER of that config."""
    file: str
    """Relative to the manifest's directory."""
    sha256: str
    source: str
    """Where it comes from, in words."""


def read_manifest(directory: Path) -> tuple[BitstreamEntry, ...]:
    """The bitstreams of a directory; none if it has no manifest.

    Raises `ConfigError` naming file, entry, field and what is allowed if the manifest is malformed.
    """
    path = directory / MANIFEST
    if not path.exists():
        return ()
    values = parse_json(read_text(path, ConfigError), str(path), ConfigError)
    if not isinstance(values, dict) or values.get("version") != _VERSION or not isinstance(values.get("bitstreams"), list):
        raise ConfigError(f"{path}: an object with version {_VERSION} and a list of bitstreams is needed")
    return tuple(_entry(value, f"{path}: bitstreams[{index}]") for index, value in enumerate(values["bitstreams"]))


def _entry(value: Any, place: str) -> BitstreamEntry:
    names = [field.name for field in fields(BitstreamEntry)]
    if not isinstance(value, dict):
        raise ConfigError(f"{place}: an object is needed, not {type(value).__name__}")
    for name in {*names} ^ {*value}:
        raise ConfigError(f"{place}: field {name} is {'missing' if name in names else 'unknown'}; fields: {', '.join(names)}")
    for name in names:
        if not isinstance(value[name], str):
            raise ConfigError(f"{place}: {name} = {shown(value[name])}; allowed: strings")
    entry = BitstreamEntry(**value)
    if len(entry.sha256) != 64 or set(entry.sha256) - set("0123456789abcdef"):
        raise ConfigError(f"{place}: sha256 = {shown(entry.sha256)}; allowed: 64 hexadecimal digits in lower case")
    if Path(entry.file).is_absolute() or ".." in Path(entry.file).parts:
        raise ConfigError(f"{place}: file = {shown(entry.file)}; allowed: paths below the manifest's directory")
    return entry


def find_bitstream(directory: Path, board: Board, design: Design, hw: HardwareConfig) -> Path:
    """The file of the bitstream that makes `board` the accelerator of `hw`, its checksum compared.

    Raises `DeviceError` if the directory has none, listing what it has for the board, or if the file is damaged.
    """
    entries = [entry for entry in read_manifest(directory) if entry.board == board.name]
    for entry in entries:
        if (entry.design, entry.config, entry.hw_version) == (design.name, hw.bitstream, hw.hw_version):
            path = directory / entry.file
            found = checksum(path)
            if found != entry.sha256:
                raise DeviceError(f"{path}: damaged: its SHA-256 sum is {found}; {directory / MANIFEST} says {entry.sha256}")
            return path
    have = ", ".join(f"{entry.design} {entry.config} (HW_VER {entry.hw_version})" for entry in entries) or "none"
    raise DeviceError(
        f"{directory}: no bitstream of design {design.name} with config {hw.bitstream} (HW_VER {hw.hw_version}) "
        f"for board {board.name}; there: {have}"
    )


def listed_design(directory: Path, board: Board, hw: HardwareConfig) -> Design:
    """The design of which the directory has a bitstream of `hw`: the board's default if it has that, or none at all."""
    there = {
        entry.design
        for entry in read_manifest(directory)
        if (entry.board, entry.config, entry.hw_version) == (board.name, hw.bitstream, hw.hw_version)
    }
    names = [board.default, *board.designs]
    return board.design(next((name for name in names if name in there), board.default))


def add_bitstream(directory: Path, board: Board, design: Design, hw: HardwareConfig, file: Path, source: str) -> BitstreamEntry:
    """Copy a bitstream, and the `.hwh` file beside it, into a directory and its manifest; replaces the one of the same config.

    Of a board without a processor, the description that the driver needs comes along. What lay beside the file that is replaced
    goes with it. Several processes may add to a directory at once. Raises `ConfigError` if the manifest is malformed.
    """
    name = design.bitstream_name(hw)
    target = directory / name
    make_folder(target.parent)
    with alone_in(directory, wait=True):
        kept = read_manifest(directory)
        _copy(file, target)
        _copy_or_remove(file.with_suffix(".hwh"), target.with_suffix(".hwh"))
        if board.fpga is not None:
            _copy_or_remove(package_path(file), target.with_suffix(".json"))
        entry = BitstreamEntry(board.name, design.name, hw.bitstream, hw.hw_version, name, checksum(target), source)
        others = (other for other in kept if _place(other) != _place(entry))
        _write_manifest(directory / MANIFEST, [*others, entry])
    return entry


def _place(entry: BitstreamEntry) -> tuple[str, ...]:
    """What a directory has one bitstream of."""
    return entry.board, entry.design, entry.config, entry.hw_version


def checksum(path: Path) -> str:
    """The SHA-256 sum of a file, in hexadecimal. Raises `DeviceError` if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with open_regular(path) as stream:
            while data := stream.read(_CHUNK_BYTES):
                digest.update(data)
    except OSError as error:
        raise DeviceError(f"{path}: cannot be read: {error.strerror or error}") from None
    return digest.hexdigest()


def _copy(source: Path, target: Path) -> None:
    with whole_file(target, "the bitstream") as beside:
        shutil.copyfile(source, beside)


def _copy_or_remove(source: Path, target: Path) -> None:
    """What belongs to the old file would be taken for the new one's."""
    if source.exists():
        _copy(source, target)
    else:
        target.unlink(missing_ok=True)


def _write_manifest(path: Path, entries: Iterable[BitstreamEntry]) -> None:
    values = {"version": _VERSION, "bitstreams": [asdict(entry) for entry in entries]}
    write_whole(path, json.dumps(values, indent=2) + "\n", "the manifest")
