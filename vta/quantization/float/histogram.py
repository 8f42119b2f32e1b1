"""Streaming histograms of magnitudes, and the ranges that calibration methods derive from them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.quantization.config import QuantizeConfig

__all__ = ["Histogram", "threshold"]

Array = NDArray[Any]

_BINS = 2048
_LEVELS = 127
_KL_LEVELS = 128
_KL_STEP = 16


class Histogram:
    """Counts of the magnitudes of the non-zero values seen, in equal bins from 0 to `limit`; the bins widen as needed."""

    def __init__(self) -> None:
        self.counts: Array = np.zeros(_BINS, np.int64)
        self.limit = 0.0
        self.largest = 0.0

    def add(self, values: Array) -> float:
        """Count `values` (any shape), unless one is not finite; returns the largest magnitude, NaN if one is not a number."""
        magnitudes = np.abs(values[values != 0])
        largest = float(magnitudes.max(initial=0.0))
        if magnitudes.size and math.isfinite(largest):
            self._grow(largest)
            self.largest = max(self.largest, largest)
            scaled = magnitudes.astype(np.float64, copy=False) * (_BINS / self.limit)
            self.counts += np.bincount(np.minimum(scaled.astype(np.int64), _BINS - 1), minlength=_BINS)
        return largest

    def _grow(self, largest: float) -> None:
        if self.limit == 0.0:
            self.limit = largest
        while self.limit < largest:
            merged = self.counts.reshape(-1, 2).sum(axis=1)
            self.counts = np.concatenate([merged, np.zeros(_BINS // 2, np.int64)])
            self.limit *= 2

    @property
    def edges(self) -> Array:
        """The upper edge of each bin."""
        return np.arange(1, _BINS + 1) * (self.limit / _BINS)


def threshold(histogram: Histogram, config: QuantizeConfig) -> float:
    """Return the largest magnitude that int8 is to represent; 0 if only zeros were seen."""
    if histogram.largest == 0.0 or config.calibration == "max":
        return histogram.largest
    if config.calibration == "percentile":
        share = np.cumsum(histogram.counts) / histogram.counts.sum()
        found = histogram.edges[int(np.argmax(share >= config.percentile / 100))]
    elif config.calibration == "kl":
        found = _least_divergence(histogram)
    else:
        found = _least_error(histogram)
    return min(float(found), histogram.largest)


def _least_error(histogram: Histogram) -> float:
    """The range of least squared error: rounding noise within it, the excess of what is clipped beyond it."""
    edges, counts = histogram.edges, histogram.counts.astype(np.float64)
    centers = edges - edges[0] / 2
    inside = np.cumsum(counts)
    outside = counts.sum() - inside
    first = counts @ centers - np.cumsum(counts * centers)
    second = counts @ centers**2 - np.cumsum(counts * centers**2)
    clipped = second - 2 * edges * first + edges**2 * outside
    return float(edges[int(np.argmin(inside * (edges / _LEVELS) ** 2 / 12 + clipped))])


def _least_divergence(histogram: Histogram) -> float:
    """The range whose 128 levels have the distribution nearest to the original one."""
    best, best_bins = np.inf, _BINS
    for bins in range(_KL_LEVELS, _BINS + 1, _KL_STEP):
        divergence = _divergence(histogram.counts, bins)
        if divergence < best:
            best, best_bins = divergence, bins
    return float(histogram.edges[best_bins - 1])


def _divergence(counts: Array, bins: int) -> float:
    """Kullback-Leibler divergence of the first `bins` bins, the rest clipped into the last, from 128 levels of them."""
    inside = counts[:bins].astype(np.float64)
    original = inside.copy()
    original[-1] += counts[bins:].sum()
    level = np.arange(bins) * _KL_LEVELS // bins
    occupied = inside > 0
    sums = np.bincount(level, weights=inside, minlength=_KL_LEVELS)
    sizes = np.bincount(level, weights=occupied, minlength=_KL_LEVELS)
    coarse = np.where(occupied, (sums / np.maximum(sizes, 1))[level], 0.0)
    present = original > 0
    p = original[present] / original.sum()
    q = np.maximum(coarse[present] / max(coarse.sum(), 1.0), 1e-12)
    return float(np.sum(p * np.log(p / q)))
