"""Steps against the functions whose steps they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.ir.arithmetic.even_rounding import even_levels
from vta.ir.arithmetic.tflite_rounding import divide_rounded, multiply_quantized, multiply_quantized_once, quantized_multiplier
from vta.quantization.requantize.rounding_steps import average_steps, requantized_steps, searched_steps

LEVELS = np.arange(-140, 141)


@settings(max_examples=60)
@given(st.lists(st.floats(1e-6, 1.9), min_size=1, max_size=4), st.booleans())
def test_a_level_is_reached_at_its_step_and_not_before(ratios, once):
    multiplier, exponent = quantized_multiplier(np.array(ratios))
    at = requantized_steps(LEVELS, multiplier, exponent, once=once)
    multiply = multiply_quantized_once if once else multiply_quantized
    value = lambda x: multiply(x, multiplier[:, None], exponent[:, None])  # noqa: E731
    inside = np.abs(at) < 2**31 - 1
    assert (value(np.where(inside, at, 0)) >= LEVELS)[inside].all()
    assert (value(np.where(inside, at - 1, 0)) < LEVELS)[inside].all()


@settings(max_examples=60)
@given(
    st.lists(st.floats(2.0**-32, 2.0**16), min_size=1, max_size=3),
    st.lists(st.integers(-383, 383), unique=True, max_size=8).map(sorted),
)
def test_levels_may_lie_apart_and_ratios_may_be_steep_or_flat(ratios, levels):
    multiplier, exponent = quantized_multiplier(np.array(ratios))
    wanted, numbers = np.array(levels, np.int64), (multiplier[:, None], exponent[:, None])
    at = requantized_steps(wanted, multiplier, exponent, once=False)
    assert at.shape == (len(ratios), len(levels))
    # Beyond that, what is moved up before the product saturates.
    inside = (np.abs(at) < 2**31 - 1) & (np.abs(at) + 1 < 2 ** (31 - np.maximum(numbers[1], 0)))
    assert (multiply_quantized(np.where(inside, at, 0), *numbers) >= wanted)[inside].all()
    assert (multiply_quantized(np.where(inside, at - 1, 0), *numbers) < wanted)[inside].all()


def test_a_ratio_of_nothing_reaches_no_level_above_zero():
    multiplier, exponent = quantized_multiplier(np.array([1e-20]))
    for once in (True, False):
        at = requantized_steps(np.array([0, 1]), multiplier, exponent, once=once)
        assert at[0, 0] < -(2**31)
        assert at[0, 1] > 2**31


@pytest.mark.parametrize("unsigned", [True, False])
@pytest.mark.parametrize("count", [1, 4, 9, 49])
def test_steps_of_averages(count, unsigned):
    levels = np.arange(-127, 128)
    at = average_steps(levels, count, unsigned=unsigned)[0]
    assert (divide_rounded(at, count, unsigned=unsigned) >= levels).all()
    assert (divide_rounded(at - 1, count, unsigned=unsigned) < levels).all()


@settings(max_examples=60)
@given(st.lists(st.floats(2.0**-20, 1.875, width=32), min_size=1, max_size=4))
def test_steps_that_are_searched_for(ratios):
    ratio = np.array(ratios, np.float32)
    at = searched_steps(LEVELS, lambda x: even_levels(x, ratio, 0), ratio.astype(np.float64))
    assert (even_levels(at, ratio, 0) >= LEVELS).all()
    assert (even_levels(at - 1, ratio, 0) < LEVELS).all()
