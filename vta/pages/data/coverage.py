"""How much of each stretch of time something took, from intervals that may overlap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "covered", "mean_level"]

Floats = NDArray[np.float64]


def covered(starts: Floats, ends: Floats, edges: Floats, weights: Floats | None = None) -> Floats:
    """The weighted length of intervals [start, end) between each two neighbouring `edges`, shape (edges - 1,).

    `weights` are 1 where none are given; intervals that overlap count together.
    """
    heights = np.ones(len(starts)) if weights is None else weights
    return np.diff(_until(starts, heights, edges) - _until(ends, heights, edges))


def mean_level(starts: Floats, ends: Floats, edges: Floats, weights: Floats | None = None) -> Floats:
    """The mean sum of the weights of the intervals that cover each stretch between neighbouring `edges`."""
    return covered(starts, ends, edges, weights) / np.maximum(np.diff(edges), 1e-9)


def _until(times: Floats, weights: Floats, edges: Floats) -> Floats:
    """The integral up to each edge of a level that rises by `weights` at `times`."""
    order = np.argsort(times, kind="stable")
    moments, heights = times[order], weights[order]
    level = np.concatenate([[0.0], np.cumsum(heights)])
    moment = np.concatenate([[0.0], np.cumsum(heights * moments)])
    before = np.searchsorted(moments, edges, side="right")
    integral: Floats = level[before] * edges - moment[before]
    return integral
