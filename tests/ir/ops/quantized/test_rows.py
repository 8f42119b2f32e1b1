"""Softmax and norms in integers against real numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.errors import GraphError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate


def run(graph_of, values):
    x = graph_input("x", values.shape, str(values.dtype))
    return evaluate(Graph((x,), (graph_of(x),)), {"x": values})[0]


def softmax(values, input_scale, output_scale, added=None):
    def graph_of(x):
        rows = [x] if added is None else [x, constant(added)]
        terms = call("qnn.softmax_terms", rows, "terms", input_scale=input_scale)
        return call("qnn.softmax_shares", [terms], "shares", output_scale=output_scale)

    return run(graph_of, values)


def real_softmax(values):
    terms = np.exp(values - values.max(axis=-1, keepdims=True))
    return terms / terms.sum(axis=-1, keepdims=True)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 300), st.floats(0.005, 0.3), st.floats(1, 60), st.integers(0, 1000))
def test_a_softmax_is_within_two_levels(count, scale, spread, seed):
    """The document says how the bound comes about: half a level for the rounding, the rest for roots and reciprocal."""
    values = np.clip(np.random.default_rng(seed).standard_normal((8, count)) * spread, -128, 127).astype(np.int8)
    wanted = real_softmax(values * scale)
    output_scale = max(wanted.max() / 127, 2.0**-15)
    assert np.abs(softmax(values, scale, output_scale) - wanted / output_scale).max() < 2


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 300),
    st.sampled_from([1, 2, 4, 8]),
    st.booleans(),
    st.floats(0.05, 0.3),
    st.floats(1, 60),
    st.integers(0, 1000),
)
def test_what_a_mask_takes_away_is_zero_and_the_rest_within_two_levels(count, period, biased, scale, spread, seed):
    rng = np.random.default_rng(seed)
    values = np.clip(rng.standard_normal((8, count)) * spread, -127, 127).astype(np.int8)
    added = rng.integers(-200, 200, (period, count)) * biased
    gone = rng.random((period, count)) < 0.5
    gone[:, rng.integers(count)] = False
    masked = np.where(gone, -1000, added).astype(np.int16)
    whole = np.where(np.tile(gone, (8 // period, 1)), -np.inf, values * scale + np.tile(added, (8 // period, 1)) * scale)
    wanted = real_softmax(whole)
    output_scale = max(wanted.max() / 127, 2.0**-15)
    got = softmax(values, scale, output_scale, masked)
    assert (got[np.isinf(whole)] == 0).all()
    assert np.abs(got - wanted / output_scale).max() < 2


def test_a_row_that_has_nothing_left_is_that_of_its_values():
    """A number that is added to a whole row changes nothing; what else a network means by it is for its importer to know."""
    values = np.random.default_rng(0).integers(-60, 60, (4, 20)).astype(np.int8)
    added = np.full((1, 20), -512, np.int16)
    np.testing.assert_array_equal(softmax(values, 0.05, 0.01, added), softmax(values, 0.05, 0.01))


@pytest.mark.parametrize(
    ("shape", "dtype", "axis", "said"),
    [
        ((4, 6), "int16", 1, "last axis, got axis 1"),
        ((4, 6), "int8", 2, "int16"),
        ((5, 6), "int16", 2, r"shape \(a divisor of 12, 6\), got \(5, 6\)"),
        ((12, 5), "int16", 2, r"got \(12, 5\)"),
        ((1, 4, 6), "int16", 2, r"got \(1, 4, 6\)"),
    ],
)
def test_what_cannot_be_added_to_rows(shape, dtype, axis, said):
    x = graph_input("x", (3, 4, 6), "int8")
    with pytest.raises(GraphError, match=said):
        call("qnn.softmax_terms", [x, constant(np.zeros(shape, dtype))], "x", input_scale=0.1, axis=axis)


def test_equal_values_have_equal_shares():
    assert (softmax(np.full((1, 50), 7, np.int8), 0.1, 0.02 / 100) == 100).all()


def test_one_large_value_takes_all():
    values = np.full((1, 9), -128, np.int8)
    values[0, 3] = 127
    assert softmax(values, 0.2, 1 / 127).tolist() == [[0, 0, 0, 127, 0, 0, 0, 0, 0]]


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 300), st.floats(4, 90), st.floats(-40, 40), st.booleans(), st.integers(0, 1000))
def test_a_norm_is_within_a_level(count, spread, mean, center, seed):
    values = np.random.default_rng(seed).standard_normal((8, count)) * spread + mean
    values = np.clip(np.rint(values), -128, 127).astype(np.int8)
    real = values * 0.02
    centered = real - real.mean(axis=-1, keepdims=True) if center else real
    wanted = centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-5)
    scale = max(np.abs(wanted).max() / 127, 2.0**-10)
    attrs = {"epsilon": 1e-5, "center": center, "input_scale": 0.02, "output_scale": float(scale)}
    got = run(lambda x: call("qnn.normalize", [x], "norm", **attrs), values)
    step = 1 / (real.std(axis=-1, keepdims=True) + 1e-9) * 0.02 / scale if center else np.zeros((8, 1))
    # A mean is exact to 1/128 of a step of the input.
    assert (np.abs(got - wanted / scale) < 0.6 + step / 128).all()


@pytest.mark.parametrize("center", [True, False])
def test_a_row_of_one_value(center):
    attrs = {"epsilon": 1e-5, "center": center, "input_scale": 0.1, "output_scale": 1 / 64}
    got = run(lambda x: call("qnn.normalize", [x], "norm", **attrs), np.full((2, 40), 11, np.int8))
    assert (got == (0 if center else 64)).all()


def test_a_norm_of_floats():
    values = np.random.default_rng(0).standard_normal((3, 10)).astype(np.float32)
    got = run(lambda x: call("nn.normalize", [x], "norm", epsilon=0.0), values)
    np.testing.assert_allclose(got.mean(axis=-1), 0, atol=1e-6)
    np.testing.assert_allclose(got.std(axis=-1), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("op", "attrs", "said"),
    [
        ("qnn.softmax_terms", {"input_scale": 0.0}, "input_scale"),
        ("qnn.softmax_shares", {"output_scale": 2.0**-16}, "from 2\\^-15 to 1"),
        ("qnn.normalize", {"input_scale": 1.0, "output_scale": 2.0, "epsilon": 0.0}, "from 2\\^-10 to 1"),
        ("qnn.normalize", {"input_scale": 1.0, "output_scale": 0.5, "epsilon": -1.0}, "must not be negative"),
    ],
)
def test_what_is_not_allowed(op, attrs, said):
    with pytest.raises(GraphError, match=said):
        call(op, [graph_input("x", (2, 3), "int8")], "x", **attrs)


def test_rows_are_not_too_long():
    with pytest.raises(GraphError, match="1 to 4096 values, got 4097"):
        call("qnn.softmax_terms", [graph_input("x", (1, 4097), "int8")], "x", input_scale=0.1)
