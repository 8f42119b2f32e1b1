"""Weights of 9 bits split among two input channels: the same values, without a second pass of products."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases.test_products_requantize import RQ
from tests.integer_graphs import BASELINE
from vta.compiler.compile import compile_graph
from vta.devices.sim import SimDevice
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.ir.macs import macs_of
from vta.partition.rewrites.wide_weights import split_wide_weights
from vta.runtime import Module


def layer(source, outputs, kernel, name, seed=0, wide=(), each=False, value=0, shared=True, far=-254, **geometry):
    """A convolution whose weights of the input channels `wide` (with `each`: of these channels) take 9 bits, and its scaling."""
    rng = np.random.default_rng(seed)
    channels = source.shape[1]
    outputs = channels if each else outputs
    weight = rng.integers(-128, 128, (outputs, 1 if each else channels, *kernel)).astype("int16" if len(wide) else "int8")
    for number, channel in enumerate(wide):
        weight[(channel, 0) if each else (number % outputs, channel)] = (far, 254, 128, -129)[number % 4]
    if value:
        source = call("nn.pad", [source], name, pad_width=((0, 0), (0, 0), (1, 1), (1, 1)), pad_value=value)
    groups = channels if each else 1
    total = call("nn.conv2d", [source, constant(weight)], name, groups=groups, **geometry)
    parameters = [rng.integers(low, high, 1 if shared and low > 0 else outputs) for low, high in RANGES]
    scaled = call("rescale", [total, *(constant(each.astype(np.int32)) for each in parameters)], name, zero_point=-3)
    return call("cast", [scaled], name, dtype="int8")


RANGES = ((-999, 999), (2**30, 2**31 - 1), (5, 9))


def chain(channels=8, wide=(2,), shared=True, value=-128):
    """A convolution, a depthwise one, and one with wide weights."""
    x = graph_input("x", (1, 16, 6, 8), "int8")
    first = layer(x, channels, (1, 1), "first", 1, shared=shared)
    each = layer(first, channels, (3, 3), "each", 2, each=True, wide=wide[:1], value=value, shared=shared)
    return Graph((x,), (layer(each, 16, (1, 1), "point", 3, wide=wide),))


def agree(graph, hw=RQ):
    """Split, compare, and run; returns the graph that came of it."""
    split = split_wide_weights(graph, hw)
    data = {"x": np.random.default_rng(0).integers(-128, 128, graph.inputs[0].shape, dtype=np.int8)}
    expected = evaluate(graph, data)[0]
    np.testing.assert_array_equal(evaluate(split, data)[0], expected)
    with Module(compile_graph(graph, hw), SimDevice(hw)) as module:
        np.testing.assert_array_equal(module.run(data).outputs[0], expected)
    assert sum(map(macs_of, split.calls())) == sum(map(macs_of, graph.calls()))
    return split


def weights(graph):
    return {node.name: node.inputs[1] for node in graph.calls() if node.op == "nn.conv2d"}


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 31), st.data(), st.booleans(), st.sampled_from([0, -128]))
def test_results_are_what_they_were(channels, data, shared, value):
    wide = data.draw(st.lists(st.integers(0, channels - 1), min_size=1, max_size=4, unique=True))
    split = agree(chain(channels, tuple(wide), shared, value))
    if len(wide) <= -channels % RQ.block:
        assert weights(split)["point"].shape[1] == channels + len(wide)
        assert weights(split)["point"].dtype == "int8"


def test_all_layers_before_give_the_channel_twice():
    found = weights(agree(chain()))
    assert {name: node.shape for name, node in found.items()} == {
        "first": (9, 16, 1, 1),
        "each": (9, 1, 3, 3),
        "point": (16, 9, 1, 1),
    }
    assert found["each"].dtype == "int16", "no lane helps a depthwise convolution"


def test_windows_of_the_host_are_given_twice():
    x = graph_input("x", (1, 3, 6, 8), "int8")
    windows = call("nn.windows", [x], "first", kernel=(3, 3), strides=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1))
    split = agree(Graph((x,), (layer(windows, 8, (1, 1), "first", wide=(4, 20)),)))
    assert [node.op for node in split.calls()][:2] == ["nn.windows", "take"]
    assert weights(split)["first"].shape[1] == 29


@pytest.mark.parametrize("channels", [16, 14])
def test_without_enough_lanes_nothing_changes(channels):
    graph = chain(channels, (0, 1, 2))
    assert agree(graph) is graph


def test_what_others_read_stays():
    x = graph_input("x", (1, 16, 6, 8), "int8")
    first = layer(x, 8, (1, 1), "first", 1)
    graph = Graph((x,), (layer(first, 16, (1, 1), "point", 3, wide=(2,)), first))
    assert split_wide_weights(graph, RQ) is graph


def test_an_input_of_the_network_stays():
    x = graph_input("x", (1, 8, 6, 8), "int8")
    graph = Graph((x,), (layer(x, 16, (1, 1), "point", wide=(2,)),))
    assert agree(graph) is graph


def test_weights_that_two_bytes_cannot_add_up_to_stay():
    x = graph_input("x", (1, 16, 6, 8), "int8")
    first = layer(x, 8, (1, 1), "first", 1)
    fitting = Graph((x,), (layer(first, 16, (1, 1), "point", wide=(2,), far=254),))
    assert split_wide_weights(fitting, RQ) is not fitting
    graph = Graph((x,), (layer(first, 16, (1, 1), "point", wide=(2,), far=255),))
    assert split_wide_weights(graph, RQ) is graph


def test_a_config_without_the_unit_keeps_its_programs():
    graph = chain()
    assert split_wide_weights(graph, BASELINE) is graph
    assert split_wide_weights(graph, replace(RQ, requantize_unit=0, table_unit=0)) is graph
