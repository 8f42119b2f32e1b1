"""The ways in which a block of threads can share long sums of few elements, as the one knob of the published template."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vta.errors import TuningError
from vta.host.gpu.splitting import GpuSplit, block_columns, split_choices
from vta.host.gpu.tiling import TiledSums
from vta.host.loop.grid import GridLimits

__all__ = ["GpuSplitSpace"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class GpuSplitSpace:
    """All numbers of parts that a device has room for, numbered from 0."""

    def __init__(self, tiled: TiledSums, limits: GridLimits) -> None:
        """Raises `TuningError` if nothing fits."""
        self._columns = block_columns(tiled.sums)
        self._whole = tiled.sums.reduce[0].extent
        self._most = limits.threads
        self._choices = split_choices(tiled, limits)
        self.dims: tuple[int, ...] = (len(self._choices),)
        if not self._choices:
            raise TuningError(f"no valid split: {self.rejections()}")

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self._choices)

    def rejections(self) -> str:
        """What limits parts, as a text."""
        return f"parts divide {self._whole}, and {self._columns} sums of a block have {self._most} threads at most"

    def positions(self, numbers: Sequence[int] | Ints) -> Ints:
        """Which choice splits have, shape (n, 1)."""
        return np.asarray(numbers, dtype=np.int64)[:, None]

    def numbers(self, positions: Ints) -> Ints:
        """Numbers of positions."""
        return np.asarray(positions[:, 0], dtype=np.int64)

    def schedule(self, number: int) -> GpuSplit:
        """A split by its number."""
        return GpuSplit(self._choices[number])

    def find(self, schedule: GpuSplit) -> int | None:
        """The number of a split; None if it is not there."""
        return self._choices.index(schedule.parts) if schedule.parts in self._choices else None

    def random(self, rng: np.random.Generator, count: int) -> Ints:
        """Numbers of `count` splits at random; they may repeat."""
        return rng.integers(0, self.size, count)

    def features(self, kind: str, numbers: Ints) -> Floats:
        """What cost models see: parts, and, but for kind ``knob``, the length of each and the threads of a block."""
        parts = np.array([self._choices[int(number)] for number in numbers], dtype=np.float64)
        if kind == "knob":
            return parts[:, None]
        return np.log2(np.stack([parts, self._whole / parts, parts * self._columns], axis=1))
