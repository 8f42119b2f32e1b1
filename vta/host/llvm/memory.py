"""Memory for what kernels compute, used again and again: new pages cost more than many a kernel."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.loop.buffer import Buffer

__all__ = ["MemoryPool", "address"]

Array = NDArray[Any]
_ALIGNMENT = 64
_PAGE = 4096


def address(array: Array) -> int:
    """Where an array's elements begin."""
    return int(array.__array_interface__["data"][0])


class MemoryPool:
    """Gives memory to arrays and takes it back when they are gone. Threads may share one."""

    def __init__(self) -> None:
        # Lists are appended to and popped from in one step, so that no lock is needed where an array dies.
        self._free: defaultdict[int, list[Array]] = defaultdict(list)

    def empty(self, buffer: Buffer) -> Array:
        """An array for a buffer, with any contents, at an address that vectors like."""
        size = -(-(buffer.nbytes + _ALIGNMENT) // _PAGE) * _PAGE
        try:
            memory = self._free[size].pop()
        except IndexError:
            memory = np.empty(size, np.uint8)
        return np.asarray(_Lease(memory, self._free[size], buffer))


class _Lease:
    """Memory that an array and all views of it are in; the last one to go gives it back."""

    def __init__(self, memory: Array, free: list[Array], buffer: Buffer) -> None:
        self._memory = memory
        self._free = free
        start = address(memory)
        self.__array_interface__ = {
            "data": (start + -start % _ALIGNMENT, False),
            "shape": buffer.shape,
            "typestr": np.dtype(buffer.dtype).str,
            "version": 3,
        }

    def __del__(self) -> None:
        self._free.append(self._memory)
