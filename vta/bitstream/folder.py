"""Bitstreams that are there: what a folder has, and whether a file is what it should be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vta.boards.bit_file import PACKAGE_FILE, check_bitstream
from vta.boards.description import Board
from vta.boards.manifest import checksum, read_manifest
from vta.boards.package import Package, check_package, read_package
from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError, DeviceError, VTAError
from vta.files.json_file import read_object
from vta.support.dataclass import dataclass

__all__ = ["ListedBitstream", "check_built", "listed_bitstreams"]


@dataclass(frozen=True)
class ListedBitstream:
    """A bitstream that a manifest or a description names."""

    file: Path
    board: str
    design: str
    config: str
    state: str
    """In words: good, or what is wrong with it."""


def listed_bitstreams(folder: Path) -> list[ListedBitstream]:
    """The bitstreams of `folder`'s manifest, and those that were built in it or in a folder below it.

    Raises `ConfigError` if there is no such folder, or its manifest is malformed.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such folder")
    return [*_filed(folder), *_built_below(folder)]


def _filed(folder: Path) -> Iterator[ListedBitstream]:
    for entry in read_manifest(folder):
        file = folder / entry.file
        yield ListedBitstream(file, entry.board, entry.design, entry.config, _state_of(file, entry.sha256))


def _built_below(folder: Path) -> Iterator[ListedBitstream]:
    for path in sorted(folder.rglob(PACKAGE_FILE)):
        try:
            file = path.parent / Path(str(read_object(path)["bitstream"])).name
            package = read_package(file)
        except (VTAError, LookupError):
            continue
        if package.build is not None:
            state = _state_of(file, package.build.sha256)
            yield ListedBitstream(file, package.board, package.design, package.config.bitstream, state)


def _state_of(file: Path, sha256: str) -> str:
    try:
        return "good" if checksum(file) == sha256 else "damaged"
    except DeviceError:
        return "missing"


def check_built(file: Path, board: Board | None, hw: HardwareConfig | None) -> Package:
    """The description of a bitstream that is what was built, for `board` and of `hw` where they are given.

    Raises `DeviceError` naming what differs, with both values, if it is not, or runs at a clock that it may not have.
    """
    package = check_package(file)
    if board is not None:
        if package.board != board.name:
            raise DeviceError(f"{file}: built for board {package.board}, and not {board.name}")
        check_bitstream(file, board, board.design(package.design))
    if hw is not None and package.config.bitstream != hw.bitstream:
        raise DeviceError(f"{file}: built for config {package.config.bitstream}, and not {hw.bitstream}")
    if package.build is not None and not package.build.fits:
        raise DeviceError(f"{file}: its clock of {package.build.clock_mhz:g} MHz is not met")
    return package
