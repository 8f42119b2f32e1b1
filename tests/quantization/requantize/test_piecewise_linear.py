"""Tables as lines: whatever is found gives the table, and what rectifiers and clips make is found."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vta.frontend.tflite.operation import Quantization
from vta.frontend.tflite.tables import hard_swish_table, leaky_relu_table, logistic_table
from vta.quantization.requantize.piecewise_linear import lines_of

X = np.arange(-128, 128)


def rounded(values):
    return np.clip(np.floor(np.asarray(values, np.float64) + 0.5), -128, 127).astype(np.int8)


@settings(deadline=None, max_examples=60)
@given(st.floats(-2, 2), st.floats(-2, 2), st.integers(-100, 100), st.floats(-90, 90))
def test_any_rectifier_is_two_lines(left, right, zero, offset):
    values = np.where(zero > X, left, right) * (X - zero) + offset
    # Halves that single bits of the products take up or down lie on no line.
    assume((np.abs(values - np.floor(values) - 0.5) > 1e-9).all())
    table = rounded(values)
    found = lines_of(table)
    assert found is not None
    np.testing.assert_array_equal(found.levels(), table)
    assert found.shift >= 0
    assert max(abs(line.factor) for line in found.lines) <= 8355711


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-128, 127), min_size=256, max_size=256), st.booleans())
def test_what_is_found_is_the_table(values, ordered):
    table = np.array(sorted(values) if ordered else values, np.int8)
    found = lines_of(table)
    if found is not None:
        np.testing.assert_array_equal(found.levels(), table)


@pytest.mark.parametrize("table", [rounded(0.2 * X + 40), rounded(-1.5 * X), rounded(X), np.full(256, 7, np.int8)])
def test_one_line_is_enough_for_what_is_straight(table):
    found = lines_of(table)
    assert len(found.lines) == 1
    np.testing.assert_array_equal(found.levels(), table)


def test_a_leaky_relu_of_tflite_at_one_scale():
    table = leaky_relu_table(Quantization(0.05, 3), Quantization(0.05, 3), 0.1)
    found = lines_of(table)
    assert found.join == "maximum"
    np.testing.assert_array_equal(found.levels(), table)


@settings(deadline=None, max_examples=60)
@given(st.floats(-5, 0), st.integers(-128, 127), st.floats(-1.5, 1.5), st.integers(-128, 127), st.floats(-1, 2))
def test_any_leaky_relu_of_tflite_has_lines(scale, zero, ratio, zero_out, alpha):
    source, to = (float(np.float32(np.exp(value))) for value in (scale, scale + ratio))
    table = leaky_relu_table(Quantization(source, zero), Quantization(to, zero_out), alpha)
    found = lines_of(table)
    assert found is not None
    np.testing.assert_array_equal(found.levels(), table)


def test_a_level_between_two_lines_takes_their_sum():
    """TFLite rounds twice, away from zero: below zero levels come early."""
    table = leaky_relu_table(Quantization(0.005, -95), Quantization(0.018, 58), 1.16)
    found = lines_of(table)
    assert (found.join, found.pivot, found.middle) == ("add", -95, 58)
    np.testing.assert_array_equal(found.levels(), table)


def test_curves_have_none():
    assert lines_of(hard_swish_table(Quantization(0.05, 0), Quantization(0.05, 0))) is None
    assert lines_of(logistic_table(Quantization(0.05, 0), Quantization(1 / 256, -128))) is None
