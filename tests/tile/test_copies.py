"""Concatenation, slices and upsampling on VTA: exact whatever the channels, and without copies where blocks allow it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import open_engine
from tests.integer_graphs import BASELINE, BATCH_2, CONFIGS, TINY, conv, int8_clip, random_inputs
from vta.compiler.compile import compile_graph
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.isa.verify import verify
from vta.runtime.module import Module
from vta.tile.copies import copy_operators, joined_groups, sliced_blocks
from vta.tile.gemm_operator import COPY, GemmOperator
from vta.tile.lowering import packed_tensor


def layer(data, channels, name, seed=0):
    """A 1x1 convolution: something that VTA computes."""
    weights = np.random.default_rng(seed).integers(-128, 128, (channels, data.shape[1], 1, 1))
    shifted = call("right_shift", [conv(data, weights, name), constant(np.int32(8))], name)
    return int8_clip(shifted, name)


def join(*parts, name="join"):
    return call("concatenate", parts, name, axis=1)


def cut(data, begin, end, steps=(1, 1, 1, 1), name="cut"):
    return call("strided_slice", [data], name, begin=begin, end=end, strides=steps)


def channels(data, first, last, name="cut"):
    return cut(data, (0, first, 0, 0), (data.shape[0], last, *data.shape[2:]), name=name)


def run(graph, hw, engine="sim"):
    """Compile, and compare each operator and the outputs with the interpreter; returns the compiled module."""
    compiled = compile_graph(graph, hw)
    inputs = random_inputs(graph)
    with Module(compiled, open_engine(engine, hw)) as module:
        report = module.check(inputs)
        assert report.bit_exact, str(report.mismatch)
        for want, got in zip(evaluate(graph, inputs), module.run(inputs).outputs, strict=True):
            np.testing.assert_array_equal(got, want)
    for region in compiled.regions:
        assert verify(region.program) == []
    return compiled


def kinds(compiled):
    return [record.kind for region in compiled.regions for record in region.operators]


def on_vta(compiled):
    return {placement.where for placement in compiled.placements} == {"vta"}


X = graph_input("x", (1, 24, 5, 6), "int8")


def test_parts_that_fill_blocks_are_stored_in_place():
    first, last = layer(X, 32, "a"), layer(X, 20, "b", 1)
    compiled = run(Graph((X,), (layer(join(first, last), 16, "c"),)), BASELINE)
    assert on_vta(compiled)
    assert kinds(compiled) == ["conv2d"] * 3
    assert len(compiled.regions) == 1


def test_a_part_that_is_read_elsewhere_too_is_not_copied():
    first, last = layer(X, 16, "a"), layer(X, 16, "b", 1)
    graph = Graph((X,), (join(first, last), layer(first, 16, "c"), last))
    assert kinds(run(graph, BASELINE)) == ["conv2d"] * 3


def test_a_value_lies_in_one_place_and_is_copied_to_others():
    value = layer(X, 16, "a")
    compiled = run(Graph((X,), (join(value, value), join(layer(X, 16, "b"), value, name="again"))), BASELINE)
    assert sorted(kinds(compiled)) == ["conv2d", "conv2d", COPY]


def test_concatenations_lie_in_each_other():
    inner = join(layer(X, 16, "a"), layer(X, 32, "b", 1), name="inner")
    outer = join(layer(X, 16, "c", 2), inner, layer(X, 3, "d", 3), name="outer")
    compiled = run(Graph((X,), (outer, inner)), BASELINE)
    assert kinds(compiled) == ["conv2d"] * 4


def test_parts_that_share_a_block_are_copied_together():
    parts = [layer(X, count, f"p{count}", count) for count in (16, 20, 12, 7)]
    compiled = run(Graph((X,), (join(*parts),)), BASELINE)
    assert kinds(compiled) == [*["conv2d"] * 4, COPY]
    groups = joined_groups(join(*parts), 16)
    assert [(group.first_block, group.blocks, [first for _, first in group.parts]) for group in groups] == [
        (0, 1, [0]),
        (1, 2, [0, 20]),
        (3, 1, [0]),
    ]


def test_a_part_from_the_host_is_copied():
    host = call("maximum", [X, constant(np.int8(-3))], "host")
    compiled = run(Graph((X,), (join(layer(X, 16, "a"), host),)), BASELINE)
    assert sorted(kinds(compiled)) == ["conv2d", COPY]


def test_what_the_host_gives_is_joined_and_cut_there():
    y = graph_input("y", X.shape, "int8")
    for graph in (Graph((X, y), (layer(join(X, y), 4, "a"),)), Graph((X,), (layer(channels(X, 0, 16), 4, "a"),))):
        compiled = run(graph, BASELINE)
        assert kinds(compiled) == ["conv2d"]
        assert compiled.placements[0].reason == "joined, cut or padded on the host, before VTA reads it"


@pytest.mark.parametrize(("first", "last"), [(0, 16), (16, 32), (32, 40), (16, 40), (16, 20)])
def test_slices_from_a_block_on_are_views(first, last):
    value = layer(X, 40, "a")
    compiled = run(Graph((X,), (layer(channels(value, first, last), 8, "b"), channels(value, first, last))), BASELINE)
    assert kinds(compiled) == ["conv2d"] * 2
    assert on_vta(compiled)


@pytest.mark.parametrize(("first", "last"), [(1, 17), (8, 24), (39, 40), (15, 33)])
def test_slices_inside_blocks_are_copied(first, last):
    value = layer(X, 40, "a")
    compiled = run(Graph((X,), (layer(channels(value, first, last), 8, "b"),)), BASELINE)
    assert kinds(compiled) == ["conv2d", COPY, "conv2d"]


def test_halves_are_exchanged_without_copies_of_both():
    value = layer(X, 32, "a")
    graph = Graph((X,), (layer(join(channels(value, 16, 32), channels(value, 0, 16)), 8, "b"),))
    assert kinds(run(graph, BASELINE)) == ["conv2d", COPY, COPY, "conv2d"]


def test_rows_and_columns_are_cut_with_steps():
    value = layer(X, 20, "a")
    every = cut(value, (0, 0, 1, 0), (1, 20, 5, 6), (1, 1, 2, 3))
    inner = cut(value, (0, 2, 1, 2), (1, 18, 3, 4), (1, 2, 1, 1), "inner")
    compiled = run(Graph((X,), (every, inner)), BASELINE)
    assert kinds(compiled) == ["conv2d", COPY, COPY]
    assert on_vta(compiled)


def test_channels_may_be_reversed_and_rows_may_not():
    value = layer(X, 20, "a")
    turned = cut(value, (0, 19, 0, 0), (1, -21, 5, 6), (1, -1, 1, 1))
    assert on_vta(run(Graph((X,), (turned,)), BASELINE))
    upside_down = cut(value, (0, 0, 4, 0), (1, 20, -6, 6), (1, 1, -1, 1))
    compiled = run(Graph((X,), (upside_down,)), BASELINE)
    assert compiled.placements[-1].reason == "A slice must keep the batch, and go forward over rows and columns: step -1"


@pytest.mark.parametrize("axis", [2, 3, -1])
@pytest.mark.parametrize("hw", [BASELINE, TINY, BATCH_2])
def test_rows_and_columns_are_joined(axis, hw):
    value, more = layer(X, 20, "a"), layer(X, 20, "b")
    part = cut(more, (0, 0, 1, 0), (1, 20, 3, 6), (1, 1, 1, 1)) if axis == 2 else more
    compiled = run(Graph((X,), (call("concatenate", [value, part, value], "joined", axis=axis),)), hw)
    assert on_vta(compiled)
    assert kinds(compiled).count(COPY) == (2 if axis == 2 else 1)


def test_samples_are_joined_on_the_host():
    value = layer(X, 20, "a")
    compiled = run(Graph((X,), (call("concatenate", [value, value], "both", axis=0),)), BASELINE)
    assert compiled.placements[-1].reason == "Every tensor must have the batch size of the result: 1 for 2"


def test_vectors_are_joined_and_cut():
    flat = call("nn.batch_flatten", [layer(graph_input("x", (1, 24, 1, 1), "int8"), 32, "a")], "flat")
    (image,) = [node for node in Graph((), (flat,)).nodes() if node.op == "input"]
    half = call("strided_slice", [flat], "half", begin=(0, 16), end=(1, 32), strides=(1, 1))
    compiled = run(Graph((image,), (join(half, flat),)), BASELINE)
    assert sorted(kinds(compiled)) == ["conv2d", COPY]


def test_batches_of_more_than_the_hardware_has_are_copied():
    x = graph_input("x", (3, 16, 4, 4), "int8")
    value = layer(x, 32, "a")
    compiled = run(Graph((x,), (join(value, layer(x, 16, "b")), channels(value, 16, 32))), BASELINE)
    assert kinds(compiled).count(COPY) == 2
    assert on_vta(compiled)


def test_a_border_is_stored_in_its_place():
    value = layer(X, 16, "a")
    padded = call("nn.pad", [value], "pad", pad_width=((0, 0), (0, 0), (1, 2), (2, 1)), pad_value=-7)
    other = call("nn.pad", [layer(X, 16, "b", 1)], "pad_b", pad_width=((0, 0), (0, 0), (1, 2), (2, 1)), pad_value=9)
    compiled = run(Graph((X,), (join(other, padded),)), BASELINE)
    assert kinds(compiled) == ["conv2d", "conv2d"]


@pytest.mark.parametrize("widths", [((0, 8), (0, 0), (0, 0)), ((16, 3), (1, 0), (0, 2)), ((5, 0), (0, 0), (1, 1))])
def test_channels_of_zeros_are_added(widths):
    value = layer(X, 20, "a")
    padded = call("nn.pad", [value], "pad", pad_width=((0, 0), *widths))
    compiled = run(Graph((X,), (layer(padded, 8, "b"), padded)), BASELINE)
    assert kinds(compiled) == ["conv2d", COPY, "conv2d"]
    assert on_vta(compiled)


@pytest.mark.parametrize("hw", [BASELINE, BATCH_2, TINY])
@pytest.mark.parametrize(("widths", "value"), [((0, 8), -128), ((16, 3), 127), ((5, 0), 3), ((0, 40), -1)])
def test_channels_of_another_value_are_added(widths, value, hw):
    x = graph_input("x", (hw.batch, 24, 5, 6), "int8")
    padded = call("nn.pad", [layer(x, 20, "a")], "pad", pad_width=((0, 0), widths, (0, 0), (0, 0)), pad_value=value)
    compiled = run(Graph((x,), (layer(padded, 8, "b"), padded)), hw)
    assert kinds(compiled) == ["conv2d", COPY, "conv2d"]
    assert on_vta(compiled)


def test_channels_and_rows_of_another_value_are_added_on_the_host():
    padded = call("nn.pad", [layer(X, 20, "a")], "pad", pad_width=((0, 0), (0, 4), (1, 0), (0, 0)), pad_value=3)
    compiled = run(Graph((X,), (padded,)), BASELINE)
    assert compiled.placements[-1].reason == "no VTA template for nn.pad on int8"
    before = call("nn.pad", [X], "pad", pad_width=((0, 0), (0, 4), (0, 0), (0, 0)))
    compiled = run(Graph((X,), (layer(before, 8, "a"),)), BASELINE)
    assert compiled.placements[0].reason == "joined, cut or padded on the host, before VTA reads it"


@pytest.mark.parametrize("engine", ["sim", "cycle", "rtl"])
def test_every_engine_gives_the_same(engine):
    value = layer(X, 32, "a")
    up = call("nn.upsampling", [channels(value, 8, 24)], "up", scale_h=2, scale_w=3)
    run(Graph((X,), (join(up, call("nn.upsampling", [value], "up2", scale_h=2, scale_w=3)),)), BASELINE, engine)


def test_operators_that_copy_are_no_work_of_the_network():
    node = channels(layer(X, 40, "a"), 3, 9)
    (operator,) = copy_operators(node, lambda value: packed_tensor(value, BASELINE, value.name), BASELINE, "op")
    assert isinstance(operator, GemmOperator)
    assert operator.macs == 0
    assert all(term.is_transfer for term in operator.terms)
    assert sliced_blocks(node, 16) is None


@st.composite
def moving_graphs(draw):
    """Values of VTA, joined, cut and enlarged in any order."""
    x = graph_input(
        "x", (draw(st.sampled_from([1, 1, 2, 3])), draw(st.integers(1, 20)), *(draw(st.integers(1, 6)) for _ in "hw")), "int8"
    )
    count = st.sampled_from([1, 3, 8, 16, 17, 24, 32, 40])
    values = [layer(x, draw(count), f"c{index}", index) for index in range(draw(st.integers(1, 3)))]
    for index in range(draw(st.integers(1, 4))):
        value = values[draw(st.integers(0, len(values) - 1))]
        kind = draw(st.sampled_from(["join", "join", "channels", "places", "more", "up", "layer"]))
        name = f"{kind}{index}"
        if kind == "join":
            same = [other for other in values if other.shape[2:] == value.shape[2:]]
            values.append(join(*draw(st.lists(st.sampled_from(same), min_size=1, max_size=4)), name=name))
        elif kind == "channels":
            first = draw(st.sampled_from([c for c in (0, 0, 1, 8, 16, 32) if c < value.shape[1]]))
            values.append(channels(value, first, draw(st.integers(first + 1, value.shape[1])), name))
        elif kind == "places":
            first = [draw(st.integers(0, extent - 1)) for extent in value.shape]
            first[0] = 0
            steps = (1, *(draw(st.integers(1, 3)) for _ in range(3)))
            values.append(cut(value, tuple(first), value.shape, steps, name))
        elif kind == "more":
            widths = ((0, 0), (draw(st.integers(0, 17)), draw(st.integers(1, 17))), (0, 0), (0, 0))
            values.append(call("nn.pad", [value], name, pad_width=widths, pad_value=draw(st.integers(-128, 127))))
        elif kind == "up":
            values.append(call("nn.upsampling", [value], name, scale_h=draw(st.integers(1, 3)), scale_w=draw(st.integers(1, 3))))
        else:
            values.append(layer(value, draw(count), name, index))
    outputs = [value for value in values if draw(st.booleans())] or values[-1:]
    return Graph((x,), tuple(outputs))


@settings(deadline=None, max_examples=120)
@given(moving_graphs(), st.sampled_from([*CONFIGS, TINY]))
def test_any_moves_on_any_config_are_exact(graph, hw):
    if hw.acc_bits == 32:
        run(graph, hw)


@settings(deadline=None, max_examples=8)
@given(moving_graphs())
def test_any_moves_are_exact_where_cycles_are_counted(graph):
    run(graph, BASELINE, "cycle")


@pytest.mark.parametrize("hw", [BASELINE, TINY])
def test_slices_that_only_products_read_are_no_operators(hw):
    value = layer(X, 20, "a")
    rows = cut(value, (0, 0, 1, 1), (1, 20, 4, 6), name="rows")
    weights = np.random.default_rng(3).integers(-3, 4, (20, 20, 3, 2))
    inside = int8_clip(conv(rows, weights, "inside"), "inside")
    again = int8_clip(conv(cut(rows, (0, 0, 0, 2), (1, 20, 3, 5), name="again"), weights, "deeper"), "deeper")
    compiled = run(Graph((X,), (inside, again)), hw)
    assert kinds(compiled) == ["conv2d", "conv2d", "conv2d"]
    assert on_vta(compiled)


def test_slices_with_other_readers_are_copied():
    value = layer(X, 20, "a")
    rows = cut(value, (0, 0, 1, 0), (1, 20, 4, 6), name="rows")
    weights = np.random.default_rng(3).integers(-3, 4, (20, 20, 3, 3))
    padded = int8_clip(conv(rows, weights, "padded", padding=(1, 1, 1, 1)), "padded")
    pooled = call("nn.max_pool2d", [rows], "pool", pool_size=(2, 2))
    compiled = run(Graph((X,), (padded, pooled)), BASELINE)
    assert COPY in kinds(compiled)
    assert on_vta(compiled)
