"""A gradient-boosted cost model of points, from features to a score where more is better."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import TuningError

__all__ = ["LOSSES", "CostModel"]

LOSSES = ("reg", "rank", "rank-binary")
"""Fit the score itself; fit the order of points; fit which points are among the best."""

_RANK_LEVELS = 31
_BEST_SHARE = 0.2
_ROUNDS = 20

Floats = NDArray[np.float64]


class CostModel:
    """Trees over features. Trained anew each time: that is as fast as what it saves."""

    def __init__(self, loss: str, seed: int) -> None:
        self._xgboost = _load_xgboost()
        self._loss = loss
        self._booster: Any = None
        self._parameters = {
            "max_depth": 5,
            "eta": 0.3,
            "min_child_weight": 1,
            "lambda": 1.0,
            "nthread": 1,
            "tree_method": "hist",
            "max_bin": 64,
            "seed": seed,
            "verbosity": 0,
            "objective": "reg:squarederror" if loss == "reg" else "rank:pairwise",
        }

    @property
    def trained(self) -> bool:
        """Whether it can predict."""
        return self._booster is not None

    def fit(self, features: Floats, scores: Floats, groups: list[int]) -> None:
        """Learn from points, shape (n, k) and (n,). Only the order inside each group of `groups` points counts for ranks."""
        data = self._xgboost.DMatrix(features, label=self._labels(scores, groups), nthread=1)
        if self._loss != "reg":
            data.set_group(groups)
        self._booster = self._xgboost.train(self._parameters, data, num_boost_round=_ROUNDS)

    def predict(self, features: Floats) -> Floats:
        """Scores of points, shape (n,): higher is better, on a scale of its own for the rank losses."""
        return np.asarray(self._booster.inplace_predict(features), dtype=np.float64)

    def _labels(self, scores: Floats, groups: list[int]) -> Floats:
        if self._loss == "reg":
            return np.asarray(scores / max(float(scores.max()), 1e-9))
        labels = np.zeros(len(scores))
        start = 0
        for size in groups:
            part = scores[start : start + size]
            order = np.searchsorted(np.sort(part), part, side="right") / size
            labels[start : start + size] = (
                np.floor(order * _RANK_LEVELS) if self._loss == "rank" else (order > 1 - _BEST_SHARE).astype(float)
            )
            start += size
        return labels


def _load_xgboost() -> Any:
    try:
        import xgboost
    except ImportError:
        raise TuningError("the xgb tuners need the package xgboost-cpu: pip install 'vta[tune]'") from None
    return xgboost
