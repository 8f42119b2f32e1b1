"""Modules that are run when something of them is first used, rather than when they are imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    Loader = MetaPathFinder = object  # the module that has them imports `tempfile`

__all__ = ["postpone"]


_RUNNING = RLock()


class _Postponed(ModuleType):
    """A module that was not run yet. `importlib.util.LazyLoader` runs one as soon as a second module imports it."""

    def __getattr__(self, name: str) -> Any:
        with _RUNNING:
            if self.__class__ is _Postponed:
                self.__class__ = _Running  # type: ignore[assignment]
                try:
                    _run(self)
                finally:
                    self.__class__ = ModuleType  # type: ignore[assignment]
        return getattr(self, name)


class _Running(ModuleType):
    """A module that one thread is running: what it does not have yet, others wait for."""

    def __getattr__(self, name: str) -> Any:
        with _RUNNING:
            return ModuleType.__getattribute__(self, name)


def _run(module: ModuleType) -> None:
    spec = module.__spec__
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module)


class _Later(Loader):
    """Makes modules that the loader of their kind is to run later."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        module.__loader__ = spec.loader = self._loader
        module.__class__ = _Postponed


class _Finder(MetaPathFinder):
    """Finds some modules where they are, and has them run later."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self._names:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Later(spec.loader)
        return spec


def postpone(names: Iterable[str]) -> None:
    """Let imports of `names` to come run none of them; those that take names from one run it as ever.

    Of two threads that use a module first at the same time, one waits for what the other has not made yet; but what it finds may
    use what is not there. So what several threads call is not to be postponed.
    """
    sys.meta_path.insert(0, _Finder(names))
