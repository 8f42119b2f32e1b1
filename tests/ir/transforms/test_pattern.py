from __future__ import annotations

import numpy as np
import pytest

from vta.errors import GraphError
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.interpreter import evaluate_node
from vta.ir.transforms.pattern import is_constant, is_filled_with, is_input, is_op, match, rewrite_pattern, wildcard

X = graph_input("x", (1, 4, 8, 8))
ONE = constant(np.float32(1), "one")


def conv(data: Node, name: str = "conv", **attributes) -> Node:
    return call("nn.conv2d", [data, constant(np.ones((4, data.shape[1], 1, 1), np.float32))], name, **attributes)


def test_what_each_part_matched_is_known():
    data, weight = wildcard(), is_constant()
    layer = is_op("nn.conv2d")(data, weight)
    node = call("nn.relu", [conv(X)])
    found = match(is_op("nn.relu")(layer), node)
    assert (found.root, found[layer], found[data]) == (node, node.inputs[0], X)
    assert found[weight].value.shape == (4, 4, 1, 1)


def test_what_does_not_match():
    for pattern in [is_op("nn.relu"), is_op("nn.conv2d")(is_constant(), wildcard()), is_op("nn.conv2d")(wildcard()), is_input()]:
        assert match(pattern, conv(X)) is None


def test_operator_without_inputs_takes_any():
    assert match(is_op("nn.conv2d"), conv(X)) is not None


def test_unknown_operator_is_refused():
    with pytest.raises(GraphError, match=r"'nn\.conv3d' is not declared"):
        is_op("nn.conv3d")
    with pytest.raises(GraphError, match="only is_op"):
        wildcard()(wildcard())


def test_commutative_operators_match_both_ways():
    data, one = wildcard(), is_constant()
    for inputs in [(X, ONE), (ONE, X)]:
        found = match(is_op("add")(data, one), call("add", inputs))
        assert (found[data], found[one]) == (X, ONE)
    assert match(is_op("subtract")(wildcard(), is_constant()), call("subtract", [ONE, X])) is None


def test_matching_goes_back_to_try_the_other_order_below():
    a, b = conv(X, "a"), call("nn.relu", [X])
    node = call("multiply", [call("add", [b, a]), a])
    shared = wildcard()
    found = match(is_op("multiply")(is_op("add")(shared, wildcard()), shared), node)
    assert found[shared] is a


def test_one_pattern_at_two_places_is_one_node():
    same = wildcard()
    square = is_op("multiply")(same, same)
    assert match(square, call("multiply", [X, X])) is not None
    assert match(square, call("multiply", [X, ONE])) is None


def test_alternatives_and_optional_parts():
    layer = is_op("nn.conv2d")(wildcard(), is_constant())
    biased = is_op("nn.bias_add")(layer, is_constant())
    active = (is_op("nn.relu") | is_op("clip"))((biased | layer).optional(is_op("negative")))
    bias = constant(np.ones(4, np.float32))
    plain = match(active, call("nn.relu", [conv(X)]))
    assert layer in plain
    assert biased not in plain
    assert plain.get(biased) is None
    full = match(active, call("clip", [call("negative", [call("nn.bias_add", [conv(X), bias])])], a_min=0, a_max=6))
    assert full[biased].op == "nn.bias_add"
    assert match(active, call("tanh", [conv(X)])) is None


def test_constraints():
    node = conv(X, strides=(2, 2))
    layer = is_op("nn.conv2d")
    for good in [
        layer.has_attr(strides=(2, 2)),
        layer.has_attr({"groups": 1}, strides=lambda s: s[0] == s[1]),
        layer.has_dtype("float32").has_shape((1, None, 4, 4)),
        layer.has_dtype("float32")(wildcard(), is_constant().where(is_filled_with(1))),
    ]:
        assert match(good, node) is not None
    for bad in [
        layer.has_attr(strides=(1, 1)),
        layer.has_attr(color=1),
        layer.has_dtype("int8"),
        layer.has_shape((1, None, 4)),
        layer(wildcard(), is_constant().where(is_filled_with(2))),
    ]:
        assert match(bad, node) is None


def test_rewriting_sees_rewritten_inputs():
    node = X
    for _ in range(3):
        node = call("negative", [node])
    inner = wildcard()
    twice = is_op("negative")(is_op("negative")(inner))
    graph = rewrite_pattern(Graph((X,), (node,)), twice, lambda found: found[inner])
    assert [n.op for n in graph.calls()] == ["negative"]


def test_none_keeps_and_types_must_stay():
    graph = Graph((X,), (call("nn.relu", [X], "r"),))
    assert rewrite_pattern(graph, is_op("nn.relu"), lambda found: None).outputs == graph.outputs
    with pytest.raises(GraphError, match=r"r: a rewrite of nn\.relu changes its type"):
        rewrite_pattern(graph, is_op("nn.relu"), lambda found: ONE)


def test_shared_nodes_are_known():
    layer = conv(call("nn.relu", [X]))
    pattern = is_op("nn.conv2d")
    seen = []
    for outputs in [
        (call("nn.relu", [layer]),),
        (call("nn.relu", [layer]), layer),
        (call("add", [layer, call("exp", [layer])]),),
    ]:
        rewrite_pattern(
            Graph((X,), outputs),
            (is_op("nn.relu") | is_op("exp"))(pattern),
            lambda found: seen.append(found.is_shared(pattern)),
        )
    assert seen == [False, True, True]


def test_long_chains_need_no_recursion():
    node = X
    for _ in range(5000):
        node = call("nn.relu", [node])
    graph = rewrite_pattern(Graph((X,), (node,)), is_op("nn.relu")(wildcard()), lambda found: call("negative", found.root.inputs))
    assert {n.op for n in graph.calls()} == {"negative"}


def test_example_fold_a_quantized_constant():
    quantized = is_op("qnn.quantize")(is_constant())

    def fold(found):
        return constant(evaluate_node(found.root, [found.root.inputs[0].value]), found.root.name)

    weight = call("qnn.quantize", [constant(np.float32([1, -2]), "w")], "w_q", scale=0.5)
    (folded,) = rewrite_pattern(Graph((), (weight,)), quantized, fold).outputs
    np.testing.assert_array_equal(folded.value, np.int8([2, -4]))


def test_example_drop_a_clip_that_does_nothing():
    requantized = is_op("qnn.requantize")(wildcard())
    clipped = is_op("clip")(requantized)

    def drop(found):
        low, high = found.root.attrs.bounds(found.root.dtype)
        return found[requantized] if (low, high) == (-128, 127) else None

    acc = graph_input("acc", (1, 4), "int32")
    scales = {"input_scale": 0.1, "input_zero_point": 0, "output_scale": 1.0, "output_zero_point": 0}
    narrow = call("qnn.requantize", [acc], "q", **scales)
    for low, left in [(-128, 1), (0, 2)]:
        graph = Graph((acc,), (call("clip", [narrow], "c", a_min=low, a_max=127),))
        assert len(rewrite_pattern(graph, clipped, drop).calls()) == left
