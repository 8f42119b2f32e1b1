"""Columns as channels: the same values, in fewer rows, as far as every reader can take it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.ir.macs import macs_of
from vta.partition.rewrites.space_to_depth import fold_columns
from vta.runtime import Module

HW = HardwareConfig.named("sim")


def layer(source, outputs, kernel, name, seed=0, each=False, pad=(0, 0, 0, 0), value=0, steps=True, wide=False, **geometry):
    """A convolution, of single channels with `each`, its border of `value` explicit unless that is 0."""
    rng = np.random.default_rng(seed)
    outputs = source.shape[1] if each else outputs
    limit = 200 if wide else 127
    shape = (outputs, 1 if each else source.shape[1], *kernel)
    weight = rng.integers(-limit, limit + 1, shape).astype("int16" if wide else "int8")
    if value:
        widths = ((0, 0), (0, 0), (pad[0], pad[2]), (pad[1], pad[3]))
        source, pad = call("nn.pad", [source], name, pad_width=widths, pad_value=value), (0, 0, 0, 0)
    groups = source.shape[1] if each else 1
    total = call("nn.conv2d", [source, constant(weight)], name, groups=groups, padding=pad, **geometry)
    if steps:
        bias = rng.integers(-999, 999, (1, outputs, 1, 1)).astype(np.int32)
        total = call("add", [total, constant(bias)], name)
        factor = rng.integers(1, 9, (1, outputs, 1, 1)).astype(np.int32)
        total = call("multiply", [total, constant(factor)], name)
    total = call("right_shift", [total, constant(np.int32(9))], name)
    return call("cast", [call("clip", [total], name, a_min=-128, a_max=127)], name, dtype="int8")


def agree(graph, hw=HW, seed=0):
    """Fold, compare, and run; returns the folded graph."""
    folded = fold_columns(graph, hw)
    data = {"x": np.random.default_rng(seed).integers(-128, 128, graph.inputs[0].shape, dtype=np.int8)}
    expected = evaluate(graph, data)[0]
    np.testing.assert_array_equal(evaluate(folded, data)[0], expected)
    with Module(compile_graph(graph, hw), SimDevice(hw)) as module:
        np.testing.assert_array_equal(module.run(data).outputs[0], expected)
    assert sum(map(macs_of, folded.calls())) == sum(map(macs_of, graph.calls()))
    return folded


def shapes(graph):
    return {node.name: node.shape for node in graph.calls() if node.op == "cast"}


def mobile(value=-128, wide=False, width=16):
    x = graph_input("x", (1, 3, 8, width), "int8")
    border = {"pad": (1, 1, 1, 1), "value": value, "wide": wide}
    first = layer(x, 8, (3, 3), "first", 1, strides=(1, 1), **border)
    each = layer(first, 8, (3, 3), "each", 2, each=True, **border)
    point = layer(each, 16, (1, 1), "point", 3)
    return Graph((x,), (layer(point, 16, (3, 3), "half", 4, each=True, strides=(2, 2), **border),))


def test_narrow_images_have_half_the_columns_until_a_stride_makes_them_whole():
    for value in (0, -128):
        for wide in (False, True):
            found = shapes(agree(mobile(value, wide)))
            assert found == {"first": (1, 16, 8, 8), "each": (1, 16, 8, 8), "point": (1, 32, 8, 8), "half": (1, 16, 4, 8)}


def test_odd_widths_stay():
    assert shapes(agree(mobile(width=15)))["first"] == (1, 8, 8, 15)


def test_what_the_network_returns_stays():
    x = graph_input("x", (1, 3, 8, 8), "int8")
    graph = Graph((x,), (layer(x, 8, (3, 3), "first"),))
    assert fold_columns(graph, HW) is graph


def test_what_others_read_stays():
    x = graph_input("x", (1, 3, 8, 8), "int8")
    first = layer(x, 8, (1, 1), "first")
    pooled = call("nn.max_pool2d", [first], "pool", pool_size=(2, 2), strides=(2, 2))
    graph = Graph((x,), (layer(first, 16, (2, 2), "second", strides=(2, 2)), pooled))
    assert fold_columns(graph, HW) is graph


def test_what_a_convolution_is_added_to_its_own_image_for_stays():
    x = graph_input("x", (1, 1, 8, 8), "int8")
    products = call("nn.conv2d", [x, constant(np.ones((1, 1, 3, 3), np.int8))], "sum", padding=(1, 1, 1, 1))
    total = call("right_shift", [call("add", [products, call("cast", [x], "sum", dtype="int32")], "sum"), constant(np.int32(3))])
    image = call("cast", [call("clip", [total], "sum", a_min=-128, a_max=127)], "sum", dtype="int8")
    graph = Graph((x,), (layer(image, 17, (3, 3), "next", strides=(1, 2), pad=(1, 1, 1, 1)),))
    assert shapes(agree(graph))["sum"] == (1, 1, 8, 8)


def test_what_no_stride_makes_whole_stays():
    x = graph_input("x", (1, 3, 8, 8), "int8")
    graph = Graph((x,), (layer(layer(x, 8, (1, 1), "first"), 8, (3, 3), "second"),))
    assert fold_columns(graph, HW) is graph


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 8),
    st.integers(1, 4),
    st.tuples(st.integers(1, 3), st.integers(1, 5)),
    st.tuples(*[st.integers(0, 3)] * 4),
    st.sampled_from([0, -128, 7]),
    st.integers(1, 2),
    st.booleans(),
    st.booleans(),
    st.integers(0, 999),
)
def test_networks_compute_what_they_did(channels, quarter, kernel, pad, value, dilation, each, wide, seed):
    x = graph_input("x", (1, 2, 9, 8 * quarter), "int8")
    first = layer(x, channels, (1, 1), "first", seed)
    options = {"pad": pad, "value": value, "wide": wide}
    second = layer(first, 5, kernel, "second", seed + 1, each=each, strides=(1, 2), **options)
    third = layer(second, 20, (1, 2), "third", seed + 2, strides=(1, 2), dilation=(1, dilation), pad=(0, 1, 0, 1))
    agree(Graph((x,), (third,)), seed=seed)
