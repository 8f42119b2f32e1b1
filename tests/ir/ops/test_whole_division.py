import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vta.errors import GraphError

TYPES = ("int8", "uint8", "int16", "int32", "int64")


@st.composite
def pairs(draw):
    dtype = draw(st.sampled_from(TYPES))
    limits = np.iinfo(dtype)
    special = st.sampled_from([limits.min, limits.max, 0, 1, limits.max // 2])
    number = st.integers(limits.min, limits.max) | special | st.integers(max(-9, limits.min), 9)
    return dtype, draw(number), draw(number)


@settings(deadline=None, max_examples=300)
@given(pairs())
@example(("int64", -(2**63), -1))
@example(("int64", -(2**63), -(2**63)))
@example(("int8", -128, -1))
def test_quotients_and_rests(run, pair):
    dtype, left, right = pair
    x, y = np.full((1,), left, dtype), np.full((1,), right, dtype)
    floor = math.floor(Fraction(left, right)) if right else 0
    towards_zero = math.trunc(Fraction(left, right)) if right else 0
    expected = {
        "floor_divide": floor,
        "trunc_divide": towards_zero,
        "floor_mod": left - floor * right if right else 0,
        "trunc_mod": left - towards_zero * right if right else 0,
    }
    bits = 8 * x.itemsize
    for op, value in expected.items():
        found = run(op, x, y)
        assert found.dtype == dtype
        assert (int(found.item()) - value) % 2**bits == 0, op


@pytest.mark.parametrize("op", ["floor_divide", "floor_mod", "trunc_divide", "trunc_mod"])
def test_floats_are_none_of_theirs(run, op):
    with pytest.raises(GraphError, match=rf"{op}\(.*inputs must be int8 or .* got float32"):
        run(op, np.ones(1, np.float32), np.ones(1, np.float32))
