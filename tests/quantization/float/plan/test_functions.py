"""Which values of a float graph are functions of one other."""

from __future__ import annotations

import numpy as np
import pytest

from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.quantization.float.plan.functions import functions_of

X = graph_input("x", (1, 4, 3, 3))
Y = graph_input("y", X.shape)


def number(value: float) -> Node:
    return constant(np.float32(value))


def found(*outputs: Node, excluded: tuple[Node, ...] = ()) -> list[tuple[Node, Node, int]]:
    functions = functions_of(Graph((X, Y), outputs), excluded).values()
    return [(function.root, function.result, len(function.nodes)) for function in functions]


def silu(value: Node) -> Node:
    return call("multiply", [value, call("sigmoid", [value], "s")], "m")


def test_as_much_as_there_is_belongs_to_one():
    end = call("multiply", [silu(call("add", [X, number(1)], "a")), number(2)], "end")
    assert [(root, result) for root, result, _ in found(end)] == [(X, end)]
    twice = silu(silu(X))
    assert [(root, result) for root, result, _ in found(twice)] == [(X, twice)]


def test_values_that_others_read_are_results_too():
    first = call("sigmoid", [X], "s")
    both = call("multiply", [first, Y], "product")
    second = call("tanh", [first], "t")
    assert {result for _, result, _ in found(both, second)} == {first, second}


def test_a_node_that_is_taken_may_be_the_root():
    taken = call("nn.relu", [X], "r")
    end = call("sigmoid", [taken], "s")
    assert [(root, result) for root, result, _ in found(end, excluded=(taken,))] == [(taken, end)]


@pytest.mark.parametrize(
    "value",
    [
        call("multiply", [call("add", [X, number(1)], "a"), number(2)], "m"),
        call("clip", [X], "c", a_min=0, a_max=6),
        call("multiply", [X, Y], "m"),
        call("multiply", [X, constant(np.ones((4, 1, 1), np.float32))], "m"),
    ],
)
def test_lines_and_functions_of_two_values_are_none(value):
    assert found(value) == []


def test_a_hard_swish_takes_what_is_done_to_it():
    swish = call("nn.hard_swish", [X], "h")
    end = call("add", [call("multiply", [swish, number(2)], "m"), number(-1)], "a")
    (function,) = functions_of(Graph((X,), (end,)), ()).values()
    assert (function.result, function.swish) == (end, (2.0, -1.0))
    shared = functions_of(Graph((X,), (end, swish)), ())
    assert [each.swish for each in shared.values()] == [(1.0, 0.0)]
