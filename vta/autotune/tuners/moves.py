"""Small changes of points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["moved"]

Ints = NDArray[np.int64]


def moved(positions: Ints, dims: Sequence[int], rng: np.random.Generator) -> Ints:
    """Give one or two knobs of each position, shape (n, k), another choice: a neighbouring one as often as any."""
    result = positions.copy()
    rows = np.arange(len(positions))
    sizes = np.asarray(dims, dtype=np.int64)
    open_knobs = np.flatnonzero(sizes > 1)
    if not len(open_knobs):
        return result
    for chance in (1.0, 0.4):
        knob = rng.choice(open_knobs, len(positions))
        step = np.where(rng.random(len(positions)) < 0.5, -1, 1)
        near = np.clip(result[rows, knob] + step, 0, sizes[knob] - 1)
        anywhere = rng.integers(0, sizes[knob])
        choice = np.where(rng.random(len(positions)) < 0.5, near, anywhere)
        taken = rng.random(len(positions)) < chance
        result[rows, knob] = np.where(taken, choice, result[rows, knob])
    return result
