"""Finding VTA operators in integer graphs."""

import numpy as np
import pytest
from hypothesis import given

from tests.integer_graphs import conv, int8_clip, integer_graphs, per_channel, widened
from vta.ir.graph import Graph, call, constant, graph_input
from vta.partition.fused.find import find_fused_operators
from vta.partition.fused.fused_operator import is_operand, is_view, split_operand, value_and_operand, view_source

X = graph_input("x", (1, 4, 3, 3), "int8")
WEIGHTS = np.ones((4, 4, 1, 1))


def only(*outputs, inputs=(X,)):
    """The fused operators of a graph, and the sentences of the reasons."""
    found, reasons = find_fused_operators(Graph(inputs, outputs))
    return found, {node: str(reason) for node, reason in reasons.items()}


def shifted(value, amount=3):
    return call("right_shift", [value, constant(np.int32(amount))], "shift")


def test_a_fused_operator_runs_from_the_root_to_the_cast():
    root = conv(X, WEIGHTS)
    shift = shifted(root)
    end = int8_clip(shift, "q")
    fused_operators, reasons = only(end)
    (fused,) = fused_operators.values()
    assert fused.result is end
    assert fused.anchor is root
    assert fused.epilogue == (shift, end.inputs[0])
    assert fused.nodes == (root, shift, end.inputs[0], end)
    assert fused.sources == (X,)
    assert reasons == {}


def test_a_residual_is_an_operand_and_its_source_is_named_once():
    scaled = call("left_shift", [widened(X), constant(np.int32(2))], "scale")
    end = int8_clip(call("add", [conv(X, WEIGHTS), scaled], "add"), "q")
    (fused,) = only(end)[0].values()
    assert fused.sources == (X,)
    assert {scaled, scaled.inputs[0]} <= set(fused.nodes)


def test_operands_may_stand_on_either_side():
    value = conv(X, WEIGHTS)
    operand = widened(X)
    for inputs in ([value, operand], [operand, value]):
        assert value_and_operand(call("add", inputs, "add")) == (value, operand)
    number = constant(np.int32(3))
    for inputs in ([value, number], [number, value]):
        assert value_and_operand(call("maximum", inputs, "max")) == (value, number)
    assert value_and_operand(call("nn.relu", [value], "relu")) == (value, None)


def test_the_sum_of_two_tensors_starts_from_the_first():
    a, b = widened(X), widened(graph_input("y", X.shape, "int8"))
    (fused,) = only(int8_clip(call("add", [a, b], "add"), "q"), inputs=(X, b.inputs[0]))[0].values()
    assert fused.anchor is a
    assert fused.sources == (X, b.inputs[0])


def test_split_operand_takes_the_factor_off():
    cast = widened(X)
    factor = per_channel([1, 2, 3, 4])
    assert split_operand(cast) == (X, None, "")
    assert split_operand(call("multiply", [cast, factor], "m")) == (X, factor, "multiply")
    assert not is_operand(conv(X, WEIGHTS))
    with pytest.raises(ValueError, match="not a tensor operand"):
        split_operand(call("multiply", [conv(X, WEIGHTS), factor], "m"))


def test_operators_on_int8_are_fused_operators_by_themselves():
    pool = call("nn.max_pool2d", [X], "pool", pool_size=(2, 2))
    relu = call("nn.relu", [pool], "relu")
    clip = call("clip", [relu], "clip", a_min=1, a_max=5)
    fused_operators, reasons = only(clip)
    assert list(fused_operators) == [pool, relu, clip]
    assert all(fused.anchor is fused.result and fused.epilogue == () for fused in fused_operators.values())
    assert reasons == {}


def test_an_int32_result_for_the_host_ends_a_fused_operator():
    root = conv(X, WEIGHTS)
    biased = call("nn.bias_add", [root, constant(np.arange(4, dtype=np.int32))], "bias")
    real = call("cast", [biased], "real", dtype="float32")
    fused_operators, reasons = only(real)
    assert list(fused_operators) == [biased]
    assert reasons == {real: "computes in float"}
    assert list(only(root)[0]) == [root]
    shaped = call("reshape", [root], "shape", newshape=(1, 2, 2, 9))
    assert list(only(shaped)[0]) == [root]


