"""Code of a client, in the process that has the device: a Python module whose functions take arrays and return arrays."""

from __future__ import annotations

import resource
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.devices.device import Device
from vta.errors import RemoteError
from vta.runtime.module import Module
from vta.support.dataclass import dataclass

__all__ = ["Host", "HostCode", "confine", "limit_memory"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Host:
    """What a function gets as its first argument."""

    device: Device
    module: Module | None
    """The module that the client named, if any."""


class HostCode:
    """A module made of a client's source."""

    def __init__(self, number: int, source: str) -> None:
        """Execute the module. Raises `RemoteError` with the line at fault if that fails."""
        self._file = f"<code {number}>"
        self._module = ModuleType(f"vta_host_code_{number}")
        try:
            exec(compile(source, self._file, "exec"), self._module.__dict__)
        except Exception as error:
            raise RemoteError(f"the code does not load: {self._told(error)}") from None

    def call(self, function: str, host: Host, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """What ``function(host, inputs)`` returns: arrays by name, or None for none.

        Raises `RemoteError` if there is no such function, if it raises, or returns something else.
        """
        found = getattr(self._module, function, None)
        if not callable(found):
            names = [name for name, value in vars(self._module).items() if callable(value) and not name.startswith("_")]
            raise RemoteError(f"the code has no function {function!r}; there are: {', '.join(names) or 'none'}")
        try:
            result = found(host, inputs)
        except Exception as error:
            raise RemoteError(f"{function} raised {self._told(error)}") from None
        if result is None:
            return {}
        if not isinstance(result, Mapping) or not all(isinstance(name, str) for name in result):
            raise RemoteError(f"{function} returned {type(result).__name__}; allowed: arrays by name, or None")
        return {name: np.asarray(value) for name, value in result.items()}

    def _told(self, error: Exception) -> str:
        """The error and the last line of the client's own that it passed through."""
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, SyntaxError):
            return text
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self._file]
        return f"{text} (line {lines[-1]})" if lines else text


def limit_memory(more_bytes: int) -> None:
    """Let this process take `more_bytes` of memory from now on: what goes beyond is a `MemoryError`."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space(more_bytes, hard), hard))


def confine(more_bytes: int) -> None:
    """The same in a way that cannot be taken back, and leave no core files."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = _address_space(more_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _address_space(more_bytes: int, hard: int) -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + more_bytes
    return most if hard == resource.RLIM_INFINITY else min(most, hard)
