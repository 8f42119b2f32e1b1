"""Compares texts with files that people read. Set VTA_UPDATE_GOLDEN=1 to write them anew."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["check_golden"]

_FOLDER = Path(__file__).parent / "golden"


def check_golden(name: str, text: str) -> None:
    """Require that `text` is what ``golden/NAME.txt`` holds."""
    path = _FOLDER / f"{name}.txt"
    if os.environ.get("VTA_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no {path}; VTA_UPDATE_GOLDEN=1 writes it"
    assert text == path.read_text(encoding="utf-8"), "VTA_UPDATE_GOLDEN=1 writes what is right now"
