"""Fills of accumulator rows with what pads an output, where the rows hold it already.

What pads outputs lies in rows of its own, that few tiles reach, and many operators of a network pad with the same value: it is
filled in once for all of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.codegen.stream import Segment, Space, Stream
from vta.isa.instruction import AluOp, Opcode

__all__ = ["needed_fills"]


def needed_fills(stream: Stream) -> NDArray[np.int64]:
    """The numbers of the instructions of a stream, shape (k,), without fills of rows that hold the value already.

    A fill is a reset of rows and an addition of the value to them, before the first tile of an operator.
    """
    fields, tiles = stream.instructions, stream.tiles
    resets = (fields["opcode"] == Opcode.GEMM) & (fields["reset"] != 0) & (tiles < 0)
    adds = (fields["opcode"] == Opcode.ALU) & (fields["alu_opcode"] == AluOp.ADD) & (fields["use_imm"] != 0) & (tiles < 0)
    # Loads of micro-ops may lie between the two.
    others = np.flatnonzero(stream.segments != Segment.UOPS)
    fills = np.flatnonzero(resets[others[:-1]] & adds[others[1:]])
    stays = np.ones(len(fields), np.bool_)
    computed = _Computed(stream)
    filled, value, since = (0, 0), 0, 0
    for first, second in zip(others[fills].tolist(), others[fills + 1].tolist(), strict=True):
        rows, wanted = computed.rows(first), int(fields["imm"][second])
        there = value == wanted and filled[0] <= rows[0] and rows[1] <= filled[1]
        if there and not computed.between(since, first, rows):
            stays[[first, second]] = False
        else:
            filled, value, since = rows, wanted, second + 1
    return np.flatnonzero(stays)


class _Computed:
    """Which accumulator rows, and rows of the output with them, instructions write."""

    def __init__(self, stream: Stream) -> None:
        accesses, counts = stream.accesses, stream.access_counts
        writes = (accesses[:, 0] == Space.OUT) & (accesses[:, 1] != 0)
        self._owner = np.repeat(np.arange(len(counts)), counts)[writes]
        self._start = accesses[writes, 2]
        self._end = self._start + accesses[writes, 3]

    def rows(self, instruction: int) -> tuple[int, int]:
        """From the first row to behind the last that an instruction writes."""
        at = int(np.searchsorted(self._owner, instruction))
        return int(self._start[at]), int(self._end[at])

    def between(self, begin: int, end: int, rows: tuple[int, int]) -> bool:
        """Whether an instruction of [begin, end) writes one of the rows from the first to behind the last."""
        low, high = np.searchsorted(self._owner, (begin, end))
        return bool(((self._start[low:high] < rows[1]) & (self._end[low:high] > rows[0])).any())
