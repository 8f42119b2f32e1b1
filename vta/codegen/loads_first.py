"""Within each tile, loads come before what computes, as far as their rows are free.

The load unit waits for stored results by way of the compute unit, which hands tokens on in program order. What comes later in
the program is handed on later, though the load unit might have gone on: so loads come first. Constants, which the compute unit loads
itself, come last.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.codegen.stream import Segment, Space, Stream
from vta.config.targets import MemoryType
from vta.isa.instruction import Opcode, Unit

__all__ = ["constants_later", "loads_first"]


def loads_first(stream: Stream) -> NDArray[np.int64]:
    """The instructions of a stream, shape (n,), with the loads of inputs and weights of each tile before what computes in it.

    The order of loads stays, and so does that of all other instructions. A load stays behind what reads the rows that it fills.
    """
    units, tiles, operators = stream.units, stream.tiles, stream.operators // 2
    begins = np.flatnonzero(np.append(True, (np.diff(tiles) != 0) | (np.diff(operators) != 0)))
    first = np.repeat(begins, np.diff(np.append(begins, len(units))))
    place = np.arange(len(units), dtype=np.float64)
    reads = _Reads(stream)
    least, group = -1.0, -1
    for row in np.flatnonzero(units == Unit.LOAD).tolist():
        begin = int(first[row])
        least = least if begin == group else begin - 0.5
        group = begin
        blocking = reads.last_of(begin, row)
        least = max(least, blocking + 0.5)
        place[row] = least
    return np.argsort(place, kind="stable")


def constants_later(stream: Stream) -> NDArray[np.int64]:
    """The instructions of a stream, shape (n,), with each load of constants right before the next compute instruction.

    Resets and loads of micro-ops do not count: they need no constants.
    """
    fields, segments = stream.instructions, stream.segments
    loads = fields["opcode"] == Opcode.LOAD
    constants = np.flatnonzero(loads & (fields["memory_type"] == MemoryType.ACC) & (segments == Segment.CONSTANTS))
    resets = (fields["opcode"] == Opcode.GEMM) & (fields["reset"] != 0)
    computes = np.flatnonzero((stream.units == Unit.COMPUTE) & ~loads & ~resets)
    place = np.arange(len(fields), dtype=np.float64)
    place[constants] = np.append(computes, len(fields))[np.searchsorted(computes, constants)] - 0.5
    return np.argsort(place, kind="stable")


class _Reads:
    """Which rows of inputs and weights instructions read, and loads fill."""

    def __init__(self, stream: Stream) -> None:
        accesses, counts = stream.accesses, stream.access_counts
        on_chip = (accesses[:, 0] == Space.INP) | (accesses[:, 0] == Space.WGT)
        owner = np.repeat(np.arange(len(counts)), counts)[on_chip]
        rows = accesses[on_chip]
        self._reads = owner[rows[:, 1] == 0]
        self._space = rows[rows[:, 1] == 0, 0]
        self._start = rows[rows[:, 1] == 0, 2]
        self._end = self._start + rows[rows[:, 1] == 0, 3]
        self._fills = {int(who): row for who, row in zip(owner[rows[:, 1] != 0], rows[rows[:, 1] != 0], strict=True)}

    def last_of(self, begin: int, load: int) -> int:
        """The last instruction of [begin, load) that reads a row that a load fills; -1 if none does."""
        space, _, start, length = self._fills[load][:4].tolist()
        low, high = np.searchsorted(self._reads, (begin, load))
        part = slice(low, high)
        found = np.flatnonzero((self._space[part] == space) & (self._start[part] < start + length) & (self._end[part] > start))
        return int(self._reads[low + found[-1]]) if len(found) else -1
