import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vta.tile.digits import DIGIT_BITS, bits_of_fewest_digits, digits_of

FACTORS = st.lists(st.integers(-(1 << 24), 1 << 24), min_size=1, max_size=4).map(lambda values: np.array(values, np.int64))


@given(FACTORS, st.integers(DIGIT_BITS, 14))
def test_digits_add_up_to_the_values(values, bits):
    digits = digits_of(values, bits)
    assert sum((digit << bits * at for at, digit in enumerate(digits)), np.zeros_like(values)).tolist() == values.tolist()
    assert all(-(1 << bits - 1) <= digit.min() <= digit.max() < 1 << bits - 1 for digit in digits)


@given(st.lists(FACTORS, min_size=1, max_size=3))
def test_the_bits_of_fewest_digits_are_those_of_bytes(factors):
    bits = bits_of_fewest_digits(factors)
    assert all(np.abs(2 * digit + 1).max() <= 255 for factor in factors for digit in digits_of(factor, bits))
