"""Sigmoid, tanh and inverse roots in fixed point against real ones; tests/frontend compares them with LiteRT bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.ir.arithmetic.tflite_gates import MOST_INTEGER_BITS, inverse_root, sigmoid_table, tanh_table

BITS = st.integers(0, MOST_INTEGER_BITS)
VALUES = np.arange(-(2**15), 2**15)


@given(BITS)
def test_tables_are_near_the_real_functions(bits):
    real = VALUES / 2.0 ** (15 - bits)
    assert np.abs(sigmoid_table(bits) / 2.0**15 - 1 / (1 + np.exp(-real))).max() < 2.5e-4
    assert np.abs(tanh_table(bits) / 2.0**15 - np.tanh(real)).max() < 4e-4


@given(BITS)
def test_what_lies_on_both_sides_of_zero_adds_up(bits):
    sigmoid, tanh = (table(bits).astype(np.int64) for table in (sigmoid_table, tanh_table))
    assert sigmoid[2**15] == 2**14
    assert tanh[2**15] == 0
    assert (sigmoid[1 : 2**15] + sigmoid[: 2**15 : -1] == 2**15 - 1).all()
    assert (tanh[1 : 2**15] == -tanh[: 2**15 : -1]).all()


def test_tables_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        tanh_table(3)[0] = 1


@given(st.lists(st.integers(1, 2**31 - 1), min_size=1, max_size=20))
def test_inverse_roots(numbers):
    values = np.array(numbers, np.int64)
    multiplier, exponent = inverse_root(values)
    assert ((multiplier > 0) & (multiplier < 2**31)).all()
    np.testing.assert_allclose(multiplier / 2.0**31 * 2.0**exponent, 1 / np.sqrt(values), rtol=2e-5)
