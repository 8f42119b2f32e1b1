"""Work done slice by slice gives what it gives at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.quantization.bounds import magnitude_sums
from vta.quantization.float.scales import nearest_levels, plain_kernel_scales, quantized_weight
from vta.support.row_slices import row_slices

SHAPES = st.one_of(
    st.tuples(st.integers(1, 40), st.integers(1, 9), st.integers(1, 3)),
    st.sampled_from([(1, 200_000), (70_000, 3), (5, 40_000), (300, 1000), (66, 1000, 1)]),
)


@given(SHAPES)
def test_slices_are_the_whole_in_order(shape):
    array = np.zeros(shape, np.int8)
    places = [place for rows in row_slices(array) for place in range(*rows.indices(len(array)))]
    assert places == list(range(shape[0]))
    assert all(array[rows].size <= max(1 << 16, array[0].size) for rows in row_slices(array))


@given(SHAPES, st.sampled_from([np.int8, np.int16, np.int32]), st.integers(0, 99))
def test_sums_of_magnitudes(shape, dtype, seed):
    info = np.iinfo(dtype)
    values = np.random.default_rng(seed).integers(info.min, info.max, shape, dtype, endpoint=True)
    wanted = np.abs(values.astype(np.int64)).reshape(len(values), -1).sum(axis=1)
    np.testing.assert_array_equal(magnitude_sums(values), wanted)


@given(SHAPES, st.booleans(), st.sampled_from([np.float32, np.float64]), st.sampled_from([0.3, 1.0]), st.integers(0, 99))
def test_weights_are_quantized_as_at_once(shape, per_channel, dtype, share, seed):
    weight = np.random.default_rng(seed).standard_normal(shape, dtype)
    scales = share * plain_kernel_scales(weight, per_channel)
    wanted = nearest_levels(weight / scales.reshape(-1, *[1] * (weight.ndim - 1))).astype(np.int8)
    np.testing.assert_array_equal(quantized_weight(weight, scales), wanted)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0)])
def test_nothing_is_no_matter(shape):
    assert magnitude_sums(np.zeros(shape, np.int8)).tolist() == [0] * shape[0]
