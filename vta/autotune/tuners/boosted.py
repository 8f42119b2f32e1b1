"""Tuners with a boosted-tree cost model: measure, learn, anneal on the model, measure what it likes best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from vta.autotune.tunable import Tunable
from vta.autotune.tuners.annealing import anneal
from vta.autotune.tuners.base import Tuner
from vta.autotune.tuners.cost_model import CostModel
from vta.autotune.tuners.moves import moved
from vta.support.dataclass import dataclass

__all__ = ["BoostedTuner", "Experience"]

_CHAINS = 64
_RANDOM_SHARE = 0.2
_NEAR_SHARE = 0.4
_FIRST_BATCH = 48
_LATER_BATCH = 32
_BEST = 4
_LEARNED_LIMIT = 2048

Floats = NDArray[np.float64]


@dataclass
class Experience:
    """What tasks have taught, for transfer learning: features and scores of their points, by kind of features and task."""

    batches: dict[str, dict[str, tuple[Floats, Floats]]] = field(default_factory=dict)

    def of(self, kind: str) -> dict[str, tuple[Floats, Floats]]:
        """What there is for one kind of features, oldest first."""
        return self.batches.setdefault(kind, {})


class BoostedTuner(Tuner):
    """`loss` is one of `cost_model.LOSSES`, `kind` one of knob, itervar and curve. `experience` is what earlier tasks taught."""

    batch_size = _FIRST_BATCH

    def __init__(
        self, task: Tunable, seed: int = 0, loss: str = "reg", kind: str = "itervar", experience: Experience | None = None
    ) -> None:
        super().__init__(task, seed)
        self._kind = kind
        self._model = CostModel(loss, seed)
        self._experience = (experience or Experience()).of(kind)
        self._numbers: list[int] = []
        self._scores: list[float] = []
        if self._experience:
            self._fit()

    def update(self, numbers: Sequence[int], scores: Sequence[float]) -> None:
        """See `Tuner.update`."""
        super().update(numbers, scores)
        self._numbers += numbers
        self._scores += scores
        self._experience[self.task.name] = (self._features(np.array(self._numbers)), np.array(self._scores))
        if len(self._numbers) >= 2:
            self._fit()

    def start_from(self, numbers: Sequence[int], scores: Sequence[float]) -> None:
        """See `Tuner.start_from`: so few points are no model, but good to start from."""
        super().update(numbers, scores)
        self._numbers += numbers
        self._scores += scores

    def _features(self, numbers: NDArray[np.int64]) -> Floats:
        return self.task.features(self._kind, numbers)

    def _fit(self) -> None:
        batches = list(self._experience.values())
        features, scores = batches[-1]
        groups = [len(scores)]
        for old_features, old_scores in reversed(batches[:-1]):
            if len(scores) + len(old_scores) > _LEARNED_LIMIT:
                break
            features, scores = np.concatenate([old_features, features]), np.concatenate([old_scores, scores])
            groups.insert(0, len(old_scores))
        self._model.fit(features, scores, groups)
        self.batch_size = _LATER_BATCH

    def _next(self, count: int) -> NDArray[np.int64]:
        if not self._model.trained:
            return self.space.random(self.rng, count)
        best = np.argsort(-np.array(self._scores), kind="stable")[: _CHAINS // 2]
        starts = np.array(self._numbers, dtype=np.int64)[best]
        starts = np.concatenate([starts, self.space.random(self.rng, 2 * _CHAINS - len(starts))])
        predict = self._predict
        found = anneal(self.space, predict, starts, count, self.visited, self.rng)
        near = self._near_the_best(predict)
        shares = (int(_NEAR_SHARE * count), int(_RANDOM_SHARE * count))
        kept = count - sum(shares)
        return np.concatenate([found[:kept], near[: shares[0]], self.space.random(self.rng, shares[1]), found[kept:]])

    def _predict(self, numbers: NDArray[np.int64]) -> Floats:
        return self._model.predict(self._features(numbers))

    def _near_the_best(self, predict: Callable[[NDArray[np.int64]], Floats]) -> NDArray[np.int64]:
        """Small changes of the best points measured so far, in the order of what the model expects of them."""
        best = np.argsort(-np.array(self._scores), kind="stable")[:_BEST]
        parents = self.space.positions(np.array(self._numbers, dtype=np.int64)[best])
        children = self.space.numbers(moved(np.repeat(parents, _CHAINS, axis=0), self.space.dims, self.rng))
        fresh = np.array([number for number in np.unique(children) if number >= 0 and int(number) not in self.visited], np.int64)
        return fresh[np.argsort(-predict(fresh), kind="stable")] if len(fresh) else fresh
