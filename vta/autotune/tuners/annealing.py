"""Simulated annealing on a cost model: finds points that the model thinks well of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vta.autotune.tunable import SearchSpace
from vta.autotune.tuners.moves import moved

__all__ = ["anneal"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_STEPS = 12


def anneal(
    space: SearchSpace, predict: Callable[[Ints], Floats], starts: Ints, count: int, avoid: set[int], rng: np.random.Generator
) -> Ints:
    """Walk from the points `starts`, all at once; returns up to `count` points of the highest prediction, none in `avoid`."""
    points = starts.copy()
    energy = predict(points)
    spread = max(1e-9, float(energy.std()))
    seen: dict[int, float] = dict(zip(points.tolist(), energy.tolist(), strict=True))
    for step in range(_STEPS):
        temperature = spread * (1 - step / _STEPS)
        numbers = space.numbers(moved(space.positions(points), space.dims, rng))
        candidates = np.where(numbers >= 0, numbers, points)
        proposed = predict(candidates)
        seen.update(zip(candidates.tolist(), proposed.tolist(), strict=True))
        gain = proposed - energy
        accepted = (gain >= 0) | (rng.random(len(points)) < np.exp(np.minimum(gain, 0) / max(temperature, 1e-9)))
        points, energy = np.where(accepted, candidates, points), np.where(accepted, proposed, energy)
    best = sorted((number for number in seen if number not in avoid), key=lambda number: -seen[number])
    return np.array(best[:count], dtype=np.int64)
