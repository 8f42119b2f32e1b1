from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.errors import CompileError
from vta.ir.arithmetic.fixed_point import (
    INT32_MAX,
    MAX_TENSOR_MULTIPLIER,
    add_multipliers,
    multiplier_and_shift,
    requantize,
    residual_multiplier,
    round_half_up,
)


def test_halves_round_up():
    assert round_half_up([-1.5, -0.5, 0.5, 1.5, 2.4]).tolist() == [-1, 0, 1, 2, 2]


@given(st.integers(0, 20), st.integers(1, 2**31 // 2**12))
@settings(deadline=None, max_examples=50)
def test_a_power_of_two_needs_no_multiplier(shift: int, bound: int):
    multiplier, amount = multiplier_and_shift(2.0**-shift, bound)
    if bound + 2**shift <= INT32_MAX:
        assert (int(multiplier), int(amount)) == (1, shift)


@given(st.integers(1, 255), st.integers(0, 15), st.integers(1, 2**22), st.floats(1e-4, 1e4))
@settings(deadline=None, max_examples=100)
def test_an_eight_bit_ratio_of_scales_is_found_exactly(numerator: int, shift: int, bound: int, scale: float):
    ratio = scale * (numerator * 2.0**-shift) / scale
    if bound * numerator + 2**shift > INT32_MAX:
        return
    multiplier, amount = multiplier_and_shift(ratio, bound)
    assert multiplier * 2.0**-amount == numerator * 2.0**-shift


@given(st.floats(1e-6, 4.0), st.integers(1, 2**24), st.integers(0, 128), st.data())
@settings(deadline=None, max_examples=200)
def test_requantization_never_wraps_and_is_near_the_real_product(ratio: float, bound: int, zero_point: int, data: st.DataObject):
    multiplier, shift = multiplier_and_shift(ratio, bound, zero_point)
    value = data.draw(st.integers(-bound, bound))
    exact = (value * int(multiplier) + (1 << int(shift) >> 1) + (zero_point << int(shift))) >> int(shift)
    assert int(requantize(np.array(value), multiplier, shift, zero_point)) == exact
    error = abs(int(multiplier) / 2.0 ** int(shift) - ratio) * bound
    assert abs(exact - zero_point - value * ratio) <= 0.5 + error + 1e-9


@given(
    ratios=st.lists(st.floats(2.0**-45, 2.0**10) | st.sampled_from([0.0, 0.5, 0.25, 3.0]), max_size=5),
    bound=st.integers(1, 2**20),
    offset=st.integers(0, 128),
)
def test_the_largest_shift_that_fits_is_taken(ratios: list[float], bound: int, offset: int):
    found = multiplier_and_shift(np.array(ratios), bound, offset)
    assert [array.dtype for array in found] == [np.int64, np.int64]
    for ratio, multiplier, shift in zip(ratios, *(array.tolist() for array in found), strict=True):
        wanted = 0, 0
        for n in range(31):
            scaled = int(np.floor(ratio * 2.0**n + 0.5))
            if scaled * bound + (offset + 1) * 2**n <= 2**31 - 1:
                wanted = scaled, n
        while wanted[0] % 2 == 0 and wanted[1] > 0:
            wanted = (wanted[0] // 2, wanted[1] - 1) if wanted[0] else (0, 0)
        assert (multiplier, shift) == wanted


def test_a_ratio_that_must_overflow_is_refused():
    with pytest.raises(CompileError, match="1048576 times the ratio of scales 10000 exceeds 2147483647"):
        multiplier_and_shift(1e4, 2**20)


def test_channels_are_independent():
    multiplier, shift = multiplier_and_shift([0.5, 0.75, 0.0], 1000)
    assert multiplier.tolist() == [1, 3, 0]
    assert shift.tolist() == [1, 2, 0]


@given(st.floats(1e-3, 100), st.floats(1e-3, 100))
@settings(deadline=None, max_examples=100)
def test_multipliers_of_an_addition_stay_within_the_limit(left: float, right: float):
    ml, mr, shift = add_multipliers(left, right)
    assert 0 <= shift <= 15
    assert max(ml, mr) <= MAX_TENSOR_MULTIPLIER
    for multiplier, ratio in ((ml, left), (mr, right)):
        assert abs(multiplier / 2.0**shift - ratio) <= 0.5 / 2.0**shift + 1e-12


def test_an_addition_to_a_dyadic_scale_shifts_its_first_operand():
    ml, mr, shift = add_multipliers(0.5, 0.3)
    assert ml & (ml - 1) == 0
    assert mr == round(0.3 * 2**shift)


def test_an_addition_beyond_the_limit_is_refused():
    with pytest.raises(CompileError, match="exceeds 16384"):
        add_multipliers(1.0, 20000.0)


def test_residual_multiplier_is_rounded():
    assert residual_multiplier(1.0, (0.25, 0.3)).tolist() == [4, 3]
