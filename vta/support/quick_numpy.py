"""NumPy without the texts of its functions and its types for checkers, for commands: a fifth of the time of importing it."""

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


class _Types(ModuleType):
    """Stands in for the modules with types for checkers, of which NumPy and we name these as we are imported."""

    ArrayLike = DTypeLike = Any

    class NDArray:
        """An array, whatever is in it."""

        def __class_getitem__(cls, item: object) -> Any:
            return sys.modules["numpy"].ndarray

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for stand_in in _TYPES:
            if isinstance(sys.modules.get(stand_in), _Types):
                del sys.modules[stand_in]
        return getattr(import_module(self.__name__), name)


_TYPES = ("numpy._typing", "numpy.typing")


class _LinearAlgebra(ModuleType):
    """Stands in for `numpy.linalg`, of which NumPy names a few functions for polynomials and matrices as it is imported."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments: Any, **named: Any) -> Any:
            return getattr(import_module(_LINEAR_ALGEBRA), name)(*arguments, **named)

        return call


_LINEAR_ALGEBRA = "numpy.linalg"


def import_numpy() -> None:
    """Import NumPy if that was not done. What it computes is the same; `help` shows less of it."""
    if "numpy" in sys.modules:
        return
    postpone(_TEXTS)
    for name in _TYPES:
        sys.modules[name] = _Types(name)
    before = sys.modules.pop("inspect", None)
    stand_in = sys.modules["inspect"] = _Inspect("inspect")
    sys.modules[_LINEAR_ALGEBRA] = _LinearAlgebra(_LINEAR_ALGEBRA)
    try:
        import numpy

        del sys.modules[_LINEAR_ALGEBRA]
        if "linalg" in vars(numpy):  # versions before 2 do not look for it when it is asked for
            numpy.linalg = import_module(_LINEAR_ALGEBRA)
        for name in _TYPES:  # an import puts there what it finds, and would look there for what it did not
            setattr(numpy, name.rpartition(".")[2], sys.modules[name])
    finally:
        if before is not None:
            sys.modules["inspect"] = before
        elif sys.modules["inspect"] is stand_in:
            del sys.modules["inspect"]
