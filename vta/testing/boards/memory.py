"""Memory that a CPU sees through a cache and an accelerator does not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.devices.engine.memory_pool import MemoryPool

__all__ = ["BoardMemory"]


class BoardMemory:
    """`nbytes` of memory from the physical address `start`, and the CPU's view of it.

    With `line` of 0 the CPU sees memory itself. Otherwise the cache is as unhelpful as a cache may be: it holds every line, and
    old contents at first; a line that the CPU writes stays there until somebody flushes it or `evict` is called, and what is
    written to memory is not seen until somebody invalidates. Operations apply to whole lines.
    """

    def __init__(self, start: int, nbytes: int, line: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.start = start
        self.line = line
        self.dram: NDArray[np.uint8] = rng.integers(0, 256, nbytes, dtype=np.uint8)
        """Shape (nbytes,): what the accelerator sees. Filled with rubbish."""
        self.cpu: NDArray[np.uint8] = rng.integers(0, 256, nbytes, dtype=np.uint8) if line else self.dram
        """Shape (nbytes,): what the CPU sees, and writes to."""
        self._synced = self.cpu.copy() if line else self.dram
        self._pool = MemoryPool(nbytes)

    @property
    def end(self) -> int:
        """First physical address behind the memory."""
        return self.start + self.dram.size

    def allocate(self, nbytes: int) -> int:
        """The physical address of `nbytes` more. Raises `DeviceError` if there is no room."""
        return self.start + self._pool.allocate(nbytes)

    def free(self, address: int) -> None:
        """Give back what `allocate` returned; the CPU's view of it is rubbish from now on."""
        self._pool.free(address - self.start)

    def flush(self, address: int, nbytes: int) -> None:
        """Write the lines that the CPU changed back to memory."""
        if self.line:
            self._write_back(*self._lines(address, nbytes))

    def invalidate(self, address: int, nbytes: int) -> None:
        """Have the CPU read memory anew; what it wrote to these lines and did not flush is lost."""
        if self.line:
            first, last = self._lines(address, nbytes)
            self.cpu[first:last] = self._synced[first:last] = self.dram[first:last]

    def evict(self) -> None:
        """Write all lines that the CPU changed back to memory, as a cache may do at any time."""
        if self.line:
            self._write_back(0, self.dram.size)

    def _lines(self, address: int, nbytes: int) -> tuple[int, int]:
        offset = address - self.start
        return offset // self.line * self.line, -(-(offset + nbytes) // self.line) * self.line

    def _write_back(self, first: int, last: int) -> None:
        shape = (-1, self.line)
        cpu, synced = self.cpu[first:last].reshape(shape), self._synced[first:last].reshape(shape)
        dirty = (cpu != synced).any(axis=1)
        self.dram[first:last].reshape(shape)[dirty] = cpu[dirty]
        synced[dirty] = cpu[dirty]
