"""Rounds weights one after the other, each time letting those that are left make up for the error on what the layer reads.

After Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", 2022 (section 3), but
from a factor of the covariance itself, which takes a fifth of the arithmetic of one of its inverse: with L L^T the covariance, a
weight makes up best for the errors behind it if a column of L times all errors comes to nothing. The mean of what a layer reads
is left to its bias.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.arithmetic.fixed_point import per_channel
from vta.native import ffi, lib
from vta.quantization.float.calibration.input_moments import Moments, shrunk_covariance
from vta.quantization.float.scales import nearest_levels

__all__ = ["compensated"]

Array = NDArray[Any]


def compensated(weight: Array, scales: Array, moments: Moments) -> NDArray[np.int8]:
    """Return `weight` (output channel first) as int8 at the scale of each channel, of little error on values of such `moments`.

    An output channel for which plain rounding would do better, by its covariance, is rounded plainly.
    """
    groups = len(moments.covariance)
    levels = (weight / per_channel(scales, weight.ndim, 0)).reshape(groups, len(weight) // groups, -1)
    covariance = shrunk_covariance(moments)
    # The inputs that vary most come first: rounding begins at the end.
    order = np.argsort(-np.diagonal(covariance, axis1=1, axis2=2), axis=1, kind="stable")[:, ::-1]
    try:
        lower = np.linalg.cholesky(_ordered(covariance, order))
    except np.linalg.LinAlgError:
        # Values that vary together to the last bit.
        return nearest_levels(levels).reshape(weight.shape).astype(np.int8)
    return _one_by_one(levels, lower, order).reshape(weight.shape).astype(np.int8)


def _ordered(covariance: Array, order: NDArray[np.int64]) -> Array:
    """Rows and columns of each covariance (G, D, D) in an order of its values, (G, D)."""
    return np.stack([one[np.ix_(places, places)] for one, places in zip(covariance, order, strict=True)])


def _one_by_one(levels: Array, lower: Array, order: NDArray[np.int64]) -> Array:
    """Rounded levels (G, O, D). `lower` (G, D, D) times its transpose is the covariance of values in `order`, last first."""
    rounded = np.empty(levels.shape)
    arrays = {"levels": np.ascontiguousarray(levels, np.float64), "lower": np.ascontiguousarray(lower), "rounded": rounded}
    native = ffi.new("vta_roundings *", {name: ffi.from_buffer("double[]", array) for name, array in arrays.items()})
    places = np.ascontiguousarray(order)
    native.order = ffi.from_buffer("int64_t[]", places)
    native.groups, native.outputs, native.values = levels.shape
    if lib.vta_compensate(native):
        raise MemoryError(f"no memory to round {levels.size} weights")
    return rounded
