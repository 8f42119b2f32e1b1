"""Windows that the host gathers: the same values, where they pay, and only of what the host has."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.partition.rewrites.im2col import gather_windows
from vta.runtime import Module

HW = HardwareConfig.named("sim")


def layer(source, outputs, kernel, name="conv", seed=0, **geometry):
    rng = np.random.default_rng(seed)
    weight = rng.integers(-127, 128, (outputs, source.shape[1], *kernel), dtype=np.int8)
    value = call("nn.conv2d", [source, constant(weight, "w")], name, **geometry)
    value = call("right_shift", [value, constant(np.int32(7))], name)
    return call("cast", [call("clip", [value], name, a_min=-128, a_max=127)], name, dtype="int8")


def ops(graph):
    return [node.op for node in graph.calls()]


def test_the_window_of_an_image_becomes_channels():
    x = graph_input("x", (1, 3, 32, 32), "int8")
    graph = gather_windows(Graph((x,), (layer(x, 16, (3, 3), padding=(1, 1, 1, 1)),)), HW)
    assert ops(graph)[:2] == ["nn.windows", "nn.conv2d"]
    conv = graph.calls()[1]
    assert conv.inputs[0].shape == (1, 27, 32, 32)
    assert conv.inputs[1].shape == (16, 27, 1, 1)
    assert conv.attrs.padding == (0, 0, 0, 0)


def test_the_rows_of_a_window_become_channels_where_the_whole_is_too_much_to_transfer():
    x = graph_input("x", (1, 1, 64, 64), "int8")
    graph = gather_windows(Graph((x,), (layer(x, 16, (16, 15), padding=(7, 7, 7, 7), strides=(2, 1)),)), HW)
    conv = graph.calls()[1]
    assert conv.inputs[0].shape == (1, 16, 32, 64)
    assert conv.inputs[1].shape == (16, 16, 1, 15)
    assert (conv.attrs.padding, conv.attrs.strides) == ((0, 7, 0, 7), (1, 1))


def test_what_the_accelerator_stores_is_not_gathered():
    x = graph_input("x", (1, 3, 32, 32), "int8")
    graph = Graph((x,), (layer(layer(x, 3, (1, 1), "first"), 16, (3, 3), "second"),))
    assert gather_windows(graph, HW) is graph


def test_full_blocks_and_single_positions_stay():
    for channels, kernel in ((16, (3, 3)), (3, (1, 1))):
        x = graph_input("x", (1, channels, 32, 32), "int8")
        graph = Graph((x,), (layer(x, 16, kernel),))
        assert gather_windows(graph, HW) is graph


def test_a_convolution_of_few_outputs_is_not_worth_more_transfers():
    x = graph_input("x", (1, 15, 200, 200), "int8")
    graph = Graph((x,), (layer(x, 16, (2, 1)),))
    assert gather_windows(graph, HW) is graph


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(1, 20),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.tuples(*[st.integers(0, 2)] * 4),
    st.sampled_from([HW, HardwareConfig.named("sim_4x8")]),
    st.integers(0, 99),
)
def test_the_network_computes_what_it_did(channels, outputs, kernel, strides, dilation, padding, hw, seed):
    x = graph_input("x", (1, channels, 12, 13), "int8")
    graph = Graph((x,), (layer(x, outputs, kernel, seed=seed, strides=strides, dilation=dilation, padding=padding),))
    data = {"x": np.random.default_rng(seed).integers(-128, 128, x.shape, dtype=np.int8)}
    expected = evaluate(graph, data)[0]
    np.testing.assert_array_equal(evaluate(gather_windows(graph, hw), data)[0], expected)
    with Module(compile_graph(graph, hw), SimDevice(hw)) as module:
        np.testing.assert_array_equal(module.run(data).outputs[0], expected)
