"""Tiles of sums of bytes whose threads multiply matrices together, ranked by a small model."""

from __future__ import annotations

from itertools import product
from math import ceil, prod

from vta.host.gpu.footprint import copied_bytes
from vta.host.gpu.tiling import TURNS, GpuTile, SpatialTile, TiledSums
from vta.host.loop.expression import Var, loads, walk
from vta.host.loop.grid import GridLimits

__all__ = ["PARTS", "TENSOR_WORDS", "best_tensor_tiles", "is_tensor_tile", "takes_tensors", "tensor_bytes", "tensor_cuts"]

TENSOR_WORDS = 8
"""Words of bytes that a product sums up."""
_ROWS, _COLUMNS = 8, 4
_AXES = 3
_ROW_THREADS = (8, 16, 32, 64)
_ROW_INNER, _COLUMN_INNER = (2, 4, 8), (2, 4, 8)
_MIDDLE = (1, 2, 4, 7, 8)
_MOST_SUMS, _MOST_THREADS = 64, 512
_FEWEST_RESULTS = 8
"""Along the columns, so that most of a matrix is used."""
_WARP, _SCHEDULERS = 32, 4
_RESIDENT_BLOCKS, _RESIDENT_WARPS, _RESIDENT_BYTES, _RESERVED_BYTES = 32, 64, 228 * 1024, 1024
"""Of the blocks that a processor has at the same time."""
_WORD_BYTES = 4
_PRODUCT, _ROW_LOADS, _FETCH = 26.0, 37.0, 199.0
"""Cycles that a product takes to be issued, the loads of its rows, and a word of columns that is fetched."""
_STEP, _TURNS, _SHARE = 147.0, 1260.0, 1200.0
"""Cycles that a warp waits for a step, for the words that it fetches together, and for parts of sums."""
_REST = 0.3
"""Of issuing and waiting, what does not happen while the other does. These numbers and those before them were fitted to what
1,012 tiles of 11 convolutions took on an NVIDIA H200."""
PARTS = (1, 2, 4, 8, 16)
"""Of a sum, that other threads of a block add up."""
_UNROLLED_STEPS = 512


def takes_tensors(tiled: TiledSums, limits: GridLimits) -> bool:
    """Whether a device can compute sums by matrices of bytes, and has enough of them to."""
    words = tiled.sums.reduce[0].extent
    columns = prod(axis.extent for axis in tiled.sums.axes[-2:]) if len(tiled.sums.axes) > 2 else tiled.sums.axes[-1].extent
    fits = limits.tensor and bool(tiled.dot) and words % TENSOR_WORDS == 0 and columns >= _FEWEST_RESULTS
    return fits and all(tensor_cuts(tiled))


def is_tensor_tile(tiled: TiledSums, tile: GpuTile) -> bool:
    """Whether matrices come out even."""
    first, *_, last = tile.spatial
    axes = tiled.sums.axes[-len(tile.spatial) :]
    extents = [axis.extent for axis in tiled.sums.reduce if axis.name != tiled.dot]
    return (
        bool(tiled.dot)
        and len(tile.spatial) > 1
        and all(cut.virtual == 1 for cut in tile.spatial)
        and last.threads == _COLUMNS
        and first.threads % _ROWS == 0
        and first.inner % 2 == last.inner % 2 == 0
        and all(
            not even or axis.extent % cut.extent == 0 for even, axis, cut in zip(_even(tiled), axes, tile.spatial, strict=True)
        )
        and tile.reduce[0] % TENSOR_WORDS == 0
        and (tile.parts == 1 or all(cut.threads == 1 for cut in tile.spatial[1:-1]))
        and all(whole % part == 0 for whole, part in zip(extents, (tile.reduce[0] * tile.parts, *tile.reduce[1:]), strict=True))
    )


def _even(tiled: TiledSums) -> list[bool]:
    """Of which of the last axes blocks must not reach beyond the end, as operands are read there that are not copied."""
    used = {
        node.name
        for item in loads(tiled.sums.value)
        if item.buffer.name in tiled.direct
        for node in walk(item)
        if isinstance(node, Var)
    }
    return [axis.name in used for axis in tiled.sums.axes[-_AXES:]]


