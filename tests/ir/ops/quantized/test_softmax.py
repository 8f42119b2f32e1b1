"""The fixed-point softmax against the real one; tests/frontend compares it with LiteRT bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.errors import GraphError
from vta.ir.graph import Graph, call, graph_input
from vta.ir.interpreter import evaluate


def softmax(values, scale, axis=-1):
    x = graph_input("x", values.shape, "int8")
    return evaluate(Graph((x,), (call("qnn.softmax", [x], input_scale=scale, axis=axis),)), {"x": values})[0]


@settings(max_examples=60)
@given(st.integers(1, 60), st.floats(0.002, 1.0), st.integers(0, 1000))
def test_shares_are_within_a_level_of_the_real_ones(count, scale, seed):
    values = np.random.default_rng(seed).integers(-128, 128, (3, count)).astype(np.int8)
    wide = values.astype(np.int64)
    real = np.exp((wide - wide.max(axis=1, keepdims=True)) * scale)
    real /= real.sum(axis=1, keepdims=True)
    assert np.abs((softmax(values, scale) + 128.0) - np.minimum(real * 256, 255)).max() <= 1


def test_along_any_axis():
    values = np.random.default_rng(0).integers(-128, 128, (2, 5, 3)).astype(np.int8)
    moved = np.moveaxis(softmax(np.ascontiguousarray(np.moveaxis(values, 1, -1)), 0.05), -1, 1)
    np.testing.assert_array_equal(softmax(values, 0.05, axis=1), moved)


def test_what_is_refused():
    with pytest.raises(GraphError, match="softmax over 5000 values; 4096 is the most"):
        call("qnn.softmax", [graph_input("x", (1, 5000), "int8")], input_scale=0.1)
    with pytest.raises(GraphError, match="input_scale must be a finite number above 0"):
        call("qnn.softmax", [graph_input("x", (1, 5), "int8")], input_scale=0.0)
    with pytest.raises(GraphError, match="must be int8"):
        call("qnn.softmax", [graph_input("x", (1, 5), "int32")], input_scale=1.0)
