"""Reading model files."""

from __future__ import annotations

from pathlib import Path

from vta.errors import ImportModelError
from vta.files import user_file

__all__ = ["read_bytes"]


def read_bytes(path: Path) -> bytes:
    """Return the content of `path`; raises `ImportModelError` naming file and cause if there is none."""
    content = user_file.read_bytes(path, ImportModelError)
    if not content:
        raise ImportModelError(f"{path}: the file is empty")
    return content
