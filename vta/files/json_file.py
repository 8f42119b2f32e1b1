"""JSON that users give: text that may be anything, in a file or in a message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vta.errors import ConfigError, VTAError
from vta.files.plain_values import check_plain, without_duplicates
from vta.files.user_file import read_text

__all__ = ["parse_json", "read_object"]


def parse_json(text: str | bytes, source: str, error: type[VTAError]) -> Any:
    """Return the value that JSON text holds; `source` names it in messages.

    Raises `error` if it is no JSON, nested too deeply, names a key twice in one object, or holds what `check_plain` refuses.
    """
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: without_duplicates(pairs, source, error))
    except RecursionError:
        raise error(f"{source}: not JSON: nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as problem:
        raise error(f"{source}: not JSON: {problem}") from None
    except ValueError:
        raise error(f"{source}: not JSON that can be used: an integer has thousands of digits") from None
    check_plain(value, source, error)
    return value


def read_object(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file holds. Raises `ConfigError` naming the file if it cannot be read or holds none."""
    values = parse_json(read_text(path, ConfigError), str(path), ConfigError)
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: a JSON object is needed, not {type(values).__name__}")
    return values
