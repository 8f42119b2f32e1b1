"""How good a set of designs is: the hypervolume that they dominate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vta.errors import SweepError

__all__ = ["hypervolume_of"]

Costs = Sequence[Sequence[float]]


def hypervolume_of(costs: Costs, among: Costs | None = None) -> float:
    """The share that designs of these costs dominate of the box from the best to the worst cost of all that is `among`.

    Costs are above 0, less is better, and the box is one of their logarithms: twice as fast counts the same for small and large
    designs. What costs the same in all of `among` does not count. Raises `SweepError` where moocore is not installed.
    """
    if not costs:
        return 0.0
    frame = np.log(np.maximum(np.asarray(among if among is not None else costs, dtype=float), 1e-12))
    low, high = frame.min(axis=0), frame.max(axis=0)
    varied = high > low
    if not varied.any():
        return 1.0
    logs = np.log(np.maximum(np.asarray(costs, dtype=float), 1e-12))
    shares = (logs[:, varied] - low[varied]) / (high - low)[varied]
    if varied.sum() == 1:
        return float(1 - shares.min())
    return float(_load_moocore().hypervolume(shares, ref=np.ones(shares.shape[1])))


def _load_moocore() -> Any:
    try:
        import moocore
    except ImportError:
        raise SweepError("hypervolumes need the package moocore: pip install 'vta[search]'") from None
    return moocore
