"""The boards that come with the package, and how one is named on a command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vta.boards.description import Board, load_board
from vta.errors import ConfigError

__all__ = ["BOARD_PREFIX", "find_board", "is_board", "shipped_boards"]

BOARD_PREFIX = "board:"
"""What comes before the file of a board where a device is named."""

_ALIASES = {"de10nano": "de10-nano"}
_PYNQ = "pynq"
_PYNQ_DEFAULT = "pynq-z1"
_PYNQ_VARIABLE = "BOARD"
"""The variable in which the images of these boards say which they are, for example ``Pynq-Z2``."""


def shipped_boards() -> dict[str, Path]:
    """Name and file of every shipped board, sorted by name. Raises `ConfigError` if the installation lacks them."""
    package = Path(__file__).resolve().parents[1]
    # A wheel carries the files inside the package; in a source tree they lie beside it.
    for folder in (package / "bitstreams" / "boards", package.parent / "bitstreams" / "boards"):
        files = sorted(folder.glob("*.yaml"))
        if files:
            return {file.stem: file for file in files}
    raise ConfigError(f"the installation of vta in {package} lacks its boards; install it again")


def is_board(device: str) -> bool:
    """Whether the name of a device is that of a board, rather than of a simulator."""
    return device == _PYNQ or device in _ALIASES or device.startswith(BOARD_PREFIX) or device in shipped_boards()


def find_board(device: str, environment: Mapping[str, str] | None = None) -> Board:
    """Load the board that `device` means: a shipped name, ``pynq``, ``de10nano``, or ``board:FILE``.

    ``pynq`` is the board that the variable BOARD of `environment` names, as the images of these boards set it, and
    otherwise pynq-z1. Raises `ConfigError` listing the shipped names if there is no such board, and naming file, field,
    value and what is allowed if the file describes none.
    """
    if device.startswith(BOARD_PREFIX):
        return load_board(Path(device.removeprefix(BOARD_PREFIX)))
    shipped = shipped_boards()
    name = _ALIASES.get(device, device)
    if name == _PYNQ:
        told = (environment or {}).get(_PYNQ_VARIABLE, "").lower()
        name = told if told in shipped else _PYNQ_DEFAULT
    if name not in shipped:
        raise ConfigError(f"no board {device!r}; shipped: {', '.join(shipped)}; {BOARD_PREFIX}FILE is the board of a file")
    return load_board(shipped[name])
