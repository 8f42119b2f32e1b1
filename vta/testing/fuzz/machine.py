"""What a program under construction has left in each memory: which rows are written, and the micro-ops on chip."""

from __future__ import annotations

from random import Random

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType

__all__ = ["CELL_BYTES", "Machine", "Span"]

CELL_BYTES = 4
"""Granularity of the DRAM bookkeeping: the smallest element of any memory is a multiple of it."""

Span = tuple[int, int]
"""A range of rows [start, stop)."""


class Machine:
    """Written rows of every SRAM and stored cells of the arena, shape (rows,) of bool; the micro-ops in SRAM."""

    def __init__(self, hw: HardwareConfig, arena_cells: int) -> None:
        self.hw = hw
        self.written = {
            memory: np.zeros(hw.depth(memory), dtype=bool)
            for memory in (MemoryType.INP, MemoryType.WGT, MemoryType.ACC, MemoryType.OUT)
        }
        self.table = np.zeros(hw.depth(MemoryType.TABLE), dtype=bool)
        self.uops: list[tuple[int, int, int] | None] = [None] * hw.uop_depth
        self.stored = np.zeros(arena_cells, dtype=bool)

    def span(self, memory: MemoryType, rng: Random) -> Span | None:
        """Part of a random run of written rows; None if no row is written."""
        return pick_span(self.written[memory], rng)


def pick_span(flags: NDArray[np.bool_], rng: Random) -> Span | None:
    """A random piece of a random run of true values; the whole run as often as not."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    if not len(edges):
        return None
    index = rng.randrange(len(edges) // 2)
    start, stop = int(edges[2 * index]), int(edges[2 * index + 1])
    if rng.random() < 0.5:
        start = rng.randrange(start, stop)
        stop = rng.randint(start + 1, stop)
    return start, stop
