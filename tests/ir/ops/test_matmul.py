from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.ir.ops._matmul import exact_dtype, matmul_integers


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 3000), st.sampled_from([(128, 128), (255, 128), (2**15, 2**15), (3, 2**20)]))
def test_products_are_exact(seed, depth, limits):
    rng = np.random.default_rng(seed)
    data, weight = (rng.integers(-limit, limit, (2, depth)).astype(np.int32) for limit in limits)
    expected = (data.astype(object) @ weight.T.astype(object)).astype(np.int64).astype(np.int32)
    np.testing.assert_array_equal(matmul_integers(data, weight), expected)


@pytest.mark.parametrize(
    ("largest", "weight", "depth", "dtype"),
    [(127, 127, 1040, np.float32), (127, 127, 1041, np.float64), (1, 2**24 - 1, 1, np.float32), (1, 2**24 + 1, 1, np.float64)],
)
def test_float32_only_where_every_sum_fits(largest, weight, depth, dtype):
    assert exact_dtype(np.array([0, -largest]), np.full((1, depth), weight)) is dtype