def test_a_value_used_twice_inside_is_refused_with_the_reason():
    root = conv(X, WEIGHTS, "conv")
    first, second = int8_clip(shifted(root), "a"), int8_clip(root, "b")
    fused_operators, reasons = only(first, second)
    assert fused_operators == {}
    assert reasons[first] == reasons[second] == "the accumulator of conv (nn.conv2d) is used more than once"
    shift = shifted(root)
    _, reasons = only(int8_clip(shift, "q"), shift)
    assert "its int32 value shift (right_shift) is used more than once" in reasons.values()


def test_weights_must_be_constant():
    data, weight = graph_input("d", (1, 4), "int8"), graph_input("w", (5, 4), "int8")
    end = int8_clip(call("nn.dense", [data, weight], "dense"), "q")
    assert only(end, inputs=(data, weight))[1][end] == "its weights are not constant"


def test_two_accumulators_cannot_be_added():
    end = int8_clip(call("add", [conv(X, WEIGHTS, "a"), conv(X, WEIGHTS, "b")], "add"), "q")
    fused_operators, reasons = only(end)
    assert fused_operators == {}
    assert reasons[end] == "operand b (nn.conv2d) of add is neither a constant nor an int8 tensor"


def test_an_int32_input_cannot_start_a_fused_operator():
    wide = graph_input("wide", (1, 4), "int32")
    end = int8_clip(wide, "q")
    assert only(end, inputs=(wide,))[1][end] == "its int32 value comes from wide (input), which VTA cannot start from"


def test_other_operators_say_why():
    turned = call("transpose", [X], "turn", axes=(0, 1, 3, 2))
    assert only(turned)[1] == {turned: "no VTA template for transpose on int8"}


def test_a_shared_cast_joins_every_fused_operator_that_reads_it():
    wide = widened(X)
    ends = [int8_clip(call("add", [conv(X, WEIGHTS), wide], name), name) for name in "ab"]
    fused_operators, reasons = only(*ends)
    assert list(fused_operators) == ends
    assert all(wide in fused.nodes for fused in fused_operators.values())
    assert reasons == {}


@pytest.mark.parametrize("heads", [1, 2])
def test_a_dense_layer_reads_the_image_before_it_was_flattened(heads):
    flat = call("nn.batch_flatten", [X], "flat")
    ends = [int8_clip(call("nn.dense", [flat, constant(np.ones((5, 36), np.int8))], f"d{i}"), f"q{i}") for i in range(heads)]
    fused_operators, reasons = only(*ends)
    assert all(fused.sources == (X,) and flat in fused.nodes for fused in fused_operators.values())
    assert reasons == {}


def test_views_rename_vectors():
    image, vector = graph_input("i", (2, 5, 1, 1), "int8"), graph_input("v", (2, 5), "int8")
    flat = call("nn.batch_flatten", [image], "flat")
    assert is_view(flat)
    again = call("reshape", [flat], "again", newshape=(2, 5, 1, 1))
    assert view_source(again) is image
    assert is_view(call("expand_dims", [call("expand_dims", [vector], "e", axis=2)], "f", axis=3)) is False, "rank 3 between"
    assert not is_view(call("reshape", [vector], "r", newshape=(5, 2)))
    assert not is_view(call("nn.batch_flatten", [X], "flat"))
    assert not is_view(call("reshape", [graph_input("f", (2, 5, 1, 1))], "r", newshape=(2, 5)))


@given(integer_graphs(6))
def test_the_nodes_of_a_fused_operator_are_in_topological_order(graph):
    for fused in find_fused_operators(graph)[0].values():
        inside = set(fused.nodes)
        seen = set()
        for node in fused.nodes:
            assert all(source in seen for source in node.inputs if source in inside)
            seen.add(node)
