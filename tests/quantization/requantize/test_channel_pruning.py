"""Networks without the channels that are constants or that nothing reads compute what they did, for every input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.quantization.requantize.channel_pruning import drop_channels

BLOCK = 4


def layer(source, weight, bias, name, zero=-128, out_zero=-128, rounding="tflite", groups=1, **geometry):
    """A quantised convolution or dense layer; scales vary by channel."""
    kind = "qnn.conv2d" if weight.ndim == 4 else "qnn.dense"
    scales = tuple(0.01 + 0.001 * index for index in range(len(weight)))
    fields = {"groups": groups, **geometry} if weight.ndim == 4 else {}
    inputs = [source, constant(weight.astype(np.int8))]
    value = call(kind, inputs, name, input_scale=1.0, kernel_scale=scales, input_zero_point=zero, **fields)
    value = call("nn.bias_add", [value, constant(np.asarray(bias, np.int32))], name)
    return call(
        "qnn.requantize",
        [value],
        name,
        input_scale=scales,
        output_scale=1.0,
        output_zero_point=out_zero,
        rounding=rounding,
    )


def network(rng, widths, dead, padding, out_zero=-128, rounding="tflite", residual=False):
    """Expansion, depthwise, projection, pool, classifier; `dead` channels have no weights in the first."""
    x = graph_input("x", (2, 3, 5, 6), "int8")

    def weights(*shape):
        return rng.integers(-127, 128, shape)

    first = weights(widths[0], 3, 1, 1)
    first[:dead] = 0
    bias = rng.integers(-2000, 2000, widths[0])
    wide = layer(x, first, bias, "expand", out_zero=out_zero, rounding=rounding)
    each = weights(widths[0], 1, 3, 3)
    each[-1] = 0
    bordered = {"padding": (1, 1, 1, 1)} if padding else {}
    wide = layer(wide, each, bias, "each", zero=out_zero, out_zero=out_zero, rounding=rounding, groups=widths[0], **bordered)
    narrow = layer(wide, weights(widths[1], widths[0], 1, 1), rng.integers(-9000, 9000, widths[1]), "project", zero=out_zero)
    if residual:
        narrow = call("qnn.add", [narrow, narrow], "add", lhs_scale=1.0, rhs_scale=1.0, output_scale=2.0, rounding="tflite")
    scales = {"input_scale": 1.0, "output_scale": 1.5, "input_zero_point": -128, "output_zero_point": -128}
    pooled = call("qnn.global_avg_pool2d", [narrow], "pool", **scales, rounding="tflite")
    flat = call("reshape", [pooled], "flat", newshape=(2, widths[1]))
    return Graph((x,), (layer(flat, weights(5, widths[1]), rng.integers(-99, 99, 5), "classify"),))


def agree(graph, block=BLOCK):
    """The network without dead channels, compared with `graph`."""
    dropped = drop_channels(graph, block)
    rng = np.random.default_rng(1)
    for data in (rng.integers(-128, 128, graph.inputs[0].shape), np.full(graph.inputs[0].shape, -128)):
        inputs = {"x": data.astype(np.int8)}
        np.testing.assert_array_equal(evaluate(dropped, inputs)[0], evaluate(graph, inputs)[0])
    return dropped


def channels(graph, name):
    return next(node.shape[1] for node in graph.calls() if node.name == name)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 14),
    st.integers(1, 9),
    st.integers(0, 14),
    st.booleans(),
    st.integers(-128, 20),
    st.booleans(),
    st.sampled_from([1, 4]),
    st.integers(0, 999),
)
def test_networks_compute_what_they_did(wide, narrow, dead, padding, out_zero, residual, block, seed):
    rng = np.random.default_rng(seed)
    agree(network(rng, (wide, narrow), min(dead, wide), padding, out_zero, residual=residual), block)


def test_dead_channels_leave_with_all_that_they_go_through():
    dropped = agree(network(np.random.default_rng(0), (12, 8), 7, padding=False))
    assert channels(dropped, "expand") == channels(dropped, "each") == 4


def test_fewer_channels_but_no_fewer_blocks_stay():
    graph = network(np.random.default_rng(0), (12, 8), 7, padding=False)
    assert drop_channels(graph, 16) is graph


def test_a_constant_that_differs_from_the_padding_stays():
    rng = np.random.default_rng(3)
    x = graph_input("x", (1, 3, 5, 5), "int8")
    first = layer(x, np.zeros((8, 3, 1, 1)), np.full(8, 3000), "first")
    graph = Graph((x,), (layer(first, rng.integers(-99, 99, (8, 8, 3, 3)), np.zeros(8), "second", padding=(1, 1, 1, 1)),))
    assert channels(agree(graph), "first") == 8
    bare = Graph((x,), (layer(first, rng.integers(-99, 99, (8, 8, 3, 3)), np.zeros(8), "second"),))
    assert channels(agree(bare), "first") == 1


@pytest.mark.parametrize("residual", [True, False])
def test_a_sum_reads_all_channels(residual):
    rng = np.random.default_rng(0)
    x = graph_input("x", (2, 3, 4, 4), "int8")
    first = layer(x, np.zeros((8, 3, 1, 1)), np.full(8, 3000), "first")
    total = call("qnn.add", [first, first], "add", lhs_scale=1.0, rhs_scale=1.0, output_scale=2.0, rounding="tflite")
    last = layer(total if residual else first, rng.integers(-99, 99, (8, 8, 1, 1)), np.zeros(8), "last")
    assert channels(agree(Graph((x,), (last,))), "first") == (8 if residual else 1)


def test_layers_of_our_own_quantizer_stay():
    graph = network(np.random.default_rng(0), (12, 8), 9, padding=False, rounding="up")
    assert drop_channels(graph, BLOCK).calls()[0].shape == graph.calls()[0].shape
