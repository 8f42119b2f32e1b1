from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.errors import GraphError
from vta.ir.graph import call, graph_input

INT32 = st.integers(-(2**31), 2**31 - 1)


def wrap(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


@settings(deadline=None, max_examples=60)
@given(INT32, INT32, st.integers(0, 31))
def test_integers_wrap(run, a, b, amount):
    for shape in [(), (1,)]:
        x, y, n = (np.full(shape, v, np.int32) for v in (a, b, amount))
        for op, expected in [
            ("add", a + b),
            ("subtract", a - b),
            ("multiply", a * b),
            ("maximum", max(a, b)),
            ("minimum", min(a, b)),
        ]:
            assert run(op, x, y).item() == wrap(expected)
            assert run(op, x, y).shape == shape
        assert run("left_shift", x, n).item() == wrap(a << amount)
        assert run("right_shift", x, n).item() == a >> amount
        assert run("negative", x).item() == wrap(-a)
        assert run("abs", x).item() == wrap(abs(a))
        assert run("cast", x, dtype="int8").item() == (a + 128) % 256 - 128


@pytest.mark.parametrize("amount", [-1, 32])
def test_shift_amounts_are_checked(run, amount):
    with pytest.raises(GraphError, match=rf"layer: left_shift: shift amounts must be in 0\.\.31, got {amount}"):
        run("left_shift", np.ones(1, np.int32), np.full(1, amount, np.int32))


def test_float_arithmetic_broadcasts(run):
    a, b = np.float32([[1], [4]]), np.float32([2, -8])
    for op, expected in [("divide", a / b), ("power", a**b), ("add", a + b), ("multiply", a * b)]:
        y = run(op, a, b)
        assert (y.dtype, y.shape) == (np.float32, (2, 2))
        np.testing.assert_array_equal(y, expected)


def test_unary(run):
    x = np.float32([0.5, 2])
    for op, function in [("exp", np.exp), ("log", np.log), ("sqrt", np.sqrt), ("negative", np.negative), ("abs", np.abs)]:
        np.testing.assert_array_equal(run(op, x), function(x))
    assert np.isnan(run("sqrt", np.float32(-1)))


def test_casts(run):
    x = np.float32([1.9, -1.9, 300, -1e30, np.nan, np.inf])
    np.testing.assert_array_equal(run("cast", x, dtype="int8"), [1, -1, 127, -128, 0, 127])
    assert run("cast", np.float32(np.inf), dtype="int64") > 2**62
    np.testing.assert_array_equal(run("cast", np.int8([-3, 4]), dtype="float32"), np.float32([-3, 4]))
    np.testing.assert_array_equal(run("cast", np.int8([-3, 4]), dtype="int32"), [-3, 4])


@pytest.mark.parametrize(
    ("op", "types", "shapes", "attributes", "message"),
    [
        ("add", ["int8", "int32"], [(2,), (2,)], {}, "inputs must have one data type, got int8, int32"),
        ("add", ["int8", "int8"], [(2,), (3,)], {}, "shapes (2,) and (3,) do not broadcast"),
        ("divide", ["int32", "int32"], [(2,), (2,)], {}, "inputs must be float32 or float64, got int32"),
        ("right_shift", ["int8", "int8"], [(2,), (2,)], {}, "inputs must be int32, got int8"),
        ("cast", ["int8"], [(2,)], {"dtype": "complex64"}, "dtype must be one of float16, float32, float64, int8"),
        ("add", ["int8"], [(2,)], {}, "add takes 2 inputs, got 1"),
    ],
)
def test_errors(op, types, shapes, attributes, message):
    inputs = [graph_input(f"x{i}", s, t) for i, (s, t) in enumerate(zip(shapes, types, strict=True))]
    with pytest.raises(GraphError) as error:
        call(op, inputs, **attributes)
    assert message in str(error.value)
