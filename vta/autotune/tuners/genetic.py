"""A genetic algorithm: the choices of two good points are mixed, and now and then one is changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vta.autotune.tunable import Tunable
from vta.autotune.tuners.base import Tuner
from vta.autotune.tuners.moves import moved

__all__ = ["GeneticTuner"]

_ATTEMPTS = 8
_MUTATION = 0.75
"""Share of children that have a choice changed."""
_DECAY = 0.8
"""How much less often a point is a parent than the next better one."""
_PARTS = 6
"""Batches that a population is bred in: the sooner good points are parents, the better."""


class GeneticTuner(Tuner):
    """Keeps the best `pop_size` points and breeds from them; the first quarter of a population is random."""

    def __init__(self, task: Tunable, seed: int = 0, pop_size: int = 50) -> None:
        super().__init__(task, seed)
        self.pop_size = pop_size
        self.batch_size = max(4, pop_size // _PARTS)
        self._numbers = np.zeros(0, dtype=np.int64)
        self._scores = np.zeros(0)

    def update(self, numbers: Sequence[int], scores: Sequence[float]) -> None:
        """See `Tuner.update`."""
        super().update(numbers, scores)
        joined = np.concatenate([self._numbers, np.asarray(numbers, dtype=np.int64)])
        values = np.concatenate([self._scores, np.asarray(scores, dtype=float)])
        best = np.argsort(-values, kind="stable")[: self.pop_size]
        self._numbers, self._scores = joined[best], values[best]

    def _next(self, count: int) -> NDArray[np.int64]:
        if len(self._numbers) < max(2, self.pop_size // 4):
            return self.space.random(self.rng, count)
        children: list[NDArray[np.int64]] = []
        for _ in range(_ATTEMPTS):
            numbers = self.space.numbers(self._children(4 * count))
            children.append(numbers[numbers >= 0])
            fresh = set(np.concatenate(children).tolist()) - self.visited
            if len(fresh) >= count:
                break
        return np.concatenate(children)

    def _children(self, count: int) -> NDArray[np.int64]:
        """Positions of children: a parent's chance falls with its rank."""
        rank = np.arange(len(self._numbers))
        chance = _DECAY**rank
        parents = self.rng.choice(len(rank), (2, count), p=chance / chance.sum())
        first, second = (self.space.positions(self._numbers[chosen]) for chosen in parents)
        mixed = np.where(self.rng.random(first.shape) < 0.5, first, second)
        changed = self.rng.random(count) < np.where((mixed == first).all(axis=1), 1.0, _MUTATION)
        return np.where(changed[:, None], moved(mixed, self.space.dims, self.rng), mixed)
