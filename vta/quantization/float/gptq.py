"""Rounds weights one after the other, each time letting those that are left make up for the error on what the layer reads.

After Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", 2022 (section 3). The
mean of what a layer reads is left to its bias.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.fixed_point import per_channel
from vta.quantization.float.input_moments import Moments, shrunk_covariance
from vta.quantization.float.scales import nearest_levels

__all__ = ["compensated"]

Array = NDArray[Any]

_TOGETHER = 64
"""Weights of which the errors reach the ones behind them together."""


def compensated(weight: Array, scales: Array, moments: Moments) -> NDArray[np.int8]:
    """Return `weight` (output channel first) as int8 at the scale of each channel, of little error on values of such `moments`.

    An output channel for which plain rounding would do better, by its covariance, is rounded plainly.
    """
    groups = len(moments.covariance)
    levels = (weight / per_channel(scales, weight.ndim, 0)).reshape(groups, len(weight) // groups, -1)
    covariance = shrunk_covariance(moments)
    plain = nearest_levels(levels)
    try:
        found = _one_by_one(levels, covariance)
    except np.linalg.LinAlgError:
        # Values that vary together to the last bit.
        found = plain
    errors = [np.einsum("goi,gij,goj->go", part - levels, covariance, part - levels, optimize=True) for part in (plain, found)]
    # What is not finite is not less.
    best = np.where((errors[1] < errors[0])[:, :, None], found, plain)
    return np.asarray(best.reshape(weight.shape), np.int8)


def _one_by_one(levels: Array, covariance: Array) -> Array:
    """Rounded levels (G, O, D), the inputs that vary most first."""
    order = np.argsort(-np.diagonal(covariance, axis1=1, axis2=2), axis=1, kind="stable")
    rows = np.arange(len(order))[:, None]
    ordered = covariance[rows[:, :, None], order[:, :, None], order[:, None, :]]
    # With U^T U the inverse: the row of U at a weight, over its diagonal, says how the rest best makes up for it.
    upper = np.linalg.cholesky(np.linalg.inv(ordered)).transpose(0, 2, 1)
    # (G, D, O): what one weight of all channels changes lies together.
    left = np.ascontiguousarray(np.take_along_axis(levels, order[:, None, :], axis=2).transpose(0, 2, 1))
    rounded, errors = np.empty_like(left), np.empty_like(left)
    for first in range(0, left.shape[1], _TOGETHER):
        last = min(first + _TOGETHER, left.shape[1])
        for place in range(first, last):
            rounded[:, place] = nearest_levels(left[:, place])
            errors[:, place] = (left[:, place] - rounded[:, place]) / upper[:, place, place, None]
            left[:, place + 1 : last] -= upper[:, place, place + 1 : last, None] * errors[:, place, None]
        behind = np.matmul(errors[:, first:last].transpose(0, 2, 1), upper[:, first:last, last:])
        left[:, last:] -= behind.transpose(0, 2, 1)
    result = np.empty_like(levels)
    np.put_along_axis(result, np.broadcast_to(order[:, None, :], result.shape), rounded.transpose(0, 2, 1), axis=2)
    return result
