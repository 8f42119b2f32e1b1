"""Convolutions by Winograd's transforms: those of the references where nothing is rounded, else within the bound stated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.host.kernels.test_groups import BLOCK, in_blocks
from vta.host.kernels.group import Group, build_kernel
from vta.host.kernels.products.winograd import winograd_convolution
from vta.host.kernels.products.winograd_tiles import winograd_pays, winograd_tile
from vta.host.kernels.values import Layout, without_blocks
from vta.host.llvm.jit import compile_object, compile_program
from vta.host.llvm.target import cpu_target, host_target
from vta.host.loop.interpret import run_program
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.runtime.host_part.host_graph import host_graph
from vta.runtime.host_part.host_options import HostOptions

HALF_ULP = 2.0**-24
INPUTS = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
WEIGHTS = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
OUTPUTS = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
TARGETS = {
    "avx512": cpu_target("x86_64-linux-gnu", "skylake-avx512"),
    "avx2": cpu_target("x86_64-linux-gnu", "haswell"),
    "sse": cpu_target("x86_64-linux-gnu", "x86-64"),
    "aarch64": cpu_target("aarch64-linux-gnu"),
    "armv7": cpu_target("armv7-linux-gnueabihf"),
}


def has_a_window(shape):
    (height, width), (top, left, bottom, right) = shape["size"], shape["padding"]
    return height + top + bottom >= 3 and width + left + right >= 3


SHAPES = st.fixed_dictionaries(
    {
        "channels": st.sampled_from([1, 3, 8, 16, 17, 24, 32, 40]),
        "outputs": st.sampled_from([1, 5, 16, 24, 48]),
        "size": st.tuples(st.integers(1, 9), st.integers(1, 21)),
        "padding": st.tuples(*[st.integers(0, 2)] * 4),
        "batch": st.integers(1, 2),
    }
).filter(has_a_window)


def convolution(shape, weight):
    data = graph_input("data", (shape["batch"], shape["channels"], *shape["size"]))
    return data, call(ops.CONV2D, [data, constant(weight.astype(np.float32))], padding=shape["padding"])


def lowered(nodes, anchor, blocked, target):
    """The kernel of some nodes, whose images lie in blocks if `blocked`, in and out, and its program."""
    group = Group(tuple(nodes), anchor)
    ends = dict.fromkeys(group.inputs(), blocked[0]) | {group.result: blocked[1]}
    layouts = {node: Layout(target.lanes(4)) for node, lies in ends.items() if lies}
    kernel = build_kernel(group, layouts, target, rule=winograd_convolution)
    return kernel, lower(scheduled(kernel.kernel, kernel.steps))


def computed(nodes, anchor, feed, blocked):
    kernel, program = lowered(nodes, anchor, blocked, host_target())
    arrays = [in_blocks(feed[node]) if blocked[0] else feed[node] for node in kernel.sources]
    got = compile_program(program).run([*arrays, *kernel.constants])
    return without_blocks(got, nodes[-1].shape) if blocked[1] else got


def whole(rng, shape, most):
    return rng.integers(-most, most, shape, endpoint=True).astype(np.float32)


@given(SHAPES, st.tuples(st.booleans(), st.booleans()), st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_whole_numbers_are_those_of_the_reference(shape, blocked, seed):
    """Weights become quarters, of which sums are exact: whatever is wrong with a place shows."""
    rng = np.random.default_rng(seed)
    data, node = convolution(shape, whole(rng, (shape["outputs"], shape["channels"], 3, 3), 8))
    other = graph_input("other", node.shape)
    biased = call(ops.BIAS_ADD, [node, constant(whole(rng, node.shape[1:2], 99))])
    added = call(ops.ADD, [biased, other])
    result = call(ops.RELU, [added])
    feed = {data: whole(rng, data.shape, 9), other: whole(rng, other.shape, 99)}
    got = computed([node, biased, added, result], node, feed, blocked)
    (want,) = evaluate(Graph(tuple(feed), (result,)), {item.name: array for item, array in feed.items()})
    np.testing.assert_array_equal(got, want)


def windows(x, padding, rows, columns):
    """The 4 x 4 places of all tiles, (n, c, ty, tx, 4, 4)."""
    top, left, bottom, right = padding
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom + rows % 2), (left, right + columns % 2)))
    return np.lib.stride_tricks.sliding_window_view(padded, (4, 4), (2, 3))[:, :, ::2, ::2]


def bound(x, weight, padding, rows, columns):
    """What the module states, and what follows from it more simply, for each sum."""
    places, channels = windows(np.abs(x), padding, rows, columns), x.shape[1]
    data = np.abs(INPUTS) @ places @ np.abs(INPUTS).T
    terms = np.einsum("nctupq,ocpq->notupq", data, np.abs(WEIGHTS) @ np.abs(weight) @ np.abs(WEIGHTS).T)
    sums = np.abs(OUTPUTS) @ terms @ np.abs(OUTPUTS).T
    tight = sums.transpose(0, 1, 2, 4, 3, 5).reshape(*sums.shape[:2], rows + rows % 2, -1)
    tight *= (1 + HALF_ULP) ** (channels + 8) - 1
    pairs = np.einsum("nctu,oc->notu", places.sum((4, 5)), np.abs(weight).sum((2, 3)))
    loose = 4.001 * (channels + 8) * HALF_ULP * pairs.repeat(2, 2).repeat(2, 3)
    return tight[:, :, :rows, :columns], loose[:, :, :rows, :columns]


@given(SHAPES, st.tuples(st.booleans(), st.booleans()), st.integers(0, 99), st.sampled_from([0, 1, 6]))
@settings(max_examples=15, deadline=None)
def test_sums_are_rounded_as_little_as_is_stated(shape, blocked, seed, decades):
    """Against sums in double precision, of values of which some are much larger than others."""
    rng = np.random.default_rng(seed)

    def values(*size):
        return (rng.standard_normal(size) * 10.0 ** rng.uniform(-decades / 2, decades / 2, size)).astype(np.float32)

    data, node = convolution(shape, values(shape["outputs"], shape["channels"], 3, 3))
    x, weight = values(*data.shape), node.inputs[1].value.astype(np.float64)
    got = computed([node], node, {data: x}, blocked)
    top, left, bottom, right = shape["padding"]
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    want = np.einsum("ncyxhw,ochw->noyx", np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3)), weight)
    tight, loose = bound(x.astype(np.float64), weight, shape["padding"], *node.shape[2:])
    assert (np.abs(got - want) <= tight).all()
    assert (tight <= loose).all()


@pytest.mark.parametrize("blocked", [(False, False), (True, True)])
@pytest.mark.parametrize("target", ["avx2", "sse", "aarch64", "armv7"])
def test_loops_for_every_processor(target, blocked):
    """By the interpreter: their vectors and tiles are others. And LLVM makes code of them."""
    target = TARGETS[target]
    rng = np.random.default_rng(3)
    lanes = target.lanes(4)
    shape = {"channels": lanes, "outputs": lanes + 1, "size": (3, 5), "padding": (1, 1, 1, 1), "batch": 1}
    data, node = convolution(shape, whole(rng, (shape["outputs"], lanes, 3, 3), 8))
    kernel, program = lowered([node], node, blocked, target)
    x = whole(rng, data.shape, 9)
    stored = x.reshape(1, 1, lanes, 3, 5).transpose(0, 1, 3, 4, 2) if blocked[0] else x
    assert compile_object(program, target)
    got = run_program(program, [np.ascontiguousarray(stored), *kernel.constants])
    (want,) = evaluate(Graph((data,), (node,)), {"data": x})
    np.testing.assert_array_equal(without_blocks(got, node.shape) if blocked[1] else got, want)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("blocks", "size"), [(1, (32, 32)), (2, (16, 16)), (4, (8, 8)), (3, (7, 7)), (5, (1, 3)), (8, (28, 28))])
def test_tiles_fit_registers(target, blocks, size):
    target = TARGETS[target]
    tile = winograd_tile(*size, 16 * blocks, blocks, target)
    assert tile.sums + tile.blocks * tile.positions <= target.vector_registers
    assert blocks % tile.blocks == 0
    assert tile.rows <= -(-size[0] // 2)
    assert tile.columns <= -(-size[1] // 2)


def test_what_is_infinite_spreads_to_its_tile_and_no_further():
    shape = {"channels": BLOCK, "outputs": BLOCK, "size": (8, 8), "padding": (1, 1, 1, 1), "batch": 1}
    data, node = convolution(shape, np.ones((BLOCK, BLOCK, 3, 3)))
    x = np.ones(data.shape, np.float32)
    x[0, 0, 0, 0] = np.inf
    got = computed([node], node, {data: x}, (True, True))
    assert not np.isfinite(got[:, :, :2, :2]).any()
    got[:, :, :2, :2] = 0
    assert np.isfinite(got).all()


def pays(channels=32, outputs=32, size=16, kernel=3, dtype="float32", target="avx512", blocked=True, **attributes):
    x = graph_input("x", (1, channels, size, size), dtype)
    weight = constant(np.zeros((outputs, channels // attributes.get("groups", 1), kernel, kernel), dtype))
    node = call(ops.CONV2D, [x, weight], **{"padding": (kernel // 2,) * 4, **attributes})
    target = TARGETS[target]
    return winograd_pays(node, Layout(target.lanes(4) if blocked else 0), target)


def test_it_is_for_3x3_convolutions_of_floats_with_enough_products():
    assert pays()
    assert pays(16, 16, 32)
    assert pays(blocked=False)
    assert pays(dtype="int8") is pays(kernel=1) is pays(kernel=5) is pays(strides=(2, 2)) is pays(dilation=(2, 2)) is False
    assert pays(groups=2) is pays(groups=32) is False
    assert pays(3, 16, 32, blocked=False) is False
    # Most of the tiles' sums are left out; weights lie far away.
    assert pays(size=1) is pays(512, 512, 7) is False
    # Of a vector of few channels transforms take as long as products.
    assert pays(4, 4, target="aarch64") is False
    assert pays(32, 32, target="aarch64")


def test_weights_that_are_computed_stay_direct():
    x, weight = graph_input("x", (1, 32, 16, 16)), graph_input("w", (32, 32, 3, 3))
    assert not winograd_pays(call(ops.CONV2D, [x, weight]), Layout(BLOCK), host_target())
    relu = call(ops.RELU, [x])
    assert not winograd_pays(relu, Layout(BLOCK), host_target())


def test_a_host_part_has_it_where_it_is_asked_for():
    rng = np.random.default_rng(0)
    x = graph_input("x", (1, 3, 16, 16))
    node = x
    for channels in (3, 32, 32):
        weight = rng.standard_normal((32, channels, 3, 3)) / np.sqrt(9 * channels)
        node = call(ops.RELU, [call(ops.CONV2D, [node, constant(weight.astype(np.float32))], padding=(1, 1, 1, 1))])
    graph, feed = Graph((x,), (node,)), {"x": rng.standard_normal(x.shape).astype(np.float32)}
    direct, asked = (host_graph(graph, HostOptions(compiled=True, winograd=winograd)) for winograd in (False, True))
    functions = [{call.symbol for step in found.plan.steps for call in step.kernels.plan.calls} for found in (direct, asked)]
    assert functions[0] != functions[1]
    (want,), (plain,), (got,) = evaluate(graph, feed), direct.run(feed), asked.run(feed)
    assert np.abs(got - want).max() <= 2e-6 * np.abs(want).max()
    assert np.abs(plain - want).max() <= 2e-6 * np.abs(want).max()
