"""Chooses scales so that requantisation is exact: each weight scale makes the ratio to the output scale a shift.

With s_x, s_w, s_out the scales of a layer's input, weights and output, the accumulator has scale s_x * s_w. Picking
s_w = s_out / s_x * m / 2^n with integers m and n turns requantisation into (acc * m + rounding) >> n, which adds no error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.arithmetic.fixed_point import INT32_MAX, MAX_TENSOR_MULTIPLIER, Scale, residual_multiplier, round_half_up
from vta.native import ffi, lib
from vta.support.on_cores import on_cores
from vta.support.row_slices import row_slices

__all__ = [
    "SIGNED_LEVELS",
    "UNSIGNED_LEVELS",
    "activation_scale",
    "as_scale",
    "finest_reached",
    "multiplied_kernel_scales",
    "nearest_levels",
    "plain_kernel_scales",
    "pool_scale",
    "quantized_bias",
    "quantized_weight",
    "residual_output_scales",
    "residual_representable",
    "shifted_kernel_scales",
    "shifted_scale",
    "widened_for_residual",
]

Array = NDArray[Any]

SIGNED_LEVELS, UNSIGNED_LEVELS = 127, 255
"""Levels of int8 above the one for zero: where that is 0, and where it is the lowest."""

_LARGEST = 127
_MAX_SHIFT = 15
_MAX_POOL_SHIFT = 24
"""Beyond 15 bits it takes two steps; only an output far coarser than the input needs that."""
_MULTIPLIER_BITS = 8
_BIAS_LIMIT = 2**30
_LARGEST_SCALED = INT32_MAX - 256
"""With room for a zero point."""


def activation_scale(threshold: float, kind: str, *, unsigned: bool = False) -> float:
    """Return the scale at which int8 reaches the magnitude `threshold`; `kind` is one of `SCALES`.

    Of `unsigned` values the lowest level is zero, which leaves twice as many for them.
    """
    if threshold <= 0.0:
        return 1.0
    if kind == "power_of_two":
        return float(2.0 ** math.ceil(math.log2(threshold / (256 if unsigned else 128))))
    return threshold / (UNSIGNED_LEVELS if unsigned else SIGNED_LEVELS)


def as_scale(values: Array) -> Scale:
    """Return channel scales as an attribute: one float if they all agree."""
    if (values == values.flat[0]).all():
        return float(values.flat[0])
    return tuple(float(value) for value in values)


def _largest_weights(weight: Array, per_channel: bool) -> Array:
    """The largest magnitude of each output channel, or of all in each place."""
    largest = np.empty(len(weight))

    def find(part: slice) -> None:
        rows = weight[part].reshape(-1, weight[0].size)
        largest[part] = np.maximum(rows.max(axis=1), -rows.min(axis=1))

    on_cores(find, row_slices(weight))
    return largest if per_channel else np.full_like(largest, largest.max())


def plain_kernel_scales(weight: Array, per_channel: bool) -> Array:
    """Return the finest scale for each channel that clips no weight."""
    largest = _largest_weights(weight, per_channel)
    return np.asarray(np.where(largest > 0, largest, 1.0) / _LARGEST)


def shifted_kernel_scales(weight: Array, input_scale: float, output_scale: float, per_channel: bool) -> Array:
    """Return for each channel a scale whose requantisation is a shift of at most 15 bits (left if negative).

    Of the finest scale that clips no weight and the half of it, the one of less squared error is taken.
    """
    finest = plain_kernel_scales(weight, per_channel)
    shift = np.minimum(np.floor(-np.log2(finest * input_scale / output_scale) + 1e-9), _MAX_SHIFT)
    safe = output_scale * 2.0**-shift / input_scale
    finer = np.where(shift < _MAX_SHIFT, safe / 2, safe)
    errors = _squared_errors(weight, (safe, finer), per_channel)
    return np.asarray(np.where(errors[1] < errors[0], finer, safe))


def shifted_scale(input_scale: float, finest: float) -> float:
    """Return the scale from `finest` on that is a power of two times `input_scale`, but no finer than that."""
    return float(input_scale * 2.0 ** max(0.0, np.ceil(np.log2(finest / input_scale) - 1e-9)))


def multiplied_kernel_scales(weight: Array, input_scale: float, output_scale: float, per_channel: bool) -> Array:
    """Return for each channel the finest scale whose requantisation is an 8-bit multiplier and a shift of at most 15 bits."""
    finest = plain_kernel_scales(weight, per_channel)
    sums = np.empty(len(finest))
    for rows in row_slices(weight):
        sums[rows] = np.abs(weight[rows].astype(np.float64)).reshape(-1, weight[0].size).sum(axis=1)
    bound = 2 * 128 * sums / finest
    most = np.clip(np.floor(INT32_MAX / np.maximum(bound, 1)), 1, (1 << _MULTIPLIER_BITS) - 1)
    ratio = finest * input_scale / output_scale
    shift = np.clip(np.floor(np.log2(most / ratio)), 0, _MAX_SHIFT)
    multiplier = np.maximum(np.ceil(ratio * 2.0**shift - 1e-9), 1)
    return np.asarray(multiplier * 2.0**-shift * output_scale / input_scale)


def _squared_errors(weight: Array, choices: Sequence[Array], per_channel: bool) -> Array:
    """Squared error of each channel's weights at each choice of scales, or of all in each place; shape (choices, channels).

    Weights are looked at in float32, which suffices to compare choices.
    """
    errors = np.empty((len(choices), len(weight)))
    steps = np.array(choices, np.float32)

    def find(part: slice) -> None:
        rows = np.ascontiguousarray(weight[part], np.float32)
        for scales, found in zip(steps, errors, strict=True):
            at_once = ffi.from_buffer("float[]", rows), ffi.from_buffer("float[]", scales[part])
            lib.vta_weight_errors(*at_once, len(rows), rows[0].size, ffi.from_buffer("double[]", found[part]))

    on_cores(find, row_slices(weight))
    return errors if per_channel else np.full_like(errors, errors.sum(axis=1, keepdims=True))


def quantized_weight(weight: Array, scales: Array) -> NDArray[np.int8]:
    """Return the weights (output channel first) as int8 within +-127, by `nearest_levels`."""
    steps = np.array(np.broadcast_to(scales, len(weight)), np.float64)
    values = np.empty(weight.shape, np.int8)
    in_float = weight.dtype == np.float32
    kind, rounded = ("float", lib.vta_round_floats) if in_float else ("double", lib.vta_round_doubles)

    def find(part: slice) -> None:
        rows = np.ascontiguousarray(weight[part], np.float32 if in_float else np.float64)
        given = ffi.from_buffer(f"{kind}[]", rows), ffi.from_buffer("double[]", steps[part])
        rounded(*given, len(rows), rows[0].size, ffi.from_buffer("int8_t[]", values[part]))

    on_cores(find, row_slices(weight))
    return values


def nearest_levels(levels: Array) -> Array:
    """Return the whole numbers within +-127 that are nearest to `levels`, halves up."""
    rounded = levels + 0.5
    return np.clip(np.floor(rounded, out=rounded), -_LARGEST, _LARGEST, out=rounded)


def quantized_bias(bias: Array, accumulator_scales: Array) -> Array:
    """Return the bias as int32 at the scale of the accumulators, within +-2^30."""
    return np.clip(round_half_up(bias / accumulator_scales), -_BIAS_LIMIT, _BIAS_LIMIT).astype(np.int32)


def residual_output_scales(residual_scale: float, finest: float) -> list[float]:
    """Return output scales, finest first, none below `finest`, that stand to `residual_scale` in a simple dyadic ratio p / 2^q.

    p has at most 4, 3, 2, 1 bits: the fewer the bits, the coarser the scale may be, up to twice `finest`.
    """
    scales = []
    for bits in (4, 3, 2, 1):
        exponent = math.floor(math.log2(residual_scale / finest) + 1e-9) - (bits - 1)
        numerator = math.floor(residual_scale / finest / 2.0**exponent + 1e-9)
        scales.append(residual_scale / (numerator * 2.0**exponent))
    return scales


def residual_representable(residual_scale: float, accumulator_scales: Array, exact: bool, least: int = 128) -> bool:
    """Whether the GEMM core can bring an int8 residual to the scale of the accumulators.

    Each multiplier must be an integer within its limit, or, unless `exact`, at least `least`, so large that rounding it does no
    harm.
    """
    ratio = residual_scale / accumulator_scales
    multiplier = residual_multiplier(residual_scale, accumulator_scales)
    if (multiplier < 1).any() or (multiplier > MAX_TENSOR_MULTIPLIER).any():
        return False
    near = np.abs(multiplier / ratio - 1) < 1e-9
    return bool((near | ((multiplier >= least) & (not exact))).all())


def widened_for_residual(kernel: Array, input_scale: float, residual_scale: float) -> Array:
    """Double weight scales that are so fine that the residual's multiplier would exceed its limit."""
    ratio = residual_scale / (input_scale * kernel * MAX_TENSOR_MULTIPLIER)
    return np.asarray(kernel * 2.0 ** np.maximum(np.ceil(np.log2(ratio) - 1e-9), 0))


def finest_reached(input_scale: float, bound: int) -> float:
    """Return the finest power of two times `input_scale` to which integers of at most `bound` are brought within 32 bits.

    A result is that fine only where little or nothing of it was seen.
    """
    return input_scale * 2.0 ** -max(math.floor(math.log2(_LARGEST_SCALED / max(bound, 1))), 0)


def pool_scale(input_scale: float, count: int, finest: float, multiplies: bool) -> float:
    """Return the smallest output scale from `finest` up that makes averages of `count` values a multiplier and a shift.

    Without multiplication the multiplier is 1.
    """
    ratio = input_scale / (count * finest)
    most = (1 << _MULTIPLIER_BITS) - 1 if multiplies else 1
    shift = min(math.ceil(math.log2((most + 1) / ratio) - 1e-9) - 1, _MAX_POOL_SHIFT)
    multiplier = max(math.floor(ratio * 2.0**shift * (1 + 1e-9)), 1)
    return input_scale / (count * multiplier * 2.0**-shift)
