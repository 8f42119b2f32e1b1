"""Settings that are a JSON object in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vta.errors import ConfigError

__all__ = ["read_object"]


def read_object(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file holds. Raises `ConfigError` naming the file if it cannot be read or holds none."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: not JSON: {error}") from None
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: a JSON object is needed, not {type(values).__name__}")
    return values