def tensor_cuts(tiled: TiledSums) -> list[list[SpatialTile]]:
    """How blocks can cut each of two or three axes, the first of which has the rows."""
    axes, even = tiled.sums.axes[-_AXES:], _even(tiled)
    rows = [SpatialTile(1, threads, inner) for threads in _ROW_THREADS for inner in _ROW_INNER]
    columns = [SpatialTile(1, _COLUMNS, inner) for inner in _COLUMN_INNER]
    middle = [
        [SpatialTile(1, one, two) for one in _MIDDLE for two in _MIDDLE if max(one, two) <= axis.extent] for axis in axes[1:-1]
    ]
    return [
        [
            cut
            for at, cut in enumerate(cuts)
            if (axis.extent % cut.extent == 0 if wanted else at == 0 or cut.extent < 2 * axis.extent)
        ]
        for axis, wanted, cuts in zip(axes, even, [rows, *middle, columns], strict=True)
    ]


def best_tensor_tiles(tiled: TiledSums, limits: GridLimits, count: int) -> list[GpuTile]:
    """So many tiles at most, those that the model ranks best first; none where the sums are none of matrices."""
    if not takes_tensors(tiled, limits):
        return []
    first, *others = [axis.extent for axis in tiled.sums.reduce if axis.name != tiled.dot]
    depths = [
        (depth, parts)
        for depth in range(TENSOR_WORDS, first + 1, TENSOR_WORDS)
        for parts in PARTS
        if first % (depth * parts) == 0
    ]
    found = [
        (cost, at, tile)
        for at, (spatial, (depth, parts)) in enumerate(product(product(*tensor_cuts(tiled)), depths))
        for tile in [GpuTile(spatial, (depth, *others), _UNROLLED_STEPS, True, True, parts)]
        if (cost := _cost(tiled, tile, limits)) is not None
    ]
    return [tile for _, _, tile in sorted(found, key=lambda item: item[:2])[:count]]


def tensor_bytes(tiled: TiledSums, tile: GpuTile) -> int:
    """Bytes of shared memory that a tile needs."""
    axes = tiled.sums.axes[-len(tile.spatial) :]
    extents = {axis.name: cut.extent for axis, cut in zip(axes, tile.spatial, strict=True)}
    extents |= dict(zip(tiled.reduce, tile.reduce, strict=True))
    extents[tiled.reduce[0]] *= tile.parts
    parts = _WORD_BYTES * tile.parts * prod(cut.extent for cut in tile.spatial) if tile.parts > 1 else 0
    return int(copied_bytes(tiled, extents, tiled.direct)) + parts


def _cost(tiled: TiledSums, tile: GpuTile, limits: GridLimits) -> float | None:
    """Cycles of the busiest processor; None for tiles that a block cannot have."""
    axes = tiled.sums.axes[-len(tile.spatial) :]
    shared = tensor_bytes(tiled, tile)
    sums = prod(cut.inner for cut in tile.spatial)
    if tile.parts > 1 and any(cut.threads > 1 for cut in tile.spatial[1:-1]):
        return None
    if sums > _MOST_SUMS or tile.threads > min(_MOST_THREADS, limits.threads) or shared > limits.shared_bytes:
        return None
    blocks = prod(ceil(axis.extent / cut.extent) for axis, cut in zip(axes, tile.spatial, strict=True))
    warps = tile.threads // _WARP
    products, rows = sums // 4, tile.spatial[0].inner // 2
    steps = prod(axis.extent for axis in tiled.sums.reduce if axis.name != tiled.dot) // TENSOR_WORDS // tile.parts
    chunks = tiled.sums.reduce[0].extent // tile.reduce[0] // tile.parts
    fetched = shared / _WORD_BYTES / tile.threads
    turns = ceil(blocks / limits.processors)
    resident = max(1, min(_RESIDENT_BLOCKS, _RESIDENT_WARPS // warps, _RESIDENT_BYTES // (shared + _RESERVED_BYTES)))
    issued = turns * warps / _SCHEDULERS * (steps * (products * _PRODUCT + rows * _ROW_LOADS) + chunks * fetched * _FETCH)
    waited = ceil(turns / resident) * (steps * _STEP + chunks * _TURNS * ceil(fetched / TURNS) + (tile.parts > 1) * _SHARE)
    return float(max(issued, waited) + _REST * min(issued, waited))
