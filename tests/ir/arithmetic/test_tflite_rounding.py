"""TFLite's fixed-point arithmetic against exact fractions."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.ir.arithmetic.tflite_rounding import (
    add_rescaled,
    divide_by_power_of_two,
    divide_rounded,
    doubling_high_product,
    mean_multiplier,
    multiply_quantized,
    multiply_quantized_once,
    quantized_multiplier,
    round_half_away,
)

INT32 = st.integers(-(2**31), 2**31 - 1)


def away(value: Fraction) -> int:
    """The nearest integer, halves away from zero."""
    return floor(value + Fraction(1, 2)) if value >= 0 else -floor(-value + Fraction(1, 2))


@given(INT32, INT32)
def test_the_doubling_high_product_rounds_halves_up(a, b):
    exact = floor(Fraction(a * b, 2**31) + Fraction(1, 2))
    assert doubling_high_product(a, b) == min(exact, 2**31 - 1)


@given(INT32, st.integers(0, 31))
def test_divisions_by_powers_of_two_round_halves_away_from_zero(value, exponent):
    assert divide_by_power_of_two(value, exponent) == away(Fraction(value, 2**exponent))


@given(st.floats(1e-12, 4.0))
def test_a_ratio_is_a_multiplier_and_an_exponent(ratio):
    multiplier, exponent = (int(part) for part in quantized_multiplier(ratio))
    if ratio < 2.0**-32:
        assert (multiplier, exponent) == (0, 0)
    else:
        assert 2**30 <= multiplier < 2**31
        assert abs(multiplier / 2**31 * 2.0**exponent / ratio - 1) <= 2.0**-30


@given(st.integers(-(2**24), 2**24), st.floats(1e-6, 1.9))
def test_rounding_twice_and_once_are_near_the_product(value, ratio):
    parts = quantized_multiplier(ratio)
    exact = Fraction(value) * int(parts[0]) / 2**31 * Fraction(2) ** int(parts[1])
    assert multiply_quantized_once(value, *parts) == floor(exact + Fraction(1, 2))
    assert abs(int(multiply_quantized(value, *parts)) - exact) <= Fraction(3, 4) + 1


@pytest.mark.parametrize(("value", "rounded"), [(0.5, 1), (-0.5, -1), (1.4, 1), (-1.5, -2), (2.5, 3), (0.0, 0)])
def test_halves_away_from_zero(value, rounded):
    assert round_half_away(np.float32(value)) == rounded
    assert round_half_away(np.float32(value)).dtype == np.float32


@given(st.integers(-5000, 5000), st.integers(1, 80))
def test_averages(total, count):
    exact = Fraction(total, count)
    assert divide_rounded(np.int64(total), count, unsigned=True) == floor(Fraction(total + count // 2, count))
    if count % 2 == 0:
        assert divide_rounded(np.int64(total), count) == away(exact)


@given(st.integers(-128, 127), st.integers(-128, 127), st.tuples(*[st.floats(0.01, 0.5)] * 3))
def test_sums_are_near_the_real_sum(lhs, rhs, scales):
    real = (lhs * scales[0] + rhs * scales[1]) / scales[2]
    for subtract, wanted in ((False, real), (True, (lhs * scales[0] - rhs * scales[1]) / scales[2])):
        total = add_rescaled(np.int64(lhs), np.int64(rhs), scales, subtract=subtract)
        assert abs(int(total) - wanted) <= 0.51


@given(st.floats(0.01, 3.0), st.integers(1, 2000))
def test_a_mean_divides_by_the_count(ratio, count):
    multiplier, exponent = mean_multiplier(ratio, count)
    assert abs(multiplier / 2**31 * 2.0**exponent * count / ratio - 1) < 2.0**-18
