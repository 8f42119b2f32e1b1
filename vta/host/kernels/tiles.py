"""Which tile of outputs a kernel keeps in registers: built to fit them, ranked by a small model of the processor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vta.host.processors import CpuTarget
from vta.support.dataclass import dataclass

__all__ = ["Tile", "chunked", "convolution_tiles", "dense_tile", "parts", "row_tiles"]

_PRODUCTS_A_CYCLE = 2
_LOADS_A_CYCLE = 2
_LATENCY_CYCLES = 4
"""Of a fused product: so many times the products of a cycle must be independent."""
_LARGEST_BLOCKS = 4
_LARGEST_ROW = 14
"""Columns of one block: sums enough to hide the latency; more make long code that takes long to compile."""
_ITEM_BYTES = 4
_WEIGHT_BYTES = 24 * 1024
"""Of weights that are to stay in the nearest cache."""
_POINT_BYTES = 48 * 1024
"""Of weights, data and sums that are to stay there, where a window is one place; fewer weights stay by themselves."""
_SUM_BYTES = 32 * 1024
"""Of sums that wait for more products."""
_NEAR_BYTES = 96 * 1024
"""What a thread may keep on its stack, and finds in a near cache."""
_STEP_CYCLES = 0.5
"""For what a step does beside loads and products."""
_START_CYCLES = 8
"""To start a tile's loops and to store its sums, for each vector."""


@dataclass(frozen=True)
class Tile:
    """Output columns and blocks of channels that are summed up together."""

    columns: int
    blocks: int
    rows: int = 1
    """For which parts of the input, or sums of parts of the products, are kept in the cache, where the kernel does that."""
    chunk: int = 0
    """Blocks of input channels whose products are added up at a time; 0 for all."""
    unrolled: int = 0
    """Of the loops over a window so many are written out, that over its columns first."""


def convolution_tiles(columns: int, blocks: int, depth: int, target: CpuTarget, of_bytes: bool = False) -> list[Tile]:
    """Tiles for sums of `depth` products over `columns` times `blocks` vectors, the best first.

    A tile keeps one register for each sum, one for each block's weights and one for the input, unless products take that from
    memory, which those `of_bytes` do not. Its blocks leave no rest, so that threads can share them and the code stays short.
    """
    more = 0 if target.broadcasts_from_memory and not of_bytes else 1
    rooms = [
        Tile(width, count)
        for width in range(1, columns + 1)
        for count in range(1, min(blocks, max(_LARGEST_BLOCKS, _LARGEST_ROW // width)) + 1)
        if blocks % count == 0 and width * count + count + more <= target.vector_registers
    ]
    return sorted(rooms, key=lambda tile: (_cycles(tile, columns, blocks, depth), tile.blocks))


def chunked(tile: Tile, shape: Sequence[int], window: int, in_blocks: int, target: CpuTarget) -> Tile:
    """The tile with the rows and the chunk of a convolution with windows of some places and so many blocks of input channels.

    A chunk's weights are read again for each tile of some rows, from the nearest cache; sums of parts lie in it meanwhile.
    """
    _, _, rows, columns = shape
    block_bytes = window * target.lanes(_ITEM_BYTES) * target.vector_bytes * tile.blocks
    if in_blocks * block_bytes <= (_POINT_BYTES if window == 1 else _WEIGHT_BYTES):
        return tile
    row_bytes = columns * tile.blocks * target.vector_bytes
    together = _divisor(rows, _SUM_BYTES // row_bytes)
    # Where a window is one place, a tile meets its data once for each chunk.
    data_bytes = tile.columns * target.vector_bytes
    point_fits = (_POINT_BYTES - together * row_bytes) // (block_bytes + data_bytes)
    fits = point_fits if window == 1 else _WEIGHT_BYTES // block_bytes
    return replace(tile, chunk=_divisor(in_blocks, fits), rows=together)


def row_tiles(shape: Sequence[int], window: Sequence[int], strides: Sequence[int], target: CpuTarget) -> list[Tile]:
    """Tiles of one block for operators that take each channel of an image by itself, the best first."""
    _, _, rows, columns = shape
    rooms = [Tile(width, 1) for width in range(1, min(columns, _LARGEST_ROW, target.vector_registers - 2) + 1)]
    best = sorted(rooms, key=lambda tile: _cycles(tile, columns, 1, window[0] * window[1]))
    row_bytes = (columns * strides[1] + window[1]) * target.vector_bytes
    fits = max(1, (_NEAR_BYTES // row_bytes - window[0]) // strides[0] + 1)
    return [replace(tile, rows=_divisor(rows, fits), unrolled=2) for tile in best]


def dense_tile(blocks: int, target: CpuTarget) -> Tile:
    """The tile of a dense layer: sums enough to hide the latency, of blocks that leave no rest if possible."""
    most = min(blocks, target.vector_registers // 2 - 4)
    whole = _divisor(blocks, most)
    return Tile(1, whole if whole * 2 >= most else min(blocks, most))


def _divisor(whole: int, limit: int) -> int:
    """The largest divisor up to a limit, which counts as at least 1."""
    return max(count for count in range(1, min(whole, max(limit, 1)) + 1) if whole % count == 0)


def _cycles(tile: Tile, columns: int, blocks: int, depth: int) -> float:
    """Cycles of all tiles of one row of outputs, the smaller ones at the edges among them."""
    total = 0.0
    for width, times in parts(columns, tile.columns):
        for count, rows in parts(blocks, tile.blocks):
            sums = width * count
            step = max(sums / _PRODUCTS_A_CYCLE, (width + count) / _LOADS_A_CYCLE, _LATENCY_CYCLES)
            total += times * rows * (depth * (step + _STEP_CYCLES) + _START_CYCLES + sums)
    return total


def parts(whole: int, size: int) -> list[tuple[int, int]]:
    """Sizes of the pieces of a range, and how many there are of each."""
    return [(part, times) for part, times in ((size, whole // size), (whole % size, 1)) if part and times]
