"""The fixed-point functions of TFLite's reference kernels: exponentials and what is made of them, on int32 held in int64.

A number with b integer bits stands for value / 2^(31 - b). The constants and series are those of gemmlowp's public fixed-point
arithmetic, which those kernels use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.arithmetic.tflite_rounding import divide_by_power_of_two, doubling_high_product

__all__ = [
    "EXP_MINUS_EIGHTH",
    "ONE",
    "POWERS",
    "RECIPROCAL_SLOPE",
    "RECIPROCAL_START",
    "THIRD",
    "exp_of_negative",
    "newton_reciprocal",
    "raised",
]

Array = NDArray[Any]

ONE = 2**31 - 1
"""The real number one with no integer bits."""
EXP_MINUS_EIGHTH = 1895147668
THIRD = 715827883
POWERS = ((-2, 1672461947), (-1, 1302514674), (0, 790015084), (1, 290630308), (2, 39332535), (3, 720401), (4, 242))
"""For each power of two p, exp(-2^p)."""
RECIPROCAL_START, RECIPROCAL_SLOPE = 1515870810, -1010580540
"""48/17 and -32/17 with 2 integer bits."""


def raised(values: Array, bits: int) -> Array:
    """Return values * 2^bits, saturating at int32."""
    return np.clip(np.left_shift(values, bits), -(2**31), 2**31 - 1)


def exp_of_negative(values: Array, integer_bits: int) -> Array:
    """Return exp of values <= 0 with `integer_bits` up to 5, with no integer bits."""
    fraction = 31 - integer_bits
    quarter = 1 << (fraction - 2)
    rest = (values & (quarter - 1)) - quarter
    result = _exp_within_quarter(raised(rest, integer_bits))
    remainder = rest - values
    for power, factor in POWERS:
        if power < integer_bits:
            bit = 1 << (fraction + power)
            result = np.where(remainder & bit, doubling_high_product(result, factor), result)
    return np.where(values == 0, ONE, result)


def _exp_within_quarter(values: Array) -> Array:
    """exp on [-1/4, 0), by its Taylor series around -1/8."""
    x = values + (1 << 28)
    x2 = doubling_high_product(x, x)
    x3, x4 = doubling_high_product(x2, x), doubling_high_product(x2, x2)
    inner = doubling_high_product(divide_by_power_of_two(x4, 2) + x3, THIRD) + x2
    return EXP_MINUS_EIGHTH + doubling_high_product(EXP_MINUS_EIGHTH, x + divide_by_power_of_two(inner, 1))


def newton_reciprocal(fraction: Array) -> Array:
    """Return 2 / (1 + x) with 2 integer bits, for x from 0 to 1 with none, by three steps of Newton's."""
    half = (fraction + ONE + 1) >> 1
    x = RECIPROCAL_START + doubling_high_product(half, RECIPROCAL_SLOPE)
    for _ in range(3):
        error = (1 << 29) - doubling_high_product(half, x)
        x = x + raised(doubling_high_product(x, error), 2)
    return np.asarray(x)
