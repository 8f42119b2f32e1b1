"""Streaming histograms of magnitudes, and the ranges that calibration methods derive from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.native import ffi, lib
from vta.quantization.config import QuantizeConfig
from vta.quantization.float.scales import SIGNED_LEVELS, UNSIGNED_LEVELS

__all__ = ["Histogram", "largest_magnitude", "threshold"]

Array = NDArray[Any]

_BINS: int = lib.VTA_HISTOGRAM_BINS
_KL_LEVELS = {SIGNED_LEVELS: 128, UNSIGNED_LEVELS: 256}
_KL_STEP = 16


class Histogram:
    """Counts of the magnitudes of the non-zero values seen, in equal bins from 0 to `limit`; the bins widen as needed."""

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros(_BINS, np.int64)
        self._native = ffi.new("vta_histogram *")
        self._native.counts, self._native.bins = ffi.from_buffer("int64_t[]", self.counts), _BINS

    def add(self, values: Array, parts: int = 1) -> float:
        """Count `values` (any shape), so many equal parts one after the other, but for a part with one that is not finite.

        Returns the largest magnitude, NaN if one is not a number.
        """
        given = np.ascontiguousarray(values, np.float32)
        return float(lib.vta_histogram_add(self._native, ffi.from_buffer("float[]", given), parts, given.size // parts))

    @property
    def limit(self) -> float:
        """The upper end of the last bin; 0 before the first value."""
        return float(self._native.limit)

    @property
    def largest(self) -> float:
        """Of the magnitudes that were counted; 0 if there are none."""
        return float(self._native.largest)

    @property
    def edges(self) -> Array:
        """The upper edge of each bin."""
        return np.arange(1, _BINS + 1) * (self.limit / _BINS)


def largest_magnitude(values: Array) -> float:
    """The largest magnitude of some values, NaN if one is not a number."""
    given = np.ascontiguousarray(values, np.float32)
    return float(lib.vta_largest(ffi.from_buffer("float[]", given), given.size))


def threshold(histogram: Histogram, config: QuantizeConfig, levels: int = SIGNED_LEVELS) -> float:
    """Return the largest magnitude that `levels` levels of int8 are to represent; 0 if only zeros were seen."""
    if histogram.largest == 0.0 or config.calibration == "max":
        return histogram.largest
    if config.calibration == "percentile":
        share = np.cumsum(histogram.counts) / histogram.counts.sum()
        found = histogram.edges[int(np.argmax(share >= config.percentile / 100))]
    elif config.calibration == "kl":
        found = _least_divergence(histogram, _KL_LEVELS[levels])
    else:
        found = _least_error(histogram, levels)
    return min(float(found), histogram.largest)


def _least_error(histogram: Histogram, levels: int) -> float:
    """The range of least squared error: rounding noise within it, the excess of what is clipped beyond it."""
    edges, counts = histogram.edges, histogram.counts.astype(np.float64)
    centers = edges - edges[0] / 2
    inside = np.cumsum(counts)
    outside = counts.sum() - inside
    first = counts @ centers - np.cumsum(counts * centers)
    second = counts @ centers**2 - np.cumsum(counts * centers**2)
    clipped = second - 2 * edges * first + edges**2 * outside
    return float(edges[int(np.argmin(inside * (edges / levels) ** 2 / 12 + clipped))])


def _least_divergence(histogram: Histogram, levels: int) -> float:
    """The range whose levels have the distribution nearest to the original one."""
    best, best_bins = np.inf, _BINS
    for bins in range(levels, _BINS + 1, _KL_STEP):
        divergence = _divergence(histogram.counts, bins, levels)
        if divergence < best:
            best, best_bins = divergence, bins
    return float(histogram.edges[best_bins - 1])


def _divergence(counts: Array, bins: int, levels: int) -> float:
    """Kullback-Leibler divergence of the first `bins` bins, the rest clipped into the last, from so many levels of them."""
    inside = counts[:bins].astype(np.float64)
    original = inside.copy()
    original[-1] += counts[bins:].sum()
    level = np.arange(bins) * levels // bins
    occupied = inside > 0
    sums = np.bincount(level, weights=inside, minlength=levels)
    sizes = np.bincount(level, weights=occupied, minlength=levels)
    coarse = np.where(occupied, (sums / np.maximum(sizes, 1))[level], 0.0)
    present = original > 0
    p = original[present] / original.sum()
    q = np.maximum(coarse[present] / max(coarse.sum(), 1.0), 1e-12)
    return float(np.sum(p * np.log(p / q)))
