"""How long rows of a memory hold a value that something still reads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.pages.data.coverage import Floats

__all__ = ["RowLives"]


class RowLives:
    """Rows of one memory, told in the order of the program what is written and read when.

    A value lives from the start of its write to the end of its last read; one that nothing reads lives as long as its write.
    """

    def __init__(self, rows: int) -> None:
        self._born = np.full(rows, -1.0)
        self._used = np.full(rows, -1.0)
        self._read = np.zeros(rows, dtype=bool)
        self._done: list[tuple[Floats, Floats]] = []
        self._last = (0, 0, 0.0)
        """Rows and end of the last read, which the next one often goes on with."""

    def write(self, first: int, count: int, start: float, end: float) -> None:
        """Rows [first, first + count) get new values from `start` to `end`; those of rows not yet read are added to."""
        self._note_reads()
        place = slice(max(0, first), max(0, first + count))
        fresh = self._read[place] | (self._born[place] < 0)
        self._finish(place, fresh, start)
        self._born[place][fresh] = start
        self._read[place][fresh] = False
        self._used[place] = np.maximum(self._used[place], end)

    def read(self, first: int, count: int, end: float) -> None:
        """Rows [first, first + count) are read until `end`; what nothing wrote counts for nothing."""
        if self._last[:2] != (first, count):
            self._note_reads()
        self._last = (first, count, max(end, self._last[2]))

    def _note_reads(self) -> None:
        first, count, end = self._last
        self._last = (0, 0, 0.0)
        if not count:
            return
        place = slice(max(0, first), max(0, first + count))
        live = self._born[place] >= 0
        self._read[place] |= live
        self._used[place][live] = np.maximum(self._used[place][live], end)

    def lives(self) -> tuple[Floats, Floats]:
        """Starts and ends of all lives of rows."""
        self._note_reads()
        self._finish(slice(0, len(self._born)), self._born >= 0, np.inf)
        self._born[:] = -1.0
        starts = [start for start, _ in self._done] or [np.zeros(0)]
        ends = [end for _, end in self._done] or [np.zeros(0)]
        return np.concatenate(starts), np.concatenate(ends)

    def _finish(self, place: slice, which: NDArray[np.bool_], until: float) -> None:
        """Note the lives of rows that end, at `until` at the latest: a row holds one value at a time."""
        born, used = self._born[place], self._used[place]
        ended = which & (born >= 0)
        if ended.any():
            self._done.append((born[ended], np.minimum(used[ended], until)))
        used[which] = -1.0
