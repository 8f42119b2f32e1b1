"""NumPy without the texts of its functions, for commands: to write them takes a tenth of the time of importing it."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from vta.support.lazy_modules import postpone

__all__ = ["import_numpy"]

_TEXTS = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
"""Modules that do nothing but add texts to functions and types."""


class _Inspect(ModuleType):
    """Stands in for `inspect`, which NumPy asks for the text and signature of each of its functions: they have none."""

    @staticmethod
    def cleandoc(text: str) -> str:
        return text

    @staticmethod
    def signature(function: object) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get("inspect") is self:
            del sys.modules["inspect"]
        return getattr(import_module("inspect"), name)


def import_numpy() -> None:
    """Import NumPy if that was not done. What it computes is the same; `help` shows less of it."""
    if "numpy" in sys.modules:
        return
    postpone(_TEXTS)
    before = sys.modules.pop("inspect", None)
    stand_in = sys.modules["inspect"] = _Inspect("inspect")
    try:
        import numpy  # noqa: F401
    finally:
        if before is not None:
            sys.modules["inspect"] = before
        elif sys.modules["inspect"] is stand_in:
            del sys.modules["inspect"]
