"""Windows as channels: a convolution of the whole window is a product with what it gathers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.errors import GraphError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate

PAIRS = st.tuples(st.integers(1, 3), st.integers(1, 3))


@given(PAIRS, PAIRS, PAIRS, st.tuples(*[st.integers(0, 2)] * 4), st.integers(1, 3), st.integers(0, 99))
def test_a_convolution_is_a_pointwise_one_of_its_windows(kernel, strides, dilation, padding, channels, seed):
    rng = np.random.default_rng(seed)
    x = graph_input("x", (2, channels, 8, 9), "int8")
    weight = rng.integers(-9, 9, (4, channels, *kernel), dtype=np.int8)
    geometry = {"strides": strides, "padding": padding, "dilation": dilation}
    gathered = call("nn.windows", [x], "w", kernel=kernel, **geometry)
    matrix = weight.transpose(0, 2, 3, 1).reshape(4, -1, 1, 1)
    outputs = call("nn.conv2d", [x, constant(weight)], **geometry), call("nn.conv2d", [gathered, constant(matrix)])
    direct, product = evaluate(Graph((x,), outputs), {"x": rng.integers(-128, 128, x.shape, dtype=np.int8)})
    np.testing.assert_array_equal(direct, product)


def test_a_window_must_fit_the_image():
    with pytest.raises(GraphError, match="windows of"):
        call("nn.windows", [graph_input("x", (1, 1, 2, 2), "int8")], "w", kernel=(3, 1))
