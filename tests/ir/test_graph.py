from __future__ import annotations

import numpy as np
import pytest

from vta.errors import GraphError
from vta.ir.graph import Graph, attrs_of, call, constant, graph_input, rewrite
from vta.ir.ops.nn.activation import ClipAttributes
from vta.ir.ops.shape import PadAttributes


def chain(length: int) -> Graph:
    x = node = graph_input("x", (1, 4))
    for i in range(length):
        node = call("nn.relu", [node], f"relu{i}")
    return Graph((x,), (node,))


def test_topological_order_of_a_long_chain_needs_no_recursion():
    graph = chain(5000)
    assert [node.name for node in graph.calls()] == [f"relu{i}" for i in range(5000)]


def test_inputs_come_before_their_users_and_unused_inputs_stay():
    x, unused = graph_input("x", (2,)), graph_input("unused", (2,))
    total = call("add", [call("exp", [x]), call("log", [x])])
    nodes = Graph((unused, x), (total,)).nodes()
    assert [node.op for node in nodes] == ["input", "input", "exp", "log", "add"]


def test_users_count_a_reading_node_once():
    x = graph_input("x", (2,))
    square = call("multiply", [x, x])
    assert Graph((x,), (square,)).users() == {x: [square], square: []}


def test_constants_cannot_be_written():
    node = constant(np.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        node.value[0] = 1


def test_rewrite_infers_types_again():
    x = graph_input("x", (1, 4))
    graph = Graph((x,), (call("exp", [call("nn.relu", [x], "r")], "e"),))
    wider = rewrite(graph, lambda n: call("concatenate", [n, n], n.name) if n.op == "nn.relu" else n)
    assert wider.outputs[0].shape == (1, 8)
    assert rewrite(graph, lambda n: n).outputs == graph.outputs


def test_undeclared_operator():
    with pytest.raises(GraphError, match=r"operator 'nn\.magic' is not declared"):
        call("nn.magic", [])


def test_a_constant_takes_a_read_only_array_as_it_is_and_copies_what_may_change():
    own = np.arange(4)
    assert constant(own).value is not own
    assert own.flags.writeable
    own.setflags(write=False)
    assert constant(own).value is own
    view = np.arange(4)[1:]
    view.setflags(write=False)
    assert constant(view).value is not view, "what it is a view of may change"


def test_attributes_have_the_type_of_their_operator():
    clip = call("clip", [graph_input("x", (2,))], "layer", a_min=0, a_max=6)
    assert attrs_of(clip, ClipAttributes).a_max == 6
    with pytest.raises(GraphError, match="layer: clip has ClipAttributes, not PadAttributes"):
        attrs_of(clip, PadAttributes)


def test_the_nodes_of_a_graph_are_a_list_of_their_own():
    graph = chain(3)
    graph.nodes().clear()
    assert len(graph.nodes()) == 4
