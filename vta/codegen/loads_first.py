"""Within each tile, loads come before what computes, as far as their rows are free.

The load unit waits for stored results by way of the compute unit, which hands tokens on in program order. What comes later in
the program is handed on later, though the load unit might have gone on: so loads come first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.codegen.stream import Space, Stream
from vta.isa.instruction import Unit

__all__ = ["loads_first"]

_Range = tuple[int, int, int]
"""A memory, the first row or element, and that behind the last."""


def loads_first(stream: Stream) -> NDArray[np.int64]:
    """The instructions of a stream, shape (n,), with the loads of inputs and weights of each tile before what computes in it.

    The order of loads stays, and so does that of all other instructions. A load stays behind what reads the rows that it fills,
    and behind stores to where it reads: operators of one layer that follow each other may have tiles of one number.
    """
    place = np.arange(len(stream), dtype=np.float64)
    tiles, operators = stream.tiles, stream.operators // 2
    begins = np.append(True, (np.diff(tiles) != 0) | (np.diff(operators) != 0))
    loads = stream.units == Unit.LOAD
    least = -1.0
    # Instructions of the tile so far that no load may pass which touches the same, and what that is.
    passed: list[tuple[int, _Range]] = []
    touched = _touched(stream)
    for row, (begin, load) in enumerate(zip(begins.tolist(), loads.tolist(), strict=True)):
        if begin:
            least = row - 0.5
            passed.clear()
        own = touched.get(row, ())
        if not load:
            passed += [(row, part) for part in own]
            continue
        blocking = (who for who, part in reversed(passed) if any(_overlap(part, other) for other in own))
        least = max(least, next(blocking, -1) + 0.5)
        place[row] = least
    return np.argsort(place, kind="stable")


def _overlap(one: _Range, other: _Range) -> bool:
    return one[0] == other[0] and one[1] < other[2] and one[2] > other[1]


def _touched(stream: Stream) -> dict[int, list[_Range]]:
    """By instruction: rows of inputs and weights that it reads or fills, and the DRAM that it loads them from or stores to."""
    accesses, counts = stream.accesses, stream.access_counts
    owner = np.repeat(np.arange(len(counts)), counts)
    space, moves = accesses[:, 0], stream.units[owner] != Unit.COMPUTE
    chosen = np.flatnonzero((space == Space.INP) | (space == Space.WGT) | ((space == Space.DRAM) & moves))
    found: dict[int, list[_Range]] = {}
    for who, (where, _, start, length, count, stride) in zip(owner[chosen].tolist(), accesses[chosen].tolist(), strict=True):
        found.setdefault(who, []).append((where, start, start + (count - 1) * stride + length))
    return found
