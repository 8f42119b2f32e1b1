"""The C++ core: `lib` has its functions, `ffi` makes and reads their arguments.

Importing this raises `DeviceError` where the library is missing, or is none.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Any

from vta.errors import DeviceError

__all__ = ["core_path", "ffi", "lib"]


@cache
def core_path() -> Path:
    """The library's file."""
    return Path(__file__).with_name("_core.so")


def _opened() -> tuple[Any, Any]:
    try:
        found = importlib.import_module("vta._core_declarations").ffi
        return found, found.dlopen(str(core_path()))
    except (ImportError, OSError) as error:
        # cffi says the path twice.
        reason = str(error).rpartition(f"{core_path()}: ")[2]
        raise DeviceError(
            f"the native library {core_path()} cannot be loaded ({reason}): a wheel of this package has it, "
            "and in its source 'python setup.py build_ext --inplace' builds it"
        ) from None


ffi, lib = _opened()
