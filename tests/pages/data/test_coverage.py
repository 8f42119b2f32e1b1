"""Interval sums beside a count cycle by cycle."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.pages.data.coverage import covered, mean_level

INTERVALS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12), st.integers(1, 5)), max_size=12)


@settings(max_examples=40)
@given(INTERVALS, st.lists(st.integers(0, 60), min_size=2, max_size=8, unique=True))
def test_what_is_covered_is_what_counting_finds(intervals, edges):
    edges = np.array(sorted(edges), dtype=float)
    starts, ends, weights = (
        np.array(column, dtype=float)
        for column in (
            [start for start, _, _ in intervals],
            [start + length for start, length, _ in intervals],
            [weight for _, _, weight in intervals],
        )
    )
    level = np.zeros(80)
    for start, length, weight in intervals:
        level[start : start + length] += weight
    expected = [level[int(low) : int(high)].sum() for low, high in pairwise(edges)]
    np.testing.assert_allclose(covered(starts, ends, edges, weights), expected, atol=1e-9)
    np.testing.assert_allclose(mean_level(starts, ends, edges, weights), expected / np.diff(edges), atol=1e-9)
