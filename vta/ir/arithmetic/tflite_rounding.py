"""The fixed-point arithmetic of TFLite, to the bit: a ratio of scales is a 31-bit multiplier and a power of two.

TFLite rounds most results twice: the doubled high half of a 64-bit product, halves upwards, then a shift, halves away from zero.
Fully connected layers it rounds once, halves upwards.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ADD_LEFT_SHIFT",
    "add_rescaled",
    "divide_by_power_of_two",
    "divide_rounded",
    "doubling_high_product",
    "mean_multiplier",
    "multiply_quantized",
    "multiply_quantized_once",
    "quantized_multiplier",
    "round_half_away",
]

Array = NDArray[Any]

ADD_LEFT_SHIFT = 20
"""By how many bits the operands of a sum are moved up before they are rescaled."""
_INT32 = (-(2**31), 2**31 - 1)


def round_half_away(values: Any) -> Array:
    """Round floats to the nearest integer, halves away from zero; keeps the data type."""
    array = np.asarray(values)
    return np.asarray(np.trunc(array + np.copysign(np.asarray(0.5, array.dtype), array)))


def quantized_multiplier(ratio: Any) -> tuple[Array, Array]:
    """Return (multiplier, exponent) as int64 arrays of the shape of `ratio`: ratio = multiplier / 2^31 * 2^exponent.

    The multiplier is 0, or from 2^30 to 2^31 - 1.
    """
    fraction, exponent = np.frexp(np.asarray(ratio, np.float64))
    multiplier = round_half_away(fraction * 2.0**31).astype(np.int64)
    whole = multiplier == 2**31
    multiplier = np.where(whole, 2**30, multiplier)
    exponent = exponent.astype(np.int64) + whole
    vanishes = exponent < -31
    return np.where(vanishes, 0, multiplier), np.where(vanishes, 0, exponent)


def doubling_high_product(a: Any, b: Any) -> Array:
    """Return round(a * b / 2^31) of int32 values held in int64, halves upwards, saturating."""
    product = np.asarray(np.asarray(a, np.int64) * np.asarray(b, np.int64))
    product += 1 << 30
    product >>= 31
    return np.minimum(product, _INT32[1], out=product)


def divide_by_power_of_two(values: Any, exponent: Any) -> Array:
    """Return values / 2^exponent, rounded, halves away from zero; int64."""
    numbers, amount = np.asarray(values, np.int64), np.asarray(exponent, np.int64)
    # A negative number that is shifted at all has its halves go down: one less is added.
    result = np.asarray(np.right_shift(numbers, 63) & -(amount > 0).astype(np.int64))
    result += numbers
    result += np.left_shift(np.int64(1), amount) >> 1
    result >>= amount
    return result


def multiply_quantized(values: Any, multiplier: Any, exponent: Any) -> Array:
    """Return int32 `values` times the ratio that `quantized_multiplier` gave; int64. The operands broadcast."""
    amount = np.asarray(exponent, np.int64)
    raised = np.clip(np.left_shift(np.asarray(values, np.int64), np.maximum(amount, 0)), *_INT32)
    return divide_by_power_of_two(doubling_high_product(raised, multiplier), np.maximum(-amount, 0))


def multiply_quantized_once(values: Any, multiplier: Any, exponent: Any) -> Array:
    """As `multiply_quantized`, rounding the whole product once, halves upwards."""
    amount = 31 - np.asarray(exponent, np.int64)
    product = np.asarray(values, np.int64) * np.asarray(multiplier, np.int64)
    return np.asarray(np.right_shift(product + np.left_shift(np.int64(1), amount - 1), amount))


def add_rescaled(lhs: Array, rhs: Array, scales: tuple[float, float, float], *, subtract: bool = False) -> Array:
    """Return the sum of two int8 tensors less their zero points (int64), at the output scale, before its zero point is added.

    `scales` are those of both operands and of the output.
    """
    twice = 2.0 * max(scales[0], scales[1])
    first, second = (
        multiply_quantized(np.left_shift(values, ADD_LEFT_SHIFT), *quantized_multiplier(scale / twice))
        for values, scale in ((lhs, scales[0]), (rhs, scales[1]))
    )
    total = first - second if subtract else first + second
    return multiply_quantized(total, *quantized_multiplier(twice / (2.0**ADD_LEFT_SHIFT * scales[2])))


def divide_rounded(sums: Array, counts: Any, *, unsigned: bool = False) -> Array:
    """Return the averages sums / counts as integers: halves away from zero, or upwards where `unsigned` values were summed."""
    half = np.asarray(counts, np.int64) // 2
    if unsigned:
        return np.asarray((sums + half) // counts)
    return np.asarray(np.sign(sums) * ((np.abs(sums) + half) // counts))


def mean_multiplier(ratio: float, count: int) -> tuple[int, int]:
    """Return (multiplier, exponent) by which TFLite turns the sum of `count` values into their mean at the output scale."""
    multiplier, exponent = (int(part) for part in quantized_multiplier(ratio))
    shift = min(int(math.log2(count)), 32, 31 + exponent)
    return (multiplier << shift) // count, exponent - shift
