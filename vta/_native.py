"""The C++ core: `lib` has its functions, `ffi` makes and reads their arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vta import _core_declarations

__all__ = ["core_path", "ffi", "lib"]

ffi: Any = _core_declarations.ffi
lib: Any = ffi.dlopen(str(Path(__file__).with_name("_core.so")))


def core_path() -> Path:
    """The library's file."""
    return Path(__file__).with_name("_core.so")
