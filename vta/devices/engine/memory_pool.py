"""Allocation of device memory: whole pages, first fit."""

from __future__ import annotations

from bisect import bisect_right

from vta.errors import DeviceError
from vta.isa.program import PAGE_BYTES, whole_pages

__all__ = ["MemoryPool"]


class MemoryPool:
    """Hands out addresses in ``[PAGE_BYTES, capacity)``; the first page stays free so that 0 is never an address.

    Not for several threads at once: its device lets them take turns.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._holes = [(PAGE_BYTES, capacity)] if capacity > PAGE_BYTES else []
        self._sizes: dict[int, int] = {}

    @property
    def available(self) -> int:
        """Bytes that are not allocated, perhaps in several pieces."""
        return sum(end - start for start, end in self._holes)

    @property
    def largest(self) -> int:
        """Bytes of the largest allocation that would succeed."""
        return max((end - start for start, end in self._holes), default=0)

    def allocate(self, nbytes: int) -> int:
        """Reserve `nbytes`, rounded up to whole pages, and return the address.

        Raises `DeviceError` with the bytes needed and available if there is no room.
        """
        if nbytes < 0:
            raise DeviceError(f"cannot allocate {nbytes} bytes of device memory")
        size = whole_pages(max(1, nbytes))
        for index, (start, end) in enumerate(self._holes):
            if end - start >= size:
                self._holes[index : index + 1] = [(start + size, end)] if end - start > size else []
                self._sizes[start] = size
                return start
        raise DeviceError(
            f"out of device memory: {size} bytes needed, {self.available} available "
            f"(largest piece {self.largest}) of {self.capacity}"
        )

    def free(self, address: int) -> None:
        """Give back what `allocate` returned as `address`; raises `DeviceError` for any other address."""
        size = self._sizes.pop(address, None)
        if size is None:
            raise DeviceError(f"address {address:#x} is not allocated")
        self._insert(address, address + size)

    def check(self, address: int, nbytes: int) -> None:
        """Raise `DeviceError` unless ``[address, address + nbytes)`` lies inside one allocation."""
        for start, size in self._sizes.items():
            if start <= address and address + nbytes <= start + size:
                return
        raise DeviceError(f"{nbytes} bytes at {address:#x} are not inside an allocation")

    def _insert(self, start: int, end: int) -> None:
        """Add a hole and join it with its neighbours."""
        index = bisect_right(self._holes, (start, end))
        if index < len(self._holes) and self._holes[index][0] == end:
            end = self._holes.pop(index)[1]
        if index > 0 and self._holes[index - 1][1] == start:
            index -= 1
            start = self._holes.pop(index)[0]
        self._holes.insert(index, (start, end))
