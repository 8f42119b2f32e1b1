"""Pattern tables: what becomes a composite, and that it still computes the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.integer_graphs import conv, int8_clip, random_inputs
from vta.errors import GraphError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.ir.printer import print_graph
from vta.ir.transforms.functions import calls_of_functions, inline_functions
from vta.ir.transforms.pattern import is_constant, is_op, wildcard
from vta.partition.composites import Composite, Found, merge_composites
from vta.partition.vta_patterns import quantized_patterns

X = graph_input("x", (1, 2, 4, 4), "int8")
WEIGHT = np.arange(18).reshape(1, 2, 3, 3)
LAYER = is_op("nn.conv2d")(wildcard(), is_constant())


def names(graph):
    return [node.attrs.composite for node in calls_of_functions(graph)]


def ops(graph):
    return [node.op for node in graph.calls()]


def same_values(before, after, inputs):
    return all(np.array_equal(a, b) for a, b in zip(evaluate(before, inputs), evaluate(after, inputs), strict=True))


def quantized_layer(x, padded=False, biased=True, clipped=False, name="conv"):
    value = call("nn.pad", [x], name, pad_width=((0, 0), (0, 0), (1, 1), (1, 1))) if padded else x
    weight = constant(np.ones((3, x.shape[1], 3, 3), np.int8))
    value = call("qnn.conv2d", [value, weight], name, input_scale=0.5, kernel_scale=0.25)
    if biased:
        value = call("nn.bias_add", [value, constant(np.arange(3, dtype=np.int32))], name)
    value = call("qnn.requantize", [value], name, input_scale=0.125, output_scale=0.7, bound=10000)
    return call("clip", [value], name, a_min=0, a_max=100) if clipped else value


def test_a_composite_holds_its_constants():
    graph = Graph((X,), (call("nn.relu", [conv(X, WEIGHT)], "act"),))
    merged = merge_composites(graph, [("mine.conv2d", LAYER.optional(is_op("nn.relu")))])
    (node,) = merged.calls()
    assert (node.attrs.composite, node.inputs, node.name) == ("mine.conv2d", (X,), "act")
    assert ops(node.attrs.body) == ["nn.conv2d", "nn.relu"]
    assert [source.op for source in node.attrs.body.calls()[0].inputs] == ["input", "constant"]
    assert same_values(graph, merged, random_inputs(graph))


def test_printed_composites():
    graph = Graph((X,), (call("nn.relu", [conv(X, WEIGHT)], "act"),))
    merged = merge_composites(graph, [("mine.conv2d", LAYER.optional(is_op("nn.relu")))])
    assert print_graph(merged) == (
        "graph main(x: int8[1, 2, 4, 4]) {\n"
        "  %0 = @mine.conv2d_0(x) : int32[1, 1, 2, 2]  # act\n"
        "  return %0\n"
        "}\n"
        "\n"
        "graph @mine.conv2d_0(p0: int8[1, 2, 4, 4]) composite=mine.conv2d {\n"
        "  %0 = nn.conv2d(p0, const int8[1, 2, 3, 3]) : int32[1, 1, 2, 2]  # conv\n"
        "  %1 = nn.relu(%0) : int32[1, 1, 2, 2]  # act\n"
        "  return %1\n"
        "}\n"
    )


def test_a_value_that_something_else_reads_stays_out_of_a_composite():
    inner = conv(X, WEIGHT)
    pattern = LAYER.optional(is_op("nn.relu"))
    shared = Graph((X,), (call("nn.relu", [inner], "act"), call("negative", [inner], "other")))
    assert ops(merge_composites(shared, [("mine.conv2d", pattern)])) == ["call", "nn.relu", "negative"]
    asked_for = Graph((X,), (call("nn.relu", [inner], "act"), inner))
    assert ops(merge_composites(asked_for, [("mine.conv2d", pattern)])) == ["call", "nn.relu"]


def test_the_first_entry_has_the_first_choice_and_the_check_decides():
    graph = Graph((X,), (call("nn.relu", [conv(X, WEIGHT)], "act"),))
    table = [
        ("first.conv2d", LAYER.optional(is_op("nn.relu")), lambda found: found.root.op != "nn.relu"),
        ("second.relu", is_op("nn.relu")),
    ]
    merged = merge_composites(graph, table)
    assert names(merged) == ["first.conv2d", "second.relu"]
    assert names(merge_composites(graph, table[::-1])) == ["first.conv2d", "second.relu"]
    whole = merge_composites(graph, [("first.conv2d", LAYER.optional(is_op("nn.relu"))), *table[1:]])
    assert names(whole) == ["first.conv2d"]


def test_composites_may_be_found_by_a_function():
    graph = Graph((X,), (call("nn.relu", [conv(X, WEIGHT)], "act"),))

    def find(seen):
        return [Found(node, (node,), f"mine.{node.name}") for node in seen.calls()]

    assert names(merge_composites(graph, [Composite("mine.any", find)])) == ["mine.conv", "mine.act"]


@pytest.mark.parametrize("name", ["conv2d", ".conv2d", "vta."])
def test_a_name_without_target_or_operator_is_refused(name):
    with pytest.raises(GraphError, match=r"must have a name of the form target\.operator"):
        Composite(name, wildcard())


@given(st.booleans(), st.booleans(), st.booleans())
def test_the_quantized_table_takes_the_whole_layer(padded, biased, clipped):
    graph = Graph((X,), (quantized_layer(X, padded, biased, clipped),))
    merged = merge_composites(graph, quantized_patterns())
    assert names(merged) == ["vta.qnn_conv2d"]
    assert len(merged.calls()) == 1
    assert ops(inline_functions(merged)) == ops(graph)
    inputs = random_inputs(graph)
    assert same_values(graph, merged, inputs)
    assert same_values(graph, inline_functions(merged), inputs)


def test_a_layer_whose_weights_are_computed_is_no_composite():
    weight = graph_input("w", (3, 2, 3, 3), "int8")
    value = call("qnn.conv2d", [X, weight], "conv", input_scale=0.5, kernel_scale=0.25)
    value = call("qnn.requantize", [value], "conv", input_scale=0.125, output_scale=0.7, bound=10000)
    merged = merge_composites(Graph((X, weight), (value,)), quantized_patterns())
    assert ops(merged)[0] == "qnn.conv2d"
    assert names(merged) == ["vta.qnn_requantize"]


def test_two_layers_are_two_composites_with_numbers():
    first = quantized_layer(X, padded=True, name="a")
    graph = Graph((X,), (quantized_layer(first, padded=True, name="b"),))
    merged = merge_composites(graph, quantized_patterns())
    assert [node.attrs.body.name for node in merged.calls()] == ["vta.qnn_conv2d_0", "vta.qnn_conv2d_1"]


def test_found_nodes_may_be_read_outside():
    wide = call("cast", [X], "wide", dtype="int32")
    graph = Graph((X,), (int8_clip(wide, "narrow"), call("negative", [wide], "host")))
    root = graph.outputs[0]
    merged = merge_composites(graph, [Composite("mine.copy", lambda seen: [Found(root, (wide, root.inputs[0], root))])])
    assert sorted(ops(merged)) == ["call", "cast", "negative"]
    assert same_values(graph, merged, random_inputs(graph))
