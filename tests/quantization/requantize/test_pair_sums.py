"""Sums of two tensors found for all pairs of values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.ir.arithmetic.tflite_rounding import add_rescaled
from vta.quantization.requantize.pair_sums import fit_factored_sum, fit_pair, fit_sum

VALUES = np.arange(-128, 128)


def wanted(scales, zeros, low, high):
    total = add_rescaled((VALUES - zeros[0])[:, None], (VALUES - zeros[1])[None], scales)
    return np.clip(total + zeros[2], low, high)


def got(found, low, high):
    total = found.lhs * VALUES[:, None] + found.rhs * VALUES[None] + found.term
    assert np.abs(total).max() < 2**31
    return np.clip(total >> found.shift, low, high)


@settings(max_examples=25)
@given(
    st.tuples(*[st.floats(0.01, 0.1)] * 3),
    st.tuples(*[st.integers(-128, 127)] * 3),
    st.sampled_from([(-128, 127), (-20, 127), (-128, 50), (7, 7)]),
)
def test_sums_are_exact_or_one_off(scales, zeros, limits):
    expected = wanted(scales, zeros, *limits)
    found = fit_sum(expected, scales[0] / scales[2], scales[1] / scales[2], *limits)
    difference = np.abs(got(found, *limits) - expected)
    assert difference.max() <= 1
    assert found.exact == (difference.max() == 0)
    assert (difference > 0).mean() < 0.001


def test_equal_scales_need_two_digits_only():
    values = np.clip(VALUES[:, None] + VALUES[None], -128, 127)
    found = fit_sum(values, 1.0, 1.0, -128, 127)
    assert found.exact
    assert max(found.lhs, found.rhs) < 1 << 15


@settings(max_examples=25, deadline=None)
@given(
    st.tuples(*[st.floats(0.01, 0.1)] * 3),
    st.tuples(*[st.integers(-128, 127)] * 3),
    st.sampled_from([(-128, 127), (-20, 127), (-128, 50), (7, 7)]),
)
def test_factored_sums_are_exact(scales, zeros, limits):
    expected = wanted(scales, zeros, *limits)
    found = fit_factored_sum(expected, scales[0] / scales[2], scales[1] / scales[2], *limits)
    if found is None:
        return
    assert 127 <= found.start < 1 << 31
    assert max(map(abs, (*found.lhs, *found.rhs))) <= 127
    x, y = VALUES[:, None].astype(np.int64), VALUES[None].astype(np.int64)
    first = found.start + found.lhs[0] * x + found.rhs[0] * y
    total = (first * found.factor + found.lhs[1] * x + found.rhs[1] * y).astype(np.int32) >> found.shift
    np.testing.assert_array_equal(np.clip(total, *limits), expected)


def test_common_scales_factor():
    expected = wanted((0.0472, 0.0283, 0.0521), (-128, 5, -128), -128, 127)
    assert fit_factored_sum(expected, 0.0472 / 0.0521, 0.0283 / 0.0521, -128, 127) is not None


@pytest.mark.parametrize("multiplies", [True, False])
@pytest.mark.parametrize("scales", [(0.0472, 0.0283, 0.0521), (0.05, 0.05, 0.05), (0.0123, 0.0871, 0.0333)])
def test_what_is_kept_is_what_was_found(scales, multiplies, tmp_path, monkeypatch):
    expected = wanted(scales, (3, -5, 1), -128, 127)
    asked = expected, scales[0] / scales[2], scales[1] / scales[2], -128, 127
    direct = (fit_factored_sum(*asked) if multiplies else None) or fit_sum(*asked)
    monkeypatch.setenv("VTA_CACHE_PATH", str(tmp_path))
    made = []

    def make():
        made.append(expected)
        return expected

    for _ in range(2):
        assert fit_pair(make, b"key", *asked[1:], multiplies=multiplies) == direct
    assert len(list((tmp_path / "sums").iterdir())) == 1
    assert len(made) == 1
