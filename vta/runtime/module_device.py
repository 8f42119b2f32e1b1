"""What runs compiled modules: a device of this machine, or a leased one of another."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Protocol, TypeVar, runtime_checkable

from vta.config.hardware import HardwareConfig
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.loaded_module import LoadedModule

__all__ = ["ModuleDevice"]

_Self = TypeVar("_Self")


@runtime_checkable
class ModuleDevice(Protocol):
    """A device that compiled modules are loaded onto; given back on `close` or at the end of a ``with``."""

    @property
    def kind(self) -> str:
        """Kind of device, e.g. ``cycle``."""

    @property
    def hw(self) -> HardwareConfig:
        """The config that it implements; modules must be compiled for it."""

    def load(self, module: CompiledModule | str | Path) -> LoadedModule:
        """Load a compiled module, or the `.vta` file at a path.

        Raises `ArtifactError` naming key and both values if the device is not what the module was compiled for, and
        `DeviceError` with the bytes needed and available if its memory is too small; nothing has run then.
        """

    def close(self) -> None:
        """Give the device up; closing again does nothing."""

    def __enter__(self: _Self) -> _Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
