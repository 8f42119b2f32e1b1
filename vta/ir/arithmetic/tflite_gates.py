"""Sigmoid and tanh of 16 bits, and the inverse root of a variance, as TFLite's kernels of integer LSTMs compute them.

This is gemmlowp's public fixed-point arithmetic. Values are int16 held in int64. A number with b integer bits stands for
value / 2^(15 - b).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.arithmetic.tflite_fixed_point import EXP_MINUS_EIGHTH, POWERS, RECIPROCAL_SLOPE, RECIPROCAL_START, THIRD, raised
from vta.ir.arithmetic.tflite_rounding import divide_by_power_of_two, doubling_high_product

__all__ = [
    "HALF_ROOT_OF_TWO",
    "MOST_INTEGER_BITS",
    "NEWTON_STEPS",
    "THREE_HALVES",
    "inverse_root",
    "sigmoid_table",
    "tanh_table",
]

Array = NDArray[Any]

MOST_INTEGER_BITS = 6
_LOW, _HIGH = -(2**15), 2**15 - 1
"""The least value, and the largest, which is the real number one where there are no integer bits."""
THREE_HALVES = (1 << 28) + (1 << 27)
"""With 3 integer bits of 32."""
HALF_ROOT_OF_TWO = 1518500250
"""Without integer bits."""
NEWTON_STEPS = 5
"""To the inverse of a root."""
_CLAMPED_BITS, _CLAMP = 5, 32
"""With more integer bits than these, exponentials of values below minus the clamp are zero."""


def sigmoid_table(integer_bits: int) -> Array:
    """Return the sigmoid, without integer bits, of each int16 with `integer_bits`, the least first; int16, (65536,)."""
    return _tables(integer_bits)[0]


def tanh_table(integer_bits: int) -> Array:
    """Return tanh, without integer bits, of each int16 with `integer_bits` up to 5, the least first; int16, (65536,)."""
    return _tables(integer_bits)[1]


@lru_cache(maxsize=MOST_INTEGER_BITS + 1)
def _tables(integer_bits: int) -> tuple[Array, Array]:
    values = np.arange(_LOW, _HIGH + 1, dtype=np.int64)
    below = -np.abs(values)
    power = _exp_of_negative(below, integer_bits)
    # 2 / (1 + x) with 2 integer bits; one integer bit fewer halves it.
    upper = _raised(_newton_reciprocal(power), 1)
    sigmoid = np.where(values > 0, upper, _HIGH - upper)
    sigmoid[values == 0] = 1 << 14
    # Doubling is one integer bit more. One is subtracted with 2 integer bits, which are then given up.
    share = _raised(_newton_reciprocal(_exp_of_negative(below, integer_bits + 1)) - (1 << 13), 2)
    tanh = np.where(values < 0, -share, share)
    tanh[values == 0] = 0
    tables = np.asarray(sigmoid, np.int16), np.asarray(tanh, np.int16)
    for table in tables:
        table.flags.writeable = False
    return tables


def _narrow(value: int) -> int:
    """A constant of 32 bits in 16."""
    return int(divide_by_power_of_two(value, 16))


def _high_product(left: Any, right: Any) -> Array:
    """Return round(left * right / 2^15), halves upwards, saturating."""
    return np.asarray(np.minimum((np.asarray(left) * np.asarray(right) + (1 << 14)) >> 15, _HIGH))


def _raised(values: Array, bits: int) -> Array:
    return np.clip(np.left_shift(values, bits), _LOW, _HIGH)


def _exp_of_negative(values: Array, integer_bits: int) -> Array:
    """Return exp of values <= 0, with no integer bits."""
    fraction = 15 - integer_bits
    quarter = 1 << (fraction - 2)
    rest = (values & (quarter - 1)) - quarter
    result = _exp_within_quarter(_raised(rest, integer_bits))
    remainder = rest - values
    for power, factor in POWERS:
        if power < integer_bits:
            bit = 1 << (fraction + power)
            result = np.where(remainder & bit, _high_product(result, _narrow(factor)), result)
    if integer_bits > _CLAMPED_BITS:
        result = np.where(values < -(_CLAMP << fraction), 0, result)
    return np.where(values == 0, _HIGH, result)


def _exp_within_quarter(values: Array) -> Array:
    """exp on [-1/4, 0), by its Taylor series around -1/8."""
    start = _narrow(EXP_MINUS_EIGHTH)
    x = values + (1 << 12)
    x2 = _high_product(x, x)
    x3, x4 = _high_product(x2, x), _high_product(x2, x2)
    inner = _high_product(divide_by_power_of_two(x4, 2) + x3, _narrow(THIRD)) + x2
    return np.asarray(np.minimum(start + _high_product(start, x + divide_by_power_of_two(inner, 1)), _HIGH))


def _newton_reciprocal(fraction: Array) -> Array:
    """Return 2 / (1 + x) with 2 integer bits, for x from 0 to 1 with none, by three steps of Newton's."""
    half = (fraction + _HIGH + 1) >> 1
    x = _narrow(RECIPROCAL_START) + _high_product(half, _narrow(RECIPROCAL_SLOPE))
    for _ in range(3):
        error = (1 << 13) - _high_product(half, x)
        x = x + _raised(_high_product(x, error), 2)
    return np.asarray(x)


def inverse_root(values: Array) -> tuple[Array, Array]:
    """Return (multiplier, exponent) of one over the root of positive int32 values, as `multiply_quantized` takes them."""
    shrunk, halvings = values.copy(), np.zeros_like(values)
    while (large := shrunk >= 1 << 29).any():
        shrunk, halvings = np.where(large, shrunk // 4, shrunk), halvings + large
    # Pairs of bits by which a value may move up until it has 28 or 29.
    pairs = (31 - np.frexp(shrunk.astype(np.float64))[1].astype(np.int64)) // 2 - 1
    shrunk, shift = shrunk << 2 * pairs, 11 + halvings - pairs
    half = divide_by_power_of_two(shrunk >> 1, 1)
    x = np.full_like(values, 1 << 28)
    for _ in range(NEWTON_STEPS):
        cube = raised(doubling_high_product(doubling_high_product(x, x), x), 6)
        x = raised(doubling_high_product(THREE_HALVES, x) - doubling_high_product(half, cube), 3)
    multiplier = doubling_high_product(x, HALF_ROOT_OF_TWO) << np.maximum(-shift, 0)
    trivial = values <= 1
    return np.where(trivial, 2**31 - 1, multiplier), np.where(trivial, 0, -np.maximum(shift, 0))
