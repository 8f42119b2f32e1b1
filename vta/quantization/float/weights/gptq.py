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
from vta.quantization.float.calibration.input_moments import Moments, shrunk_parts
from vta.quantization.float.scales import nearest_levels
from vta.support.dataclass import dataclass

__all__ = ["Factor", "compensated", "factor_of", "rounded_by"]

Array = NDArray[Any]


def compensated(weight: Array, scales: Array, moments: Moments) -> NDArray[np.int8]:
    """Return `weight` (output channel first) as int8 at the scale of each channel, of little error on values of such `moments`.

    An output channel for which plain rounding would do better, by its covariance, is rounded plainly.
    """
    return rounded_by(factor_of(moments), weight, scales)


@dataclass(frozen=True)
class Factor:
    """Of a shrunk covariance: L, with L L^T the covariance of values in `order`."""

    lower: Array | None
    """(G, N / 8, N, 8) float64: of 8 rows at a time, column by column. N is D, or more to be some eights; what is above the
    blocks on the diagonal has no meaning. None where values vary together to the last bit."""
    order: NDArray[np.int64]
    """(G, D); the last one is rounded first."""


def factor_of(moments: Moments) -> Factor:
    """The factor of the covariance of some moments."""
    share, own = shrunk_parts(moments)
    # The inputs that vary most come first: rounding begins at the end.
    order = np.ascontiguousarray(np.argsort(-own, axis=1, kind="stable")[:, ::-1])
    blocks = -(-order.shape[1] // lib.VTA_FACTOR_ROWS)
    lower = np.empty((len(order), blocks, blocks * lib.VTA_FACTOR_ROWS, lib.VTA_FACTOR_ROWS))
    for group in range(len(order)):
        arrays = [np.ascontiguousarray(array[group]) for array in (moments.covariance, own)]
        given = [ffi.from_buffer("double[]", array) for array in arrays]
        out = ffi.from_buffer("double[]", lower[group])
        done = lib.vta_factor_covariance(*given, ffi.from_buffer("int64_t[]", order[group]), order.shape[1], share, out)
        if done != lib.VTA_DONE:
            return Factor(None, order)
    return Factor(lower, order)


def rounded_by(factor: Factor, weight: Array, scales: Array) -> NDArray[np.int8]:
    """What `compensated` gives for the moments of a factor."""
    groups = len(factor.order)
    levels = (weight / per_channel(scales, weight.ndim, 0)).reshape(groups, len(weight) // groups, -1)
    if factor.lower is None:
        return nearest_levels(levels).reshape(weight.shape).astype(np.int8)
    return _one_by_one(levels, factor.lower, factor.order).reshape(weight.shape).astype(np.int8)


def _one_by_one(levels: Array, lower: Array, order: NDArray[np.int64]) -> Array:
    """Rounded levels (G, O, D); `lower` and `order` are those of a factor."""
    rounded = np.empty(levels.shape)
    arrays = {"levels": np.ascontiguousarray(levels, np.float64), "lower": np.ascontiguousarray(lower), "rounded": rounded}
    native = ffi.new("vta_roundings *", {name: ffi.from_buffer("double[]", array) for name, array in arrays.items()})
    native.order = ffi.from_buffer("int64_t[]", order)
    native.groups, native.outputs, native.values = levels.shape
    if lib.vta_compensate(native):
        raise MemoryError(f"no memory to round {levels.size} weights")
    return rounded
