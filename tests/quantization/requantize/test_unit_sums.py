"""Sums of two tensors that the requantize unit scales, for all pairs of values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.ir.arithmetic.tflite_rounding import add_rescaled
from vta.quantization.requantize.rounding_steps import requantized_steps
from vta.quantization.requantize.unit_sums import fit_unit_sum

VALUES = np.arange(-128, 128)
RESNET = (0.7732462684520817 * 0.1, 2.045217092454641 * 0.1, 0.1)


def wanted(scales, zeros, low, high):
    total = add_rescaled((VALUES - zeros[0])[:, None], (VALUES - zeros[1])[None], scales)
    return np.clip(total + zeros[2], low, high)


def found_for(scales, zeros, limits):
    def make():
        return wanted(scales, zeros, *limits)

    key = repr((scales, zeros)).encode()
    return fit_unit_sum(make, key, (scales[0] / scales[2], scales[1] / scales[2]), *limits, zeros[2])


def got(found, zero, low, high):
    first = found.lhs[0] * VALUES[:, None] + found.rhs[0] * VALUES[None]
    assert found.factor or found.lhs[1] == found.rhs[1] == 0
    total = first * (found.factor or 1) + found.lhs[1] * VALUES[:, None] + found.rhs[1] * VALUES[None] + found.term
    assert np.abs(total).max() < 2**31
    parameters = found.parameters
    steps = requantized_steps(np.arange(low + 1, high + 1) - zero, parameters.multiplier, -parameters.shift, once=True)
    return low + np.searchsorted(steps[0], total, side="right")


@settings(max_examples=12, deadline=None)
@given(
    st.tuples(*[st.floats(0.01, 0.1)] * 3),
    st.tuples(*[st.integers(-128, 127)] * 3),
    st.sampled_from([(-128, 127), (-20, 127), (7, 7)]),
)
def test_what_is_found_is_exact(scales, zeros, limits):
    found = found_for(scales, zeros, limits)
    if found is not None:
        np.testing.assert_array_equal(got(found, zeros[2], *limits), wanted(scales, zeros, *limits))


def test_equal_scales_take_a_product_each():
    found = found_for((0.1, 0.1, 0.17), (3, -5, 7), (-128, 127))
    assert found is not None
    assert (found.lhs[0], found.factor) == (found.rhs[0], 0)
    assert found.lhs[0] <= 127


@pytest.mark.parametrize("swapped", [False, True])
def test_digits_lie_further_apart_where_few_do_not_suffice(swapped):
    scales = (RESNET[1], RESNET[0], RESNET[2]) if swapped else RESNET
    found = found_for(scales, (-128, 4, -128), (-128, 127))
    assert found is not None
    np.testing.assert_array_equal(got(found, -128, -128, 127), wanted(scales, (-128, 4, -128), -128, 127))
    assert not found.factor
    assert max(found.lhs[0], found.rhs[0]) > 127 * 0x101
