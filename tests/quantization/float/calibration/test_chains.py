"""Calls that are computed in one go: the bits of one after the other, and nothing that anybody asks for left out."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate_node
from vta.quantization.float.calibration.chains import chains_of, value_of_chain
from vta.quantization.float.calibration.values import convolution_of, value_of

ACTIVATIONS = {"none": None, "relu": (ops.RELU, {}), "relu6": (ops.CLIP, {"a_min": 0.0, "a_max": 6.0})}


def activated(node, name):
    kind = ACTIVATIONS[name]
    return node if kind is None else call(kind[0], [node], "act", **kind[1])


def chain_to(node):
    """The calls back to the first one."""
    nodes = [node]
    while nodes[0].op != ops.CONV2D and (calls := [source for source in nodes[0].inputs if source.is_call]):
        nodes.insert(0, calls[0])
    return tuple(nodes)


def one_by_one(nodes, values):
    values = dict(values)
    for node in nodes:
        values[node] = value_of(node, [values[source] for source in node.inputs])
    return values[nodes[-1]]


def with_constants(nodes, values):
    return values | {source: source.value for node in nodes for source in node.inputs if source.value is not None}


def assert_same_bits(found, wanted):
    assert found.dtype == wanted.dtype == np.float32
    np.testing.assert_array_equal(found.view(np.int32), wanted.view(np.int32))


@st.composite
def convolved(draw):
    """The last of a convolution, perhaps a bias and an activation, and what is read."""
    groups = draw(st.sampled_from([1, 1, 2, 4]))
    channels, outputs = draw(st.sampled_from([(1, 1), (2, 3), (5, 12)]))
    images, height, width = draw(st.integers(1, 3)), draw(st.integers(3, 9)), draw(st.sampled_from([8, 9, 16, 40]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    data = rng.standard_normal((images, groups * channels, height, width)).astype(np.float32)
    x = graph_input("x", data.shape)
    weight = rng.standard_normal((groups * outputs, channels, 3, 3)).astype(np.float32)
    geometry = {"padding": (1, 1, 1, 1), "groups": groups, "strides": (draw(st.integers(1, 2)),) * 2}
    node = call(ops.CONV2D, [x, constant(weight, "w")], "conv", **geometry)
    if draw(st.booleans()):
        # Small numbers beside large sums, and sums that come to nothing.
        bias = rng.standard_normal(groups * outputs).astype(np.float32) * np.float32(draw(st.sampled_from([1, 1e-9, 0])))
        node = call(ops.BIAS_ADD, [node, constant(bias, "b")], "bias")
    values = {x: data}
    if draw(st.booleans()):
        residual = graph_input("residual", node.shape)
        values[residual] = rng.standard_normal(node.shape).astype(np.float32)
        node = call(ops.ADD, [node, residual] if draw(st.booleans()) else [residual, node], "sum")
    return activated(node, draw(st.sampled_from(sorted(ACTIVATIONS)))), values


@given(convolved())
def test_convolutions_with_what_follows(case):
    node, values = case
    nodes = chain_to(node)
    given_values = with_constants(nodes, values)
    # Of some small ones the reference has an order of its own.
    assume(len(nodes) > 1 and convolution_of(nodes[0]) is not None)
    assert chains_of(Graph(tuple(values), (node,)), lambda node: False) == [nodes]
    assert_same_bits(value_of_chain(nodes, given_values), one_by_one(nodes, given_values))


@given(st.integers(1, 99), st.sampled_from(["relu", "relu6"]))
def test_sums_with_what_follows(size, activation):
    rng = np.random.default_rng(size)
    shape = (2, size)
    sides = [graph_input(name, shape) for name in "xy"]
    values = {side: rng.integers(-2, 3, shape).astype(np.float32) * np.float32(3) for side in sides}
    values[sides[0]].flat[0] = values[sides[1]].flat[0] = -0.0
    node = activated(call(ops.ADD, sides, "sum"), activation)
    assert_same_bits(value_of_chain(chain_to(node), values), one_by_one(chain_to(node), values))


@pytest.mark.parametrize("strange", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("groups", [1, 4])
def test_what_is_not_finite_between_is_left_to_each(strange, groups):
    x = graph_input("x", (1, 4, 8, 8))
    data = np.ones(x.shape, np.float32)
    data[0, 1, 7, 7] = strange
    conv = call(ops.CONV2D, [x, constant(np.ones((4, 4 // groups, 1, 1), np.float32), "w")], "conv", groups=groups)
    nodes = conv, call(ops.RELU, [conv], "relu")
    given_values = with_constants(nodes, {x: data})
    assert value_of_chain(nodes, given_values) is None
    total = call(ops.ADD, [x, x], "sum")
    assert value_of_chain((total, call(ops.RELU, [total], "relu")), {x: data}) is None


def test_an_infinite_bias_is_left_to_each():
    x = graph_input("x", (1, 4, 8, 8))
    conv = call(ops.CONV2D, [x, constant(np.ones((4, 4, 1, 1), np.float32), "w")], "conv")
    nodes = conv, call(ops.BIAS_ADD, [conv, constant(np.float32([0, 0, 0, -np.inf]), "b")], "bias")
    nodes += (call(ops.RELU, nodes[-1:], "relu"),)
    assert value_of_chain(nodes, with_constants(nodes, {x: np.ones(x.shape, np.float32)})) is None


def net():
    x = graph_input("x", (1, 4, 8, 8))
    weight = constant(np.random.default_rng(0).standard_normal((4, 4, 3, 3)).astype(np.float32), "w")
    conv = call(ops.CONV2D, [x, weight], "conv", padding=(1, 1, 1, 1))
    bias = call(ops.BIAS_ADD, [conv, constant(np.ones(4, np.float32), "b")], "bias")
    relu = call(ops.RELU, [bias], "relu")
    total = call(ops.ADD, [relu, x], "sum")
    return x, conv, bias, relu, total, call(ops.CLIP, [total], "clip", a_min=0.0, a_max=1.0)


def test_what_is_between_is_read_by_the_next_one_alone_and_asked_for_by_nobody():
    x, conv, bias, relu, total, clip = net()
    assert chains_of(Graph((x,), (clip,)), lambda node: False) == [(conv, bias, relu), (total, clip)]
    assert chains_of(Graph((x,), (clip,)), {bias, total}.__contains__) == [(conv, bias)]
    assert chains_of(Graph((x,), (clip, bias)), lambda node: False) == [(conv, bias), (total, clip)]
    negative = call(ops.NEGATIVE, [conv], "negative")
    assert chains_of(Graph((x,), (clip, negative)), lambda node: False) == [(total, clip)]


def test_a_sum_goes_with_one_convolution_before_it():
    x, conv, bias, *_ = net()
    other = call(ops.CONV2D, [x, constant(np.ones((4, 4, 1, 1), np.float32), "v")], "other")
    total = call(ops.ADD, [other, bias], "sum")
    relu = call(ops.RELU, [total], "relu")
    found = chains_of(Graph((x,), (relu,)), lambda node: False)
    assert found in ([(other, total, relu), (conv, bias)], [(conv, bias, total, relu)])
    assert chains_of(Graph((x,), (relu,)), {bias, other}.__contains__) == [(conv, bias), (total, relu)]
    twice = call(ops.ADD, [other, other], "twice")
    assert chains_of(Graph((x,), (twice,)), lambda node: False) == []


def test_a_sum_with_the_same_values_for_all_samples_is_left_to_each():
    x, y = graph_input("x", (2, 8)), graph_input("y", (1, 8))
    total = call(ops.ADD, [x, x], "sum")
    nodes = total, call(ops.RELU, [total], "relu")
    assert value_of_chain(nodes, {x: np.ones(y.shape, np.float32)}) is None
    assert evaluate_node(total, [np.ones(x.shape, np.float32)] * 2).shape == x.shape
