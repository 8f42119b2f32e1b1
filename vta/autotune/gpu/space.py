"""The tiles that sums on a GPU can have, as the knobs of the published templates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from vta.errors import TuningError
from vta.host.gpu.tensor_tiles import PARTS, TENSOR_WORDS, takes_tensors, tensor_cuts
from vta.host.gpu.tiles import shared_bytes, tile_fits
from vta.host.gpu.tiling import GpuTile, SpatialTile, TiledSums
from vta.host.loop.grid import GridLimits
from vta.records.gpu.knobs import REDUCE_KNOBS, UNROLL_STEPS

__all__ = ["GpuTileSpace"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_TRIES = 200
"""Of drawing a tile at random, for each that is wanted."""
_LEAST_THREADS, _MOST_THREADS = 16, 1024
_MOST_SUMS = 128
"""That a thread keeps, so that they are registers."""
_MOST_VIRTUAL = 16


class GpuTileSpace:
    """All combinations of knobs, numbered from 0. Most of them no block of threads can have: `numbers` gives -1 for those.

    Where a device multiplies matrices of bytes, and there are enough of them, tiles are those that do.
    """

    def __init__(self, name: str, tiled: TiledSums, limits: GridLimits) -> None:
        """Of a workload's name. Raises `TuningError` if nothing fits."""
        self._tiled = tiled
        self._limits = limits
        spatial = [axis.extent for axis in tiled.sums.axes]
        self._axes = spatial[-3:] if len(spatial) > 3 else spatial
        extents = {axis.name: axis.extent for axis in tiled.sums.reduce}
        self._window = tuple(extents[axis] for axis in tiled.reduce)
        cut = self._window if REDUCE_KNOBS[name] else ()
        self._tensor = takes_tensors(tiled, limits)
        self._spatial = [[SpatialTile(*parts) for parts in _factorizations(size, 3)] for size in self._axes]
        self._reduce = [[parts[0] for parts in _factorizations(size, 1)] for size in cut]
        if self._tensor:
            self._spatial = tensor_cuts(tiled)
            self._reduce[0] = [count for count in self._reduce[0] if count % TENSOR_WORDS == 0]
        self._parts = PARTS if self._tensor else (1,)
        self.dims = (*map(len, self._spatial), *map(len, self._reduce), len(UNROLL_STEPS), 2)
        if self._tensor:
            self.dims = (*self.dims, len(self._parts))
        self._known: dict[int, bool] = {}
        if not self.random(np.random.default_rng(0), 1).size:
            raise TuningError(f"no valid tile: {self.rejections()}")

    @cached_property
    def size(self) -> int:
        """Number of combinations."""
        return prod(self.dims)

    def rejections(self) -> str:
        """What limits tiles, as a text."""
        limits = self._limits
        return (
            f"tiles have {_LEAST_THREADS} to {min(limits.threads, _MOST_THREADS)} threads, at most {_MOST_SUMS} sums each, "
            f"and {limits.shared_bytes:,} bytes together"
        )

    def positions(self, numbers: Sequence[int] | Ints) -> Ints:
        """Which choice of each knob tiles have, shape (n, knobs)."""
        return np.stack(np.unravel_index(np.asarray(numbers, dtype=np.int64), self.dims), axis=1).astype(np.int64)

    def numbers(self, positions: Ints) -> Ints:
        """Numbers of positions, -1 for those that are not valid."""
        numbers = np.ravel_multi_index(tuple(positions.T), self.dims).astype(np.int64)
        valid = np.array([self._is_valid(int(number)) for number in numbers], dtype=bool)
        return np.where(valid, numbers, -1)

    def schedule(self, number: int) -> GpuTile:
        """A tile by its number."""
        position = np.unravel_index(number, self.dims)
        chosen = [choices[int(at)] for choices, at in zip(self._spatial, position, strict=False)]
        rest = [int(at) for at in position[len(chosen) :]]
        reduce = tuple(choices[at] for choices, at in zip(self._reduce, rest, strict=False)) or self._window
        parts = self._parts[rest.pop()] if self._tensor else 1
        return GpuTile(tuple(chosen), reduce, UNROLL_STEPS[rest[-2]], bool(rest[-1]), self._tensor, parts)

    def find(self, schedule: GpuTile) -> int | None:
        """The number of a tile; None if it is not there."""
        try:
            position = [choices.index(item) for choices, item in zip(self._spatial, schedule.spatial, strict=True)]
            position += [choices.index(item) for choices, item in zip(self._reduce, schedule.reduce, strict=False)]
            position += [UNROLL_STEPS.index(schedule.unrolled_steps), int(schedule.explicit)]
            position += [self._parts.index(schedule.parts)] if self._tensor else []
        except ValueError:
            return None
        fits = schedule.tensor == self._tensor and self._fits(schedule)
        return int(np.ravel_multi_index(position, self.dims)) if fits else None

    def random(self, rng: np.random.Generator, count: int) -> Ints:
        """Numbers of up to `count` tiles at random; they may repeat."""
        found: list[int] = []
        for _ in range(_TRIES):
            drawn = rng.integers(0, self.size, 8 * count).tolist()
            found += [number for number in drawn if self._is_valid(number)]
            if len(found) >= count:
                break
        return np.array(found[:count], dtype=np.int64)

    def features(self, kind: str, numbers: Ints) -> Floats:
        """What cost models see: the knobs, and, but for kind ``knob``, what follows from them for a block of threads."""
        return np.array([self._features(kind, self.schedule(int(number))) for number in numbers], dtype=np.float64)

    def _features(self, kind: str, tile: GpuTile) -> list[float]:
        knobs: list[float] = [*tile.reduce, tile.unrolled_steps, tile.explicit, *([tile.parts] if self._tensor else [])]
        for cut in tile.spatial:
            knobs += [cut.virtual, cut.threads, cut.inner]
        if kind == "knob":
            return knobs
        outputs = prod(cut.extent for cut in tile.spatial)
        blocks = prod(-(-size // cut.extent) for size, cut in zip(self._axes, tile.spatial, strict=False))
        sums = outputs / tile.threads
        channel = tile.spatial[0].inner * tile.spatial[0].virtual
        near = (channel + sums / channel) / sums
        shared = shared_bytes(self._tiled, tile)
        far = shared / (outputs * prod(tile.reduce))
        derived = [outputs, blocks, sums, near, shared, far, tile.threads, blocks * tile.threads, tile.spatial[-1].threads]
        return [*knobs, *(float(np.log2(value)) for value in derived)]

    def _is_valid(self, number: int) -> bool:
        if number not in self._known:
            self._known[number] = self._fits(self.schedule(number))
        return self._known[number]

    def _fits(self, tile: GpuTile) -> bool:
        sums = prod(cut.virtual * cut.inner for cut in tile.spatial)
        return (
            _LEAST_THREADS <= tile.threads <= min(self._limits.threads, _MOST_THREADS)
            and sums <= _MOST_SUMS
            and prod(cut.virtual for cut in tile.spatial) <= _MOST_VIRTUAL
            and (tile.tensor or tile.spatial[0].threads <= self._limits.block[2])
            and tile_fits(self._tiled, tile, self._limits)
        )


def _factorizations(whole: int, count: int) -> list[tuple[int, ...]]:
    """Factors of a number, `count` of them, that multiply to one of its divisors."""
    if count == 0:
        return [()]
    return [
        (factor, *rest)
        for factor in range(1, whole + 1)
        if whole % factor == 0
        for rest in _factorizations(whole // factor, count - 1)
    ]
