"""What every tuner is: something that proposes points of a space and learns what they cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vta.autotune.tunable import Tunable

__all__ = ["Tuner"]

Ints = NDArray[np.int64]


class Tuner(ABC):
    """Proposes points of a task's space, none twice. The same seed gives the same proposals for the same costs."""

    batch_size = 64
    """Points that are best proposed at once."""

    def __init__(self, task: Tunable, seed: int = 0) -> None:
        self.task = task
        self.space = task.space
        self.rng = np.random.default_rng(seed)
        self.visited: set[int] = set()
        self.best: int | None = None
        self.best_score = 0.0

    def propose(self, count: int) -> list[int]:
        """Numbers of up to `count` points not proposed before; fewer only if the space has no more."""
        count = min(count, self.space.size - len(self.visited))
        chosen: list[int] = []
        if count > 0:
            self._take(self._next(count), chosen, count)
        while len(chosen) < count:
            self._take(self._fresh(count - len(chosen)), chosen, count)
        return chosen

    def update(self, numbers: Sequence[int], scores: Sequence[float]) -> None:
        """Learn the scores of points: the task's roofline over their cycles, so at most 1; 0 for a failed trial."""
        for number, score in zip(numbers, scores, strict=True):
            if score > self.best_score:
                self.best, self.best_score = number, score

    def start_from(self, numbers: Sequence[int], scores: Sequence[float]) -> None:
        """Learn the scores of points that were not proposed, before the first proposal."""
        self.update(numbers, scores)

    @abstractmethod
    def _next(self, count: int) -> Sequence[int] | Ints:
        """Points to propose, best first; those visited are skipped, and random ones make up for what is missing."""

    def _take(self, numbers: Sequence[int] | Ints, chosen: list[int], count: int) -> None:
        for number in map(int, numbers):
            if len(chosen) == count:
                return
            if number not in self.visited:
                self.visited.add(number)
                chosen.append(number)

    def _fresh(self, count: int) -> Sequence[int] | Ints:
        """Points at random, or, where most of the space is visited, those that are left."""
        if 2 * len(self.visited) < self.space.size:
            return self.space.random(self.rng, 2 * count)
        left = np.setdiff1d(np.arange(self.space.size), np.fromiter(self.visited, np.int64, len(self.visited)))
        return self.rng.permutation(left)
