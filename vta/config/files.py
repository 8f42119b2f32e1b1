"""The hardware configs that come with the package, and how one is named on a command line."""

from __future__ import annotations

import os
from pathlib import Path

from vta.errors import ConfigError
from vta.support.shorten import printable

__all__ = ["config_path", "shipped_configs"]

_SPELLINGS = {"de10-nano": "de10nano"}
"""Of boards whose config is spelled differently."""


def shipped_configs() -> dict[str, Path]:
    """Name and file of every shipped config, sorted by name. Raises `ConfigError` if the installation lacks them."""
    package = Path(__file__).resolve().parents[1]
    # A wheel carries the files inside the package; in a source tree they lie beside it.
    for folder in (package / "hw_config", package.parent / "hw_config"):
        files = sorted(folder.glob("*.json"))
        if files:
            return {file.stem: file for file in files}
    raise ConfigError(f"the installation of vta in {package} lacks its hardware configs; install it again")


def config_path(name: str | Path) -> Path:
    """Return the file that `name` means: the name of a shipped config such as ``sim``, or the path of a JSON file.

    The config of a board may be spelled as the board is. Raises `ConfigError` listing the shipped names if it is neither.
    """
    shipped = shipped_configs()
    spelled = _SPELLINGS.get(str(name), str(name))
    if spelled in shipped:
        return shipped[spelled]
    path = Path(name)
    if os.path.isfile(path):
        return path
    missing = "no regular file" if os.path.exists(path) else "no such config file"
    raise ConfigError(f"{printable(str(name))}: {missing}, and no shipped config of this name; shipped: {', '.join(shipped)}")
