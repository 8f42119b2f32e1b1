"""The start of a region: what the first products wait for is loaded first, and what later operators need comes later.

The bus is shared. While the first tile of the first operator is loaded, the compute unit has nothing to do, so that its constants
cost nothing then; micro-ops of later operators would only hold up that tile.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vta.codegen.interleave import Pair
from vta.codegen.stream import Segment, Space, Stream
from vta.config.targets import MemoryType
from vta.isa.instruction import AluOp, Opcode

__all__ = ["constants_first", "micro_ops_first", "needed_fills"]

_COMPUTES = (Opcode.GEMM, Opcode.ALU, Opcode.DEPTHWISE)
_LEAST_LATER = 64
"""Micro-ops that a second load has to bring for it to pay."""


def constants_first(stream: Stream, stops: Sequence[int], pairs: Sequence[Pair]) -> NDArray[np.int64]:
    """The instructions of a stream, shape (n,), with the constants of the operators that begin it before all others.

    Those are the first operator, and the second where their tiles take turns. Operators end at `stops`. Constants stay where they
    are if something before them writes the accumulator rows that they are for.
    """
    fields, segments = stream.instructions, stream.segments
    end = stops[_first_operators(pairs) - 1]
    constants = (fields["opcode"] == Opcode.LOAD) & (fields["memory_type"] == MemoryType.ACC)
    place = np.arange(len(fields), dtype=np.float64)
    first = np.flatnonzero(constants[:end] & (segments[:end] == Segment.CONSTANTS))
    _, known = np.unique(stream.operators[first], return_index=True)
    for row in first[np.sort(known)].tolist():
        base = int(fields["sram_base"][row])
        rows = base, base + int(fields["x_size"][row] * fields["y_size"][row])
        loaded = first[first < row]
        overlaps = (fields["sram_base"][loaded] < rows[1]) & (
            fields["sram_base"][loaded] + fields["x_size"][loaded] * fields["y_size"][loaded] > rows[0]
        )
        if not overlaps.any() and not _writes_before(stream, row, rows):
            place[row] = -1
    return np.argsort(place, kind="stable")


def micro_ops_first(stream: Stream, pairs: Sequence[Pair]) -> int:
    """How many micro-ops to load at the start: those of the operators that begin a stream, or all if few are left then."""
    fields, count = stream.instructions, stream.uop_count
    owners = np.unique(stream.operators[stream.operators >= 0] // 2)[: _first_operators(pairs)]
    first = np.isin(fields["opcode"], _COMPUTES) & np.isin(stream.operators // 2, owners)
    needed = int(fields["uop_end"][first].max(initial=0))
    return needed if count - needed >= _LEAST_LATER else count


def needed_fills(stream: Stream) -> NDArray[np.int64]:
    """The numbers of the instructions of a stream, shape (k,), without fills of rows that hold the value already.

    A fill is a reset and an addition of the value, on the same rows, before the first tile of an operator: they are for the padding
    of its output, and what is stored from there is the same for operators that have the same padding.
    """
    fields, tiles = stream.instructions, stream.tiles
    reset = (fields["opcode"] == Opcode.GEMM) & (fields["reset"] != 0) & (tiles < 0)
    adds = (fields["opcode"] == Opcode.ALU) & (fields["alu_opcode"] == AluOp.ADD) & (fields["use_imm"] != 0) & (tiles < 0)
    fills = np.flatnonzero(reset[:-1] & adds[1:])
    stays = np.ones(len(fields), np.bool_)
    if len(fills) < 2:  # noqa: PLR2004
        return np.arange(len(fields))
    written = _Written(stream)
    last, value, rows = -1, 0, (0, 0)
    for row in fills.tolist():
        wanted, start = int(fields["imm"][row + 1]), written.range(row)
        if last >= 0 and value == wanted and rows[0] == start[0] and rows[1] >= start[1] and not written.between(last + 2, row, start):
            stays[row : row + 2] = False
        else:
            last, value, rows = row, wanted, start
    return np.flatnonzero(stays)


def _first_operators(pairs: Sequence[Pair]) -> int:
    return 2 if any(pair.first == 0 for pair in pairs) else 1


def _writes_before(stream: Stream, row: int, rows: tuple[int, int]) -> bool:
    return _Written(stream).between(0, row, rows)


class _Written:
    """Which accumulator rows instructions compute."""

    def __init__(self, stream: Stream) -> None:
        accesses = stream.accesses
        counts = stream.access_counts
        owner = np.repeat(np.arange(len(counts)), counts)
        computed = (accesses[:, 0] == Space.OUT) & (accesses[:, 1] != 0)
        self._owner = owner[computed]
        self._start = accesses[computed, 2]
        self._end = self._start + accesses[computed, 3]

    def range(self, row: int) -> tuple[int, int]:
        """The rows from the first to behind the last that an instruction computes."""
        at = int(np.searchsorted(self._owner, row))
        return int(self._start[at]), int(self._end[at])

    def between(self, begin: int, end: int, rows: tuple[int, int]) -> bool:
        """Whether an instruction of [begin, end) computes one of the rows [first, end)."""
        low, high = np.searchsorted(self._owner, (begin, end))
        return bool(((self._start[low:high] < rows[1]) & (self._end[low:high] > rows[0])).any())
