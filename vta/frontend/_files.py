"""Reading model files."""

from __future__ import annotations

from pathlib import Path

from vta.errors import ImportModelError

__all__ = ["read_bytes"]


def read_bytes(path: Path) -> bytes:
    """Return the content of `path`; raises `ImportModelError` naming file and cause if there is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ImportModelError(f"{path}: {error.strerror or error}") from None
    if not content:
        raise ImportModelError(f"{path}: the file is empty")
    return content
