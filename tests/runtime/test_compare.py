"""Comparison of tensors by bits."""

import numpy as np

from vta.runtime.compare import differing, find_mismatch


def test_same_bits():
    values = np.array([[1.0, np.nan], [-0.0, np.inf]], np.float32)
    assert find_mismatch("op", "layer", values, values.copy()) is None
    assert differing(values, np.array([[1, np.nan], [0, np.inf]], np.float32)).tolist() == [[False, False], [True, False]]


def test_first_difference_is_described():
    expected = np.zeros((2, 3, 4), np.int8)
    got = expected.copy()
    got[1, 0, 2:] = 7
    mismatch = find_mismatch("conv1", "layer1", expected, got)
    assert (mismatch.index, mismatch.expected, mismatch.got, mismatch.differing, mismatch.total) == ((1, 0, 2), 0, 7, 2, 24)
    assert str(mismatch) == "operator 'conv1' (layer 'layer1'): element [1, 0, 2] is 7, expected 0; 2 of 24 elements differ"


def test_transposed_views_compare_by_position():
    values = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert find_mismatch("op", "layer", values.T, np.ascontiguousarray(values.T)) is None
