"""Within each tile, loads come before what computes, as far as their rows are free.

The load unit waits for stored results by way of the compute unit, which hands tokens on in program order. What comes later in
the program is handed on later, though the load unit might have gone on: so loads come first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vta.codegen.stream import Space, Stream
from vta.isa.instruction import Unit

__all__ = ["loads_first"]


def loads_first(stream: Stream) -> NDArray[np.int64]:
    """The instructions of a stream, shape (n,), with the loads of inputs and weights of each tile before what computes in it.

    The order of loads stays, and so does that of all other instructions. A load stays behind what reads the rows that it fills.
    """
    place = np.arange(len(stream), dtype=np.float64)
    units, tiles, operators = stream.units, stream.tiles, stream.operators // 2
    begins = np.append(True, (np.diff(tiles) != 0) | (np.diff(operators) != 0))
    loads = units == Unit.LOAD
    least = -1.0
    # Instructions of the tile so far that read rows of inputs or weights, and which rows.
    reads: list[tuple[int, tuple[int, int, int]]] = []
    touched = _touched(stream)
    used = np.isin(units, (Unit.LOAD, Unit.COMPUTE)) | begins
    for row, begin, load in zip(np.flatnonzero(used).tolist(), begins[used].tolist(), loads[used].tolist(), strict=True):
        if begin:
            least = row - 0.5
            reads.clear()
        if not load:
            reads += [(row, rows) for rows in touched.get(row, ())]
            continue
        (space, start, end) = touched[row][0]
        blocking = (who for who, (other, low, high) in reversed(reads) if other == space and low < end and high > start)
        least = max(least, next(blocking, -1) + 0.5)
        place[row] = least
    return np.argsort(place, kind="stable")


def _touched(stream: Stream) -> dict[int, list[tuple[int, int, int]]]:
    """By instruction: the rows of inputs and weights that it reads or fills: memory, the first, and that behind the last."""
    found: dict[int, list[tuple[int, int, int]]] = {}
    for owner, rows in _on_chip(stream):
        found.setdefault(owner, []).append(rows)
    return found


def _on_chip(stream: Stream) -> Iterator[tuple[int, tuple[int, int, int]]]:
    accesses, counts = stream.accesses, stream.access_counts
    chosen = np.flatnonzero((accesses[:, 0] == Space.INP) | (accesses[:, 0] == Space.WGT))
    owner = np.repeat(np.arange(len(counts)), counts)[chosen].tolist()
    for who, (space, _, start, length) in zip(owner, accesses[chosen, :4].tolist(), strict=True):
        yield who, (space, start, start + length)
