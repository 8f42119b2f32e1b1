"""Rounds the weights of a layer by optimisation: up or down, so that the layer's results change least.

After Nagel et al., "Up or Down? Adaptive Rounding for Post-Training Quantization", 2020: each weight may lie anywhere between its
two neighbours at first, and is drawn to one of them by and by, while the error of the results is kept small. What the results
lose is told by the covariance of what the layer reads, so no data are gone through again. In the end single weights are moved
for as long as that still helps. Nothing is drawn at random: the same weights and samples give the same bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.arithmetic.fixed_point import per_channel
from vta.quantization.float.calibration.input_moments import Moments, shrunk_covariance
from vta.quantization.float.scales import nearest_levels
from vta.quantization.float.weights.gptq import compensated

__all__ = ["adaptively_rounded"]

Array = NDArray[Any]

_STEPS = 400
_WARM = 0.2
"""Share of the steps in which weights are not yet drawn to a neighbour."""
_RATE = 0.05
_WEIGHT = 0.5
"""Of how far weights are from their neighbours, beside the error of the results."""
_STEEPEST, _FLATTEST = 20.0, 2.0
"""The exponent of that distance falls from the first to the second."""
_LOW, _HIGH = -0.1, 1.1
"""What a stretched sigmoid reaches before it is cut off at 0 and 1."""
_FIRST_MOMENT, _SECOND_MOMENT, _TINY = 0.9, 0.999, 1e-8
"""Of Adam, by which the steps are taken."""
_SWEEPS = 4
_LARGEST = 127


def adaptively_rounded(weight: Array, scales: Array, moments: Moments) -> NDArray[np.int8]:
    """Return `weight` (output channel first) as int8 at the scale of each channel, of least error on values of such `moments`.

    Each output channel gets the best of what this way, `compensated` and rounding to the nearest find, and no worse.
    """
    groups = len(moments.covariance)
    levels = (weight / per_channel(scales, weight.ndim, 0)).reshape(groups, len(weight) // groups, -1)
    covariance = shrunk_covariance(moments)
    starts = (compensated(weight, scales, moments).reshape(levels.shape).astype(levels.dtype), _up_or_down(levels, covariance))
    found = [_polished(start, levels, covariance) for start in starts]
    errors = [_errors(part - levels, covariance) for part in found]
    best = np.where((errors[1] < errors[0])[:, :, None], found[1], found[0])
    return np.asarray(best.reshape(weight.shape), np.int8)


def _errors(differences: Array, covariance: Array) -> Array:
    """The mean squared error of the results of each channel."""
    return np.asarray((np.matmul(differences, covariance) * differences).sum(axis=2))


def _up_or_down(levels: Array, covariance: Array) -> Array:
    """Rounded levels (G, O, D), by steps along the gradient."""
    below = np.floor(levels)
    # In units in which a weight that is off by one costs about one.
    unit = np.maximum(np.trace(covariance, axis1=1, axis2=2) / covariance.shape[1], np.finfo(np.float64).tiny)
    cost = covariance / unit[:, None, None]
    share = np.clip((levels - below - _LOW) / (_HIGH - _LOW), 1e-4, 1 - 1e-4)
    place = np.log(share / (1 - share))
    first, second = np.zeros_like(place), np.zeros_like(place)
    for step in range(1, _STEPS + 1):
        sigmoid = 1 / (1 + np.exp(-place))
        stretched = sigmoid * (_HIGH - _LOW) + _LOW
        up = np.clip(stretched, 0, 1)
        slope = np.where((stretched > 0) & (stretched < 1), sigmoid * (1 - sigmoid) * (_HIGH - _LOW), 0)
        gradient = 2 * np.matmul(below + up - levels, cost) + _pull(up, step / _STEPS)
        gradient *= slope
        first += (1 - _FIRST_MOMENT) * (gradient - first)
        second += (1 - _SECOND_MOMENT) * (gradient**2 - second)
        mean, spread = first / (1 - _FIRST_MOMENT**step), second / (1 - _SECOND_MOMENT**step)
        place -= _RATE * mean / (np.sqrt(spread) + _TINY)
    return nearest_levels(below + (place > 0))


def _pull(up: Array, progress: float) -> Array:
    """The gradient of what draws weights between two neighbours to one of them."""
    if progress < _WARM:
        return np.zeros_like(up)
    exponent = _FLATTEST + (_STEEPEST - _FLATTEST) * 0.5 * (1 + np.cos(np.pi * (progress - _WARM) / (1 - _WARM)))
    off = 2 * up - 1
    return np.asarray(-_WEIGHT * exponent * np.abs(off) ** (exponent - 1) * np.sign(off) * 2)


def _polished(start: Array, levels: Array, covariance: Array) -> Array:
    """The same with single weights at the best level that the others leave them, one after the other."""
    found = start.copy()
    own = np.maximum(np.diagonal(covariance, axis1=1, axis2=2), np.finfo(np.float64).tiny)
    slopes = np.matmul(found - levels, covariance)
    for _ in range(_SWEEPS):
        before = found.copy()
        for at in range(found.shape[2]):
            wanted = np.clip(np.rint(found[:, :, at] - slopes[:, :, at] / own[:, at, None]), -_LARGEST, _LARGEST)
            change = wanted - found[:, :, at]
            if change.any():
                slopes += change[:, :, None] * covariance[:, None, at, :]
                found[:, :, at] = wanted
        if np.array_equal(before, found):
            break
    return found
