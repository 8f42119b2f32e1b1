"""Tiles of sums of bytes whose threads multiply matrices together, ranked by a small model."""

from __future__ import annotations

from itertools import product
from math import ceil, prod

from vta.host.gpu.footprint import copied_bytes
from vta.host.gpu.tiling import GpuTile, SpatialTile, TiledSums
from vta.host.loop.expression import Var, loads, walk
from vta.host.loop.grid import GridLimits

__all__ = ["TENSOR_WORDS", "best_tensor_tiles", "is_tensor_tile", "tensor_cuts", "takes_tensors"]

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
_PRODUCT, _ROW_LOADS, _COLUMN_LOADS = 16.0, 16.0, 8.0
"""Cycles that a product takes to be issued, and the loads of its operands."""
_STEP, _FETCH, _WAIT, _START = 45.0, 24.0, 900.0, 400.0
"""Cycles of a step by itself, of four bytes that are fetched, of a wait for memory, and of a block."""
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
        and all(whole % part == 0 for whole, part in zip(extents, tile.reduce, strict=True))
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
    depths = [depth for depth in range(TENSOR_WORDS, first + 1, TENSOR_WORDS) if first % depth == 0]
    found = [
        (cost, at, tile)
        for at, (spatial, depth) in enumerate(product(product(*tensor_cuts(tiled)), depths))
        for tile in [GpuTile(spatial, (depth, *others), _UNROLLED_STEPS, True, True)]
        if (cost := _cost(tiled, tile, limits)) is not None
    ]
    return [tile for _, _, tile in sorted(found, key=lambda item: item[:2])[:count]]


def _cost(tiled: TiledSums, tile: GpuTile, limits: GridLimits) -> float | None:
    """Cycles of the busiest processor; None for tiles that a block cannot have."""
    axes = tiled.sums.axes[-len(tile.spatial) :]
    extents = {axis.name: cut.extent for axis, cut in zip(axes, tile.spatial, strict=True)}
    extents |= dict(zip(tiled.reduce, tile.reduce, strict=True))
    shared = copied_bytes(tiled, extents, tiled.direct)
    sums = prod(cut.inner for cut in tile.spatial)
    if sums > _MOST_SUMS or tile.threads > min(_MOST_THREADS, limits.threads) or shared > limits.shared_bytes:
        return None
    blocks = prod(ceil(axis.extent / cut.extent) for axis, cut in zip(axes, tile.spatial, strict=True))
    warps = tile.threads // _WARP
    first = tile.spatial[0]
    products, rows, columns = sums // 4, first.inner // 2, sums // first.inner // 2
    steps = prod(axis.extent for axis in tiled.sums.reduce if axis.name != tiled.dot) // TENSOR_WORDS
    chunks = tiled.sums.reduce[0].extent // tile.reduce[0]
    fetched = chunks * shared / 4 / tile.threads
    turns = ceil(blocks / limits.processors)
    issued = (
        warps / _SCHEDULERS * (steps * (products * _PRODUCT + rows * _ROW_LOADS + columns * _COLUMN_LOADS) + fetched * _FETCH)
    )
    return float(turns * max(issued, 1.0) + (steps * _STEP + chunks * _WAIT + _START) * ceil(turns / 4))
