"""Modules that are run when something of them is first used, rather than when they are imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

__all__ = ["postpone"]


class _Postponed(ModuleType):
    """A module that was not run yet. `importlib.util.LazyLoader` runs one as soon as a second module imports it."""

    def __getattr__(self, name: str) -> Any:
        self.__class__ = ModuleType  # type: ignore[assignment]
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(self)
        return getattr(self, name)


def postpone(names: Iterable[str]) -> None:
    """Let imports of `names` to come run none of them; those that take names from one run it as ever.

    Only for a process with one thread: of two that use a module first at the same time, one may find it half made.
    """
    for name in names:
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None and spec.loader is not None:
            module = module_from_spec(spec)
            module.__class__ = _Postponed
            sys.modules[name] = module
