"""The arithmetic of requantisation: multipliers, shifts and rounding, defined once (see docs/arithmetic.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import CompileError
from vta.support.dataclass import dataclass

__all__ = [
    "INT32_MAX",
    "MAX_TENSOR_MULTIPLIER",
    "HardSwishConstants",
    "Scale",
    "add_multipliers",
    "hard_swish_constants",
    "multiplier_and_shift",
    "per_channel",
    "product_scale",
    "requantize",
    "residual_multiplier",
    "round_half_up",
    "rounding_constant",
    "slope_multiplier",
    "wrap32",
]

Array = NDArray[Any]
Scale = float | tuple[float, ...]
"""One scale, or one for each channel."""

INT32_MAX = 2**31 - 1

MAX_TENSOR_MULTIPLIER = 2**14
"""Largest integer by which the GEMM core scales a tensor operand of an addition."""

_MAX_SHIFT = 30
_MAX_SLOPE_SHIFT = 15


def round_half_up(values: Any) -> Array:
    """Round float64 `values` to the nearest integer, halves towards plus infinity."""
    return np.floor(np.asarray(values, np.float64) + 0.5)


def wrap32(values: Array) -> Array:
    """Reduce int64 `values` to int32, modulo 2^32."""
    return values.astype(np.int32)


def product_scale(first: float, second: Any) -> NDArray[np.float32]:
    """Return the scale of products of numbers of scales `first` and `second`, as ONNX Runtime has it: in single precision.

    Two small ones have a product that vanishes there; it is the least number above 0, which makes no result differ.
    """
    product = np.float32(first) * np.asarray(second, np.float32)
    return np.asarray(np.maximum(product, np.finfo(np.float32).smallest_subnormal), np.float32)


def per_channel(values: Any, rank: int, axis: int) -> Array:
    """Shape a scalar, or one value per channel, so that it broadcasts along `axis` of a tensor of `rank` dimensions."""
    array = np.asarray(values)
    if array.ndim == 0:
        return array
    shape = [1] * rank
    shape[axis] = array.size
    return array.reshape(shape)


def multiplier_and_shift(ratio: Any, bound: int, offset: int = 0, limit: int = INT32_MAX) -> tuple[Array, Array]:
    """Return integers (m, n), as int64 arrays of the shape of `ratio`, with m / 2^n as near to `ratio` as the bound lets it be.

    For every |x| <= `bound` the sum x * m + (`offset` + 1) * 2^n stays within +-`limit`, so nothing wraps. n is the largest in
    0..30 that allows this; then factors of two common to m and 2^n are removed, so a ratio 2^-k gives (1, k).
    Raises `CompileError` if not even n = 0 fits.
    """
    ratios = np.asarray(ratio, np.float64)
    # Along an axis before those of the ratios.
    powers = 2.0 ** np.arange(_MAX_SHIFT + 1).reshape(-1, *(1 for _ in ratios.shape))
    scaled = np.minimum(round_half_up(ratios * powers), float(limit)).astype(np.int64)
    fits = scaled.astype(np.float64) * bound + (offset + 1) * powers <= limit
    if not fits.any(axis=0).all():
        raise CompileError(f"a value as large as {bound} times the ratio of scales {ratios.max():g} exceeds {limit}")
    shift = np.asarray(_MAX_SHIFT - np.argmax(fits[::-1], axis=0), np.int64)
    return _reduced(np.take_along_axis(scaled, shift[None], 0)[0], shift)


def _reduced(multiplier: Array, shift: Array) -> tuple[Array, Array]:
    shift = np.where(multiplier == 0, 0, shift)
    lowest_bit = np.frexp((multiplier & -multiplier).astype(np.float64))[1] - 1
    common = np.minimum(shift, np.maximum(lowest_bit, 0))
    return np.asarray(multiplier >> common), np.asarray(shift - common)


def residual_multiplier(scale: float, accumulator_scale: Any) -> Array:
    """Return the int64 multipliers that bring an int8 tensor of `scale` to the scale of an accumulator (any shape)."""
    return round_half_up(scale / np.asarray(accumulator_scale, np.float64)).astype(np.int64)


def add_multipliers(lhs_ratio: float, rhs_ratio: float) -> tuple[int, int, int]:
    """Return (ml, mr, n) for the sum of two int8 tensors: ml / 2^n and mr / 2^n approximate the ratios of scales.

    n is the largest in 0..15 for which neither multiplier exceeds `MAX_TENSOR_MULTIPLIER`; then common factors of two go.
    Raises `CompileError` if a ratio is larger than that by itself.
    """
    largest = max(lhs_ratio, rhs_ratio)
    fitting = [n for n in range(16) if float(round_half_up(np.float64(largest * 2.0**n))) <= MAX_TENSOR_MULTIPLIER]
    if not fitting:
        raise CompileError(f"the ratio of scales {largest:g} of an addition exceeds {MAX_TENSOR_MULTIPLIER}")
    n = fitting[-1]
    lhs, rhs = (int(round_half_up(np.float64(ratio * 2.0**n))) for ratio in (lhs_ratio, rhs_ratio))
    while n > 0 and lhs % 2 == 0 and rhs % 2 == 0:
        lhs, rhs, n = lhs // 2, rhs // 2, n - 1
    return lhs, rhs, n


def rounding_constant(shift: Array, zero_point: int) -> Array:
    """Return what is added before a right shift: half of the last place kept, and the zero point moved up; int64."""
    rounding = np.where(shift > 0, np.left_shift(1, np.maximum(shift, 1) - 1), 0)
    return np.asarray(rounding + zero_point * np.left_shift(1, shift), np.int64)


def requantize(values: Array, multiplier: Any, shift: Any, zero_point: int) -> Array:
    """Return (values * multiplier + rounding + zero_point * 2^shift) >> shift in wrapping int32 arithmetic, not yet clipped.

    rounding is 2^(shift - 1), or 0 where the shift is 0. The operands broadcast.
    """
    amounts = np.asarray(shift, np.int64)
    total = values.astype(np.int64) * multiplier + rounding_constant(amounts, zero_point)
    return np.right_shift(wrap32(total), amounts.astype(np.int32))


def slope_multiplier(slope: Any) -> tuple[Array, Array]:
    """Return integers (m, n), as int64 arrays of the shape of `slope`, with m / 2^n near each slope.

    n is the largest in 0..15 for which |m| does not exceed `MAX_TENSOR_MULTIPLIER`; then common factors of two go. Slopes are
    between -128 and 128.
    """
    slopes = np.asarray(slope, np.float64)
    shift = np.full(slopes.shape, _MAX_SLOPE_SHIFT, np.int64)
    while True:
        multiplier = round_half_up(slopes * 2.0**shift).astype(np.int64)
        large = (np.abs(multiplier) > MAX_TENSOR_MULTIPLIER) & (shift > 0)
        if not large.any():
            return _reduced(multiplier, shift)
        shift = shift - large


@dataclass(frozen=True)
class HardSwishConstants:
    """The integers of ``(x * clip(x * factor + share, 0, 2 * share) + term) >> shift``."""

    factor: int
    share: int
    term: int
    shift: int


def hard_swish_constants(
    input_scale: float, output_scale: float, factor: float = 1.0, offset: float = 0.0, limit: int = 128
) -> HardSwishConstants:
    """Return the integers that compute ``factor * x * clip(x / 6 + 1/2, 0, 1) + offset`` of an x of at most `limit`.

    The factor of x is input_scale^2 * factor * 2^n / (6 * output_scale), the share 3 / input_scale times that, the term half a
    level and the offset, all rounded; n is the largest in 0..30 for which no product, and no term, exceeds 2^30. Raises
    `CompileError` if x would count for nothing.
    """
    for n in range(30, -1, -1):
        exact = input_scale**2 * factor * 2.0**n / (6 * output_scale)
        parts = exact, 3 * exact / input_scale, offset / output_scale * 2.0**n
        slope, share, term = (int(round_half_up(part)) for part in parts)
        if max(2 * share, slope) * limit <= 1 << 30 and abs(term) <= 1 << 30:
            if slope == 0:
                break
            return HardSwishConstants(slope, share, term + ((1 << n) >> 1), n)
    raise CompileError(f"no integers make a hard swish from scale {input_scale:g} to {output_scale:g}")
