"""Keeps track of what lies in the slots of an on-chip buffer, so that nothing is loaded twice while it is still there."""

from __future__ import annotations

from collections.abc import Hashable

__all__ = ["Slots"]


class Slots:
    """A buffer region cut into equal slots, filled in turn; the oldest content makes room."""

    def __init__(self, base: int, size: int, count: int) -> None:
        self._base = base
        self._size = size
        self._keys: list[Hashable] = [None] * count
        self._rows: dict[Hashable, int] = {}
        self._next = 0

    def find(self, key: Hashable) -> int | None:
        """Return the first row of the slot that holds `key`, or None."""
        return self._rows.get(key)

    def take(self, key: Hashable) -> int:
        """Give the next slot to `key`; returns its first row."""
        slot, self._next = self._next, (self._next + 1) % len(self._keys)
        self._rows.pop(self._keys[slot], None)
        self._keys[slot] = key
        self._rows[key] = row = self._base + slot * self._size
        return row
