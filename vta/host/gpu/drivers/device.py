"""What runs printed kernels: a GPU, or what stands in for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from vta.host.gpu.printing.dialects import Dialect
from vta.host.gpu.printing.printer import GpuSource
from vta.host.loop.grid import GridLimits

__all__ = ["GpuCode", "GpuDevice", "GpuMemory"]

Array = NDArray[Any]


class GpuMemory(Protocol):
    """Memory of a device, given back when nothing refers to it."""

    def part(self, offset: int, nbytes: int) -> GpuMemory:
        """Bytes of it, at a multiple of the device's alignment."""

    def write(self, array: Array) -> None:
        """Copy an array to its start."""

    def read(self, array: Array) -> None:
        """Fill an array from its start, after all that has been started before."""


class GpuCode(Protocol):
    """A compiled program."""

    def launch(self, memory: Sequence[GpuMemory]) -> None:
        """Start its functions, one after the other, on memory for the inputs, the workspace and the output."""


class GpuDevice(Protocol):
    """A device. What is started runs in order. One thread uses it at a time: see `lock`."""

    name: str
    """As its maker calls it."""
    kind: str
    """``opencl`` or ``cuda``."""
    dialect: Dialect
    limits: GridLimits
    alignment: int
    """Bytes that parts of memory begin at multiples of."""
    lock: Any
    """Held while something is started and its results are read."""

    def allocate(self, nbytes: int) -> GpuMemory:
        """New memory. Raises `DeviceError` if there is not enough."""

    def compile(self, source: GpuSource) -> GpuCode:
        """Compile a program for the device; raises `CompileError` with what its compiler says."""

    def finish(self) -> None:
        """Wait for all that has been started; raises `DeviceError` if it failed."""

    def mark(self) -> Any:
        """A point between what has been started and what will be."""

    def seconds_between(self, first: Any, second: Any) -> float:
        """The time from one mark to another, both of which have been passed."""

    def seconds_of(self, start: Callable[[], None], number: int) -> float:
        """The mean time of what `start` starts, of so many times one after the other at least."""
