"""Which tile sums have that nobody has tuned: built to fit a block, ranked by a model of a processor and its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.gpu.anchors import WEIGHT
from vta.host.gpu.footprint import copied_bytes
from vta.host.gpu.tensor_tiles import best_tensor_tiles, is_tensor_tile, tensor_bytes
from vta.host.gpu.tiling import GpuTile, SpatialTile, TiledSums
from vta.host.loop.grid import GridLimits
from vta.support.dataclass import dataclass

__all__ = ["best_tiles", "shared_bytes", "tile_fits"]

_FEWEST_THREADS, _MOST_THREADS = 32, 512
_MOST_INNER = 16
_WARP, _SCHEDULERS = 32, 4
"""Threads that go on together, and how many such groups a processor starts at a time."""
_RESIDENT_THREADS, _RESIDENT_BLOCKS, _RESIDENT_BYTES = 2048, 8, 228 * 1024
"""Of the blocks that a processor has at the same time."""
_RESERVED = 1024
"""Bytes of shared memory that each of them takes beside its own."""
_NEAR, _FAR = 6.0, 4.0
"""What it takes to read a value of shared memory, and to bring one there, in products of a thread."""
_STEP, _FETCH, _PRODUCT = 690.0, 30.0, 11.0
"""How long a block waits for a step of its reduction, for a value that each thread fetches, and for a product. These numbers
and those before them were fitted to what 912 tiles of 12 convolutions took on an NVIDIA H200."""
_VECTOR = 4
_VALUE = 4
"""Bytes of one that is fetched."""
_TILED_AXES = 3
_CUTS = ((4, 8, 16, 32), (1, 2, 4, 7, 8), (1, 4, 7, 8, 14, 16, 28, 32, 64))
"""Threads of a block along the last axes."""
_INNER = (1, 2, 4, 8)
_DEPTHS = (4, 8, 16, 32, 64)
"""Of the first axis of a reduction, so much is in shared memory at a time."""
_UNROLLED_STEPS = 512

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Candidates:
    """Tiles, an entry of each array for each of them."""

    threads: list[Ints]
    """Of each axis."""
    inner: list[Ints]
    depth: Ints

    def extent(self, axis: int) -> Ints:
        """Of a block along an axis."""
        return self.threads[axis] * self.inner[axis]


def best_tiles(tiled: TiledSums, limits: GridLimits, count: int) -> list[GpuTile]:
    """So many tiles at most, those that the model ranks best first; one thread for each sum where nothing else fits."""
    matrices = best_tensor_tiles(tiled, limits, count)
    if matrices:
        return matrices
    sizes = [axis.extent for axis in tiled.sums.axes][-_TILED_AXES:]
    extents = {axis.name: axis.extent for axis in tiled.sums.reduce}
    first, *others = tiled.reduce
    whole = tuple(extents[name] for name in others)
    depths = sorted({_divisor(extents[first], most) for most in _DEPTHS})
    found = _candidates(sizes, depths)
    costs = _costs(tiled, found, sizes, whole, limits)
    tiles = []
    for at in np.argsort(costs, kind="stable")[:count]:
        if np.isfinite(costs[at]):
            cuts = (SpatialTile(1, int(t[at]), int(i[at])) for t, i in zip(found.threads, found.inner, strict=True))
            tiles.append(GpuTile(tuple(cuts), (int(found.depth[at]), *whole), _UNROLLED_STEPS))
    return tiles or [GpuTile(tuple(SpatialTile() for _ in sizes), tuple(1 for _ in tiled.reduce))]


def _divisor(whole: int, limit: int) -> int:
    return max(count for count in range(1, min(whole, limit) + 1) if whole % count == 0)


def _candidates(sizes: list[int], depths: Sequence[int]) -> _Candidates:
    cuts = [_cuts(size, counts) for size, counts in zip(sizes, _CUTS[-len(sizes) :], strict=True)]
    rows = np.array([[*chain.from_iterable(chosen), depth] for chosen in product(*cuts) for depth in depths])
    axes = len(sizes)
    return _Candidates([rows[:, 2 * at] for at in range(axes)], [rows[:, 2 * at + 1] for at in range(axes)], rows[:, -1])


def _cuts(size: int, counts: Sequence[int]) -> list[tuple[int, int]]:
    """Threads and elements of each, in blocks along an axis that are not twice as long as it."""
    return [
        (threads, inner) for threads in counts for inner in _INNER if threads * inner < 2 * size and (inner == 1 or inner <= size)
    ] or [(1, 1)]


def _costs(tiled: TiledSums, found: _Candidates, sizes: list[int], whole: tuple[int, ...], limits: GridLimits) -> Any:
    """The time that the busiest processor takes for its blocks: to issue what they do, and to wait for it.

    Infinite for tiles that a block cannot have.
    """
    axes = range(len(sizes))
    blocks: Any = prod(-(-size // found.extent(at)) for at, size in zip(axes, sizes, strict=True))
    threads: Any = prod(found.threads)
    inner: Any = prod(found.inner)
    steps = found.depth * prod(whole)
    names = [axis.name for axis in tiled.sums.axes][-len(sizes) :]
    extents: dict[str, Any] = {name: found.extent(at) for at, name in zip(axes, names, strict=True)}
    extents |= dict(zip(tiled.reduce, (found.depth, *whole), strict=True))
    shared = copied_bytes(tiled, extents)
    reduction = prod(axis.extent for axis in tiled.sums.reduce if axis.name != tiled.dot)
    channel = found.inner[0]
    near = (channel + inner / channel) / inner
    fetched = shared / _VALUE / threads
    turns = np.ceil(blocks * prod(axis.extent for axis in tiled.sums.axes[: -len(sizes)]) / limits.processors)
    resident = np.minimum(
        _RESIDENT_BLOCKS, np.minimum(_RESIDENT_THREADS // np.maximum(threads, _WARP), _RESIDENT_BYTES // (shared + _RESERVED))
    )
    work = reduction * inner
    issued = turns * np.ceil(threads / _WARP) * work * (1 + _NEAR * near + _FAR * fetched / (steps * inner)) / _SCHEDULERS
    waited = np.ceil(turns / np.maximum(resident, 1)) * (reduction / steps * (_STEP + _FETCH * fetched) + work * _PRODUCT)
    fits = (threads >= _FEWEST_THREADS) & (threads <= min(_MOST_THREADS, limits.threads)) & (inner <= _MOST_INNER)
    fits &= shared <= limits.shared_bytes
    if WEIGHT in tiled.vectors:
        fits &= found.extent(_channel(len(sizes))) % _VECTOR == 0
    return np.where(fits, issued + waited, np.inf)


def _channel(axes: int) -> int:
    """Which of the tiled axes is that of output channels."""
    return 0 if axes == _TILED_AXES else axes - 1


def shared_bytes(tiled: TiledSums, tile: GpuTile) -> int:
    """Bytes of shared memory that a tile needs."""
    if tile.tensor:
        return tensor_bytes(tiled, tile)
    axes = [axis.name for axis in tiled.sums.axes]
    extents = dict(zip(axes[-len(tile.spatial) :], (cut.extent for cut in tile.spatial), strict=True))
    extents.update(zip(tiled.reduce, tile.reduce, strict=True))
    return int(copied_bytes(tiled, extents))


def tile_fits(tiled: TiledSums, tile: GpuTile, limits: GridLimits) -> bool:
    """Whether a device can have a tile, and copies in vectors come out even."""
    if tile.threads > limits.threads or shared_bytes(tiled, tile) > limits.shared_bytes:
        return False
    if tile.tensor:
        return limits.tensor and is_tensor_tile(tiled, tile)
    return WEIGHT not in tiled.vectors or tile.spatial[_channel(len(tile.spatial))].extent % _VECTOR == 0
