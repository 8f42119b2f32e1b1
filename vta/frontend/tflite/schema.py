"""The tables and enumerations of TFLite's schema, each from its own module of the package `tflite`.

That package imports all of its 187 modules when one is asked for, which takes longer than to read a small network.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["schema"]


def schema(name: str) -> Any:
    """Return the class of a table or an enumeration. Raises `ImportError` if the schema has none called that."""
    return getattr(_module(name), name)


@cache
def _folder() -> Path:
    found = importlib.util.find_spec("tflite")
    if found is None or not found.submodule_search_locations:
        raise ImportError("the package tflite is missing")
    return Path(found.submodule_search_locations[0])


def _module(name: str) -> Any:
    """The module, under the name by which the others of the package know it, too."""
    known = f"tflite.{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, _folder() / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        try:
            spec.loader.exec_module(module)
        except OSError as error:
            raise ImportError(f"TFLite's schema has no {name}") from error
        finally:
            if not hasattr(module, name):
                del sys.modules[known]
    return sys.modules[known]
