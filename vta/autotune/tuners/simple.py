"""Tuners that learn nothing: every point in order, or at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vta.autotune.tuners.base import Tuner

__all__ = ["GridSearchTuner", "RandomTuner"]


class GridSearchTuner(Tuner):
    """Every point of the space, in order."""

    def _next(self, count: int) -> Sequence[int]:
        first = len(self.visited)
        return range(first, first + count)


class RandomTuner(Tuner):
    """Points at random."""

    def _next(self, count: int) -> NDArray[np.int64]:
        return self.space.random(self.rng, count)
