"""Inner graphs: what calls compute, what is refused, cutting out and putting back."""

import numpy as np
import pytest

from vta.errors import GraphError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.ir.transforms.functions import calls_of_functions, cut_out, inline_functions

X, Y = (graph_input(name, (1, 4), "int8") for name in "xy")
P, Q = (graph_input(name, (1, 4), "int8") for name in ("p0", "p1"))
DIFFERENCE = Graph((P, Q), (call("subtract", [P, Q], "minus"), call("nn.relu", [P], "relu")), "difference")
VALUES = {"x": np.array([[1, -2, 3, -4]], np.int8), "y": np.array([[4, 3, 2, 1]], np.int8)}


def test_a_call_gives_one_output_of_its_graph():
    graph = Graph((X, Y), tuple(call("call", [X, Y], "f", body=DIFFERENCE, output=index) for index in (0, 1)))
    minus, relu = evaluate(graph, VALUES)
    assert minus.tolist() == [[-3, -5, 1, -5]]
    assert relu.tolist() == [[1, 0, 3, 0]]


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([X], {}, r"difference takes int8\[1, 4\], int8\[1, 4\]"),
        ([X, graph_input("z", (1, 4), "int32")], {}, r"difference takes int8\[1, 4\], int8\[1, 4\]"),
        ([X, Y], {"output": 2}, "output must be below 2, the number of outputs of difference, got 2"),
        ([X, Y], {"body": 3}, "body must be a graph, got 3"),
        ([X, X], {"body": Graph((P, P), (P,), "twice")}, "the inputs of twice must have different names, got p0, p0"),
    ],
)
def test_what_a_call_refuses(inputs, attributes, message):
    with pytest.raises(GraphError, match=message):
        call("call", inputs, "f", **{"body": DIFFERENCE, **attributes})


def test_cutting_out_and_putting_back():
    one = constant(np.int8(1), "one")
    first = call("add", [X, one], "first")
    second = call("subtract", [first, Y], "second")
    graph = Graph((X, Y), (second,))
    body, sources = cut_out([first, second], [second], "body")
    assert sources == (X, Y)
    assert [node.name for node in body.inputs] == ["p0", "p1"]
    assert one in body.nodes()
    again = Graph((X, Y), (call("call", sources, "second", body=body),))
    assert np.array_equal(evaluate(again, VALUES)[0], evaluate(graph, VALUES)[0])
    assert [node.name for node in inline_functions(again).calls()] == ["first", "second"]


def test_only_chosen_calls_are_put_back():
    graph = Graph((X, Y), (call("call", [X, Y], "f", body=DIFFERENCE, target="dsp"),))
    assert inline_functions(graph, lambda attrs: not attrs.target).outputs == graph.outputs
    assert not list(calls_of_functions(inline_functions(graph)))


def test_a_call_takes_what_is_no_number_from_the_graph_around_it():
    data, inner = graph_input("x", (1, 2)), graph_input("p", (1, 2))
    body = Graph(
        (inner,), (call("where", [call("equal", [inner, inner]), inner, constant(np.zeros((1, 2), np.float32))]),), "kept"
    )
    graph = Graph((data,), (call("call", [call("divide", [data, data])], "f", body=body),))
    assert evaluate(graph, {"x": np.float32([[0, 2]])})[0].tolist() == [[0, 1]]
