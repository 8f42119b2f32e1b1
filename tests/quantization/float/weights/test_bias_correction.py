"""What layers lose on average: the mean of the difference of results, for every geometry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.ir.graph import call, constant, graph_input
from vta.ir.interpreter import evaluate_node
from vta.quantization.float.weights.bias_correction import mean_loss


def rounded_weights(rng, shape):
    weight = rng.standard_normal(shape).astype(np.float32)
    scales = np.abs(weight).reshape(len(weight), -1).max(axis=1) / rng.uniform(2, 127, len(weight))
    return weight, np.floor(weight / scales.reshape(-1, *[1] * (len(shape) - 1)) + 0.5).astype(np.int8), scales


@settings(deadline=None)
@given(st.data())
def test_it_is_the_mean_of_what_results_differ_by(data):
    """On data whose channels are their means everywhere."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    groups, channels, outputs = (data.draw(st.integers(1, most)) for most in (3, 9, 5))
    kernel, strides, dilation, size = (data.draw(st.tuples(st.integers(1, most), st.integers(1, most))) for most in (4, 3, 2, 9))
    padding = tuple(data.draw(st.integers(0, 2)) for _ in range(4))
    reach = [(length - 1) * step + 1 for length, step in zip(kernel, dilation, strict=True)]
    size = tuple(max(length, needed) for length, needed in zip(size, reach, strict=True))
    weight, rounded, scales = rounded_weights(rng, (groups * outputs, channels, *kernel))
    source = graph_input("x", (1, groups * channels, *size))
    geometry = {"groups": groups, "strides": strides, "padding": padding, "dilation": dilation}
    means = rng.standard_normal(groups * channels)
    values = np.broadcast_to(means.astype(np.float32)[:, None, None], source.shape)
    results = []
    for weights in (weight, (rounded * scales[:, None, None, None]).astype(np.float32)):
        node = call("nn.conv2d", [source, constant(weights)], "c", **geometry)
        results.append(evaluate_node(node, [values, weights]).mean(axis=(0, 2, 3), dtype=np.float64))
    lost = mean_loss(node, weight, rounded, scales, means)
    np.testing.assert_allclose(lost, results[0] - results[1], rtol=1e-4, atol=1e-4 * np.abs(results[0]).max() + 1e-4)


@pytest.mark.parametrize("scale", [0.25, np.full(3, 0.25)])
def test_dense_layers(scale):
    weight = np.float64([[0.3, 1], [0.5, 0.5], [-0.2, 0]])
    node = call("nn.dense", [graph_input("x", (1, 2)), constant(weight.astype(np.float32))], "d")
    rounded = np.int8([[1, 4], [2, 2], [-1, 0]])
    np.testing.assert_allclose(mean_loss(node, weight, rounded, scale, np.array([2.0, 7.0])), [0.1, 0, 0.1], atol=1e-12)
