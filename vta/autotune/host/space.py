"""The tiles that a convolution's kernel can have, as knobs with a fixed list of choices each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vta.errors import TuningError
from vta.host.kernels.products.convolution_shape import ConvolutionShape
from vta.host.kernels.tiles import Tile
from vta.host.processors import CpuTarget

__all__ = ["TileSpace"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_MOST_BLOCKS = 8
_MOST_CHUNKS = 16


class TileSpace:
    """The valid tiles of one convolution, numbered from 0."""

    def __init__(self, shape: ConvolutionShape, target: CpuTarget) -> None:
        self._shape = shape
        self._target = target
        self._choices = _choices(shape, target)
        self.dims = tuple(len(choices) for choices in self._choices)
        self.rejected: dict[str, int] = Counter()
        """How many tiles were left out, by the reason."""
        self._tiles: list[Tile] = []
        valid = []
        for position in np.ndindex(self.dims):
            tile = self._tile(position)
            reason = _reason(shape, tile, target)
            if reason:
                self.rejected[reason] += 1
            else:
                self._tiles.append(tile)
                valid.append(position)
        if not valid:
            raise TuningError(f"no valid tile: {self.rejections()}")
        self._positions = np.array(valid, dtype=np.int64)
        self._numbers = np.full(self.dims, -1, dtype=np.int64)
        self._numbers[tuple(self._positions.T)] = np.arange(len(valid))

    @property
    def size(self) -> int:
        """Number of valid tiles."""
        return len(self._tiles)

    def rejections(self) -> str:
        """The tiles that were left out per reason, as a text."""
        return "; ".join(f"{count:,} tiles: {reason}" for reason, count in self.rejected.items()) or "none"

    def positions(self, numbers: Sequence[int] | Ints) -> Ints:
        """Which choice of each knob the tiles have, shape (n, 5)."""
        return self._positions[np.asarray(numbers, dtype=np.int64)]

    def numbers(self, positions: Ints) -> Ints:
        """Numbers of positions, -1 for those that are not valid."""
        return np.asarray(self._numbers[tuple(positions.T)], dtype=np.int64)

    def schedule(self, number: int) -> Tile:
        """A tile by its number."""
        return self._tiles[number]

    def find(self, schedule: Tile) -> int | None:
        """The number of a tile; None if it is not there."""
        return self._tiles.index(schedule) if schedule in self._tiles else None

    def random(self, rng: np.random.Generator, count: int) -> Ints:
        """Numbers of `count` tiles at random; they may repeat."""
        return rng.integers(0, self.size, count)

    def features(self, kind: str, numbers: Ints) -> Floats:
        """What cost models see: the knobs, and, but for kind ``knob``, what follows from them for registers and caches."""
        tiles = [self._tiles[number] for number in numbers.tolist()]
        knobs = [
            [np.log2(tile.columns), tile.blocks, np.log2(tile.rows), np.log2(tile.chunk + 1), tile.unrolled] for tile in tiles
        ]
        if kind == "knob":
            return np.array(knobs, dtype=np.float64)
        return np.array([[*row, *self._derived(tile)] for row, tile in zip(knobs, tiles, strict=True)], dtype=np.float64)

    def _derived(self, tile: Tile) -> list[float]:
        shape = self._shape
        sums = tile.columns * tile.blocks
        taps = shape.window[0] * shape.window[1]
        channels = (tile.chunk or max(1, shape.in_blocks)) * self._target.lanes(4)
        weights = np.log2(tile.blocks * taps * channels * self._target.vector_bytes)
        rests = float(shape.columns % tile.columns), float(shape.blocks % tile.blocks), float(shape.rows % tile.rows)
        loads = (tile.columns + tile.blocks) / sums
        return [sums, loads, float(weights), float(np.log2(1 + shape.stack_bytes(tile, self._target))), *rests]

    def _tile(self, position: Sequence[int]) -> Tile:
        values = [choices[at] for choices, at in zip(self._choices, position, strict=True)]
        return Tile(blocks=values[0], rows=values[1], columns=values[2], chunk=values[3], unrolled=values[4])


def _choices(shape: ConvolutionShape, target: CpuTarget) -> tuple[list[int], ...]:
    """Of each knob: vectors of channels, rows, columns, blocks in a chunk, loops over the window that are written out."""
    chunks = [0, *(count for count in _divisors(shape.in_blocks)[:-1][:_MOST_CHUNKS])] if shape.in_chunks else [0]
    return (
        [count for count in _divisors(shape.blocks) if count <= _MOST_BLOCKS],
        _divisors(shape.rows),
        list(range(1, min(shape.columns, target.vector_registers) + 1)),
        chunks,
        [0, 1, 2] if shape.window != (1, 1) else [0],
    )


def _divisors(whole: int) -> list[int]:
    return [count for count in range(1, whole + 1) if whole % count == 0]


def _reason(shape: ConvolutionShape, tile: Tile, target: CpuTarget) -> str:
    """Why a tile is no candidate, without its numbers, so that equal reasons can be counted."""
    if tile.rows > 1 and not (tile.chunk or shape.depthwise):
        return "rows are kept for chunks and depthwise convolutions only"
    problem = shape.problem(tile, target)
    for word, reason in (("registers", "the registers"), ("written out", "the length of the code"), ("bytes", "the stack")):
        if word in problem:
            return reason
    return problem
