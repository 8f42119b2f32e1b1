"""Kernels of groups of operators against the NumPy references, in every layout."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.host.groups import find_groups, is_anchor, with_beginnings
from vta.host.kernels.group import Group, build_kernel
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import Layout
from vta.host.llvm.jit import compile_program
from vta.host.llvm.target import host_target
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate_all

BLOCK = host_target().lanes(4)
RNG = np.random.default_rng(5)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def in_blocks(values):
    """The array as `Layout(BLOCK)` stores it."""
    batch, channels, *size = values.shape
    full = np.zeros((batch, -(-channels // BLOCK) * BLOCK, *size), values.dtype)
    full[:, :channels] = values
    return np.ascontiguousarray(full.reshape(batch, -1, BLOCK, *size).transpose(0, 1, 3, 4, 2))


def compare(nodes, anchor, feed, blocked_input=False, blocked_output=False, exact=False):
    """Run the kernel of some nodes in the layouts asked for and hold it to the references."""
    group = Group(tuple(nodes), anchor)
    layouts = {node: Layout(BLOCK) for node in group.inputs() if blocked_input and len(node.shape) == 4}
    layouts |= {group.result: Layout(BLOCK)} if blocked_output else {}
    kernel = build_kernel(group, layouts, host_target())
    values = evaluate_all(Graph(tuple(feed), (group.result,)), {node.name: array for node, array in feed.items()})
    arrays = [in_blocks(values[node]) if node in layouts else np.ascontiguousarray(values[node]) for node in kernel.sources]
    got = compile_program(lower(scheduled(kernel.kernel, kernel.steps))).run([*arrays, *kernel.constants])
    want = in_blocks(values[group.result]) if blocked_output else values[group.result]
    if exact:
        np.testing.assert_array_equal(got, want)
    else:
        assert np.abs(got - want).max() <= 1e-5 * max(1, np.abs(want).max())


CONVOLUTIONS = st.fixed_dictionaries(
    {
        "channels": st.sampled_from([1, 3, 8, 16, 17, 24, 32, 40]),
        "outputs": st.sampled_from([1, 5, 16, 24, 48]),
        "size": st.tuples(st.integers(5, 9), st.integers(5, 19)),
        "kernel": st.tuples(st.integers(1, 3), st.integers(1, 3)),
        "strides": st.tuples(st.integers(1, 3), st.integers(1, 3)),
        "padding": st.tuples(*[st.integers(0, 2)] * 4),
        "dilation": st.tuples(st.integers(1, 2), st.integers(1, 2)),
        "batch": st.integers(1, 2),
        "depthwise": st.booleans(),
    }
)


@given(CONVOLUTIONS, st.booleans(), st.booleans())
@settings(max_examples=25, deadline=None)
def test_convolutions(shape, blocked_input, blocked_output):
    channels = shape["channels"]
    depthwise = shape["depthwise"] and channels > 1
    outputs = channels if depthwise else shape["outputs"]
    data = graph_input("data", (shape["batch"], channels, *shape["size"]))
    weight = constant(normal(outputs, 1 if depthwise else channels, *shape["kernel"]))
    attributes = {name: shape[name] for name in ("strides", "padding", "dilation")}
    node = call("nn.conv2d", [data, weight], groups=channels if depthwise else 1, **attributes)
    biased = call("nn.bias_add", [node, constant(normal(outputs))])
    compare([node, biased, call("nn.relu", [biased])], node, {data: normal(*data.shape)}, blocked_input, blocked_output)


@pytest.mark.parametrize("blocked", [False, True])
def test_lanes_beyond_the_last_channel_stay_zero(blocked):
    """What follows reads them; a sigmoid of zero is not zero."""
    data = graph_input("data", (1, 3, 6, 6))
    node = call("nn.conv2d", [data, constant(normal(5, 3, 3, 3))])
    compare([node, call("sigmoid", [node])], node, {data: normal(*data.shape)}, blocked, blocked_output=True)


def test_lanes_beyond_the_last_channel_stay_zero_where_one_channel_meets_all():
    x, y = graph_input("x", (1, 5, 4, 4)), graph_input("y", (1, 1, 4, 4))
    feed = {x: normal(*x.shape), y: normal(*y.shape)}
    compare([call("add", [x, y])], None, feed, blocked_output=True, exact=True)


@pytest.mark.parametrize("size", [(7, 7), (14, 14), (5, 37), (17, 48)])
@pytest.mark.parametrize(("kernel", "strides"), [((3, 3), (1, 1)), ((3, 3), (2, 2)), ((5, 5), (1, 2)), ((1, 3), (2, 1))])
def test_depthwise_convolutions_row_by_row(size, kernel, strides):
    data, other = graph_input("data", (1, 3, *size)), graph_input("other", (1, 3, 1, 1))
    attributes = {"groups": 3, "strides": strides, "padding": (kernel[0] // 2, kernel[1] // 2) * 2}
    node = call("nn.conv2d", [data, constant(normal(3, 1, *kernel))], **attributes)
    scaled = call("multiply", [node, other])
    compare([node, scaled], node, {data: normal(*data.shape), other: normal(*other.shape)})


def stage_names(node, layouts=None, tile=None):
    kernel = build_kernel(Group((node,), node), layouts or {}, host_target(), tile=tile)
    return [stage.name for stage in kernel.kernel.stages]


def test_a_depthwise_convolution_works_in_blocks_where_its_data_lie_so_or_a_tile_is_given():
    data = graph_input("data", (1, 32, 14, 14))
    node = call("nn.conv2d", [data, constant(normal(32, 1, 3, 3))], groups=32)
    assert stage_names(node) == ["prepared", "sums", "result"]
    assert "blocks" in stage_names(node, {data: Layout(BLOCK)})
    assert "blocks" in stage_names(node, tile=Tile(4, 1))


def test_a_convolution_begins_with_bytes_that_are_moved():
    x = graph_input("x", (1, 16, 5, 5), "uint8")
    moved = call("qnn.requantize", [x], input_scale=0.5, output_scale=0.5, input_zero_point=128)
    weight = constant(np.ones((16, 16, 1, 1), np.int8))
    node = call("qnn.conv2d", [moved, weight], input_scale=0.5, kernel_scale=0.5)
    for outputs, count in (((node,), 1), ((node, moved), 2)):
        graph = Graph((x,), outputs)
        groups = with_beginnings(find_groups(graph.calls(), graph.users(), outputs), graph.users(), outputs)
        assert len(groups) == count
        assert groups[-1].anchor is node


@pytest.mark.parametrize("op", ["nn.max_pool2d", "nn.avg_pool2d"])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("blocked", [False, True])
def test_pools(op, ceil_mode, blocked):
    data = graph_input("data", (2, 21, 9, 10))
    node = call(op, [data], pool_size=(3, 2), strides=(2, 3), padding=(1, 0, 1, 1), ceil_mode=ceil_mode)
    assert is_anchor(node)
    compare([node], node, {data: normal(*data.shape)}, blocked, blocked)


@pytest.mark.parametrize("op", ["nn.global_avg_pool2d", "nn.global_max_pool2d"])
def test_global_pools(op):
    data = graph_input("data", (2, 21, 7, 5))
    node = call(op, [data])
    compare([node], node, {data: normal(*data.shape)})


@pytest.mark.parametrize(("batch", "depth", "outputs"), [(1, 70, 10), (3, 5, 33), (2, 256, 160)])
def test_dense_layers(batch, depth, outputs):
    data = graph_input("data", (batch, depth))
    node = call("nn.dense", [data, constant(normal(outputs, depth))])
    biased = call("nn.bias_add", [node, constant(normal(outputs))])
    compare([node, biased], node, {data: normal(batch, depth)})


def test_a_residual_joins_the_convolution():
    data, other = graph_input("data", (1, 32, 6, 7)), graph_input("other", (1, 24, 6, 7))
    node = call("nn.conv2d", [data, constant(normal(24, 32, 1, 1))])
    total = call("add", [node, other])
    feed = {data: normal(*data.shape), other: normal(*other.shape)}
    for blocked in (False, True):
        compare([node, total, call("nn.relu", [total])], node, feed, blocked, blocked)


EXACT = {
    "add": lambda x, y: [call("add", [x, y])],
    "subtract": lambda x, y: [call("subtract", [x, y])],
    "multiply": lambda x, y: [call("multiply", [x, y])],
    "divide": lambda x, y: [call("divide", [x, y])],
    "maximum": lambda x, y: [call("maximum", [x, y])],
    "minimum": lambda x, y: [call("minimum", [x, y])],
    "clip": lambda x, y: [call("clip", [x], a_min=-0.5, a_max=1.25)],
    "half a clip": lambda x, y: [call("clip", [x], a_min=-0.5, a_max=float("inf"))],
    "leaky": lambda x, y: [call("nn.leaky_relu", [x], alpha=0.1)],
    "prelu": lambda x, y: [call("nn.prelu", [x, constant(normal(x.shape[1]))])],
    "hard sigmoid": lambda x, y: [call("nn.hard_sigmoid", [x])],
    "hard swish": lambda x, y: [call("nn.hard_swish", [x])],
    "floor": lambda x, y: [call("floor", [x])],
    "round": lambda x, y: [call("round", [x])],
    "bias": lambda x, y: [call("nn.bias_add", [x, constant(normal(x.shape[1]))])],
    "a number": lambda x, y: [call("multiply", [x, constant(np.float32(1.5))])],
    "by channel": lambda x, y: [call("multiply", [x, constant(normal(x.shape[1], 1, 1))])],
    "by column": lambda x, y: [call("multiply", [x, constant(normal(1, 1, 1, x.shape[3]))])],
    **{
        f"quantize {rounding} {kind}": lambda x, y, rounding=rounding, scale=scale: [
            call("qnn.quantize", [x], scale=scale, zero_point=3, rounding=rounding)
        ]
        for rounding in ("up", "even", "tflite")
        for kind, scale in (("one", 0.037), ("each", (0.01, 0.02, 0.03, 0.005, 0.0173)))
    },
}


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("case", EXACT)
def test_elementwise_operators_are_exact(case, blocked):
    x, y = graph_input("x", (2, 5, 4, 11)), graph_input("y", (2, 5, 4, 11))
    nodes = EXACT[case](x, y)
    blocked = blocked and nodes[-1].dtype == "float32"
    used = [node for node in (x, y) if any(node in item.inputs for item in nodes)]
    values = normal(*x.shape)
    values.flat[:6] = [0, -0.0, 1e9, -1e9, 0.0185, 0.0555]
    compare(nodes, None, {node: values if node is x else normal(*y.shape) for node in used}, blocked, blocked, exact=True)


@pytest.mark.parametrize("scale", [0.25, (0.1, 0.2, 0.3, 0.4, 0.5)])
def test_dequantize_is_exact(scale):
    x = graph_input("x", (2, 5, 4, 11), "int8")
    values = RNG.integers(-128, 128, x.shape).astype(np.int8)
    compare([call("qnn.dequantize", [x], scale=scale, zero_point=-7)], None, {x: values}, exact=True)


def test_chains_need_no_memory_between():
    x = graph_input("x", (1, 8, 5, 5))
    one = call("multiply", [x, constant(np.float32(0.5))])
    two = call("nn.relu", [one])
    kernel = build_kernel(Group((one, two)), {}, host_target())
    assert [stage.name for stage in kernel.kernel.stages] == ["result"]
    compare([one, two], None, {x: normal(*x.shape)}, exact=True)
