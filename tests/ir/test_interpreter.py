from __future__ import annotations

import weakref

import numpy as np
import pytest

from vta.errors import GraphError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate, evaluate_all, walk


def example() -> Graph:
    x = graph_input("x", (2,))
    doubled = call("multiply", [x, constant(np.float32(2), "two")], "doubled")
    return Graph((x,), (call("add", [doubled, x], "sum"), doubled, x))


def test_outputs_come_in_order():
    tripled, doubled, same = evaluate(example(), {"x": np.float32([1, 2])})
    np.testing.assert_array_equal(tripled, [3, 6])
    np.testing.assert_array_equal(doubled, [2, 4])
    np.testing.assert_array_equal(same, [1, 2])


def test_every_node_is_observed():
    graph, seen = example(), {}
    evaluate(graph, {"x": np.float32([1, 2])}, seen.__setitem__)
    assert list(seen) == graph.nodes()
    everything = evaluate_all(graph, {"x": np.float32([1, 2])})
    assert all(np.array_equal(everything[node], seen[node]) for node in graph.nodes())


def test_a_long_chain_needs_no_recursion():
    x = node = graph_input("x", (1,), "int32")
    for _ in range(5000):
        node = call("add", [node, constant(np.ones(1, np.int32))])
    assert evaluate(Graph((x,), (node,)), {"x": np.zeros(1, np.int32)})[0].item() == 5000


def test_dead_values_are_let_go():
    x = node = graph_input("x", (4,))
    for _ in range(20):
        node = call("exp", [call("negative", [node])])
    values: list[weakref.ref] = []
    most = 0
    for _, value in walk(Graph((x,), (node,)), {"x": np.zeros(4, np.float32)}):
        values.append(weakref.ref(value))
        most = max(most, sum(reference() is not None for reference in values))
    assert most <= 4


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "input 'x' (float32[2]) of graph 'main' is missing"),
        ({"x": np.zeros(2, np.float32), "y": 1}, "'y' is no input of graph 'main'; its inputs are: x"),
        ({"x": np.zeros(3, np.float32)}, "input 'x' must be float32[2], got float32[3]"),
        ({"x": np.zeros(2)}, "input 'x' must be float32[2], got float64[2]"),
    ],
)
def test_wrong_inputs_are_named(inputs, message):
    with pytest.raises(GraphError) as error:
        evaluate(example(), inputs)
    assert message in str(error.value)


def test_input_that_the_graph_does_not_declare():
    x, y = graph_input("x", (2,)), graph_input("y", (2,))
    with pytest.raises(GraphError, match="input 'y' is used but is not among the inputs"):
        evaluate(Graph((x,), (call("add", [x, y]),)), {"x": np.zeros(2, np.float32)})


def test_an_input_that_is_nan_is_named_where_values_are_quantized():
    x = graph_input("x", (2,))
    graph = Graph((x,), (call("qnn.quantize", [x], "levels", scale=0.5),))
    with pytest.raises(GraphError, match=r"input 'x' is nan at \[1\]; expected numbers"):
        evaluate(graph, {"x": np.float32([1, np.nan])})
    assert evaluate(graph, {"x": np.float32([1, -np.inf])})[0].tolist() == [2, -128]
    assert np.isnan(evaluate(example(), {"x": np.float32([1, np.nan])})[2][1])
