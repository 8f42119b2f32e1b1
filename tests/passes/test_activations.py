"""Activations in every form in which networks write them out become one operator, with the same results."""

from __future__ import annotations

import numpy as np
import pytest

from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.passes.activations import name_activations

X = graph_input("x", (2, 4, 3, 5))


def number(value: float) -> Node:
    return constant(np.float32(value))


def clip(value: Node, low: float, high: float) -> Node:
    return call("clip", [value], "c", a_min=low, a_max=high)


def op(name: str, *inputs: Node, **attributes: float) -> Node:
    return call(name, inputs, "layer", **attributes)


def shifted(value: Node) -> Node:
    return op("add", value, number(3))


RECTIFIED = op("nn.relu", X)
HARD_SWISH = {
    "cut, times x, over 6": op("divide", op("multiply", X, clip(shifted(X), 0, 6)), number(6)),
    "cut over 6, times x": op("multiply", op("divide", clip(shifted(X), 0, 6), number(6)), X),
    "a sixth of x first": op("multiply", op("multiply", X, number(1 / 6)), clip(shifted(X), 0, 6)),
    "rectified, then the minimum": op(
        "multiply", X, op("divide", op("minimum", op("nn.relu", shifted(X)), number(6)), number(6))
    ),
    "hard sigmoid": op("multiply", X, op("nn.hard_sigmoid", X, alpha=1 / 6, beta=0.5)),
    "times a sixth at the end": op("multiply", number(1 / 6), op("multiply", clip(shifted(X), 0, 6), X)),
    "of a rectified value": op("divide", op("multiply", RECTIFIED, clip(shifted(RECTIFIED), 0, 6)), number(6)),
}


def named(output: Node) -> list[str]:
    """The operators that `output` becomes, whose results are compared."""
    graph = Graph((X,), (output,))
    found = name_activations(graph)
    inputs = {"x": np.random.default_rng(0).normal(0, 3, X.shape).astype(np.float32)}
    np.testing.assert_allclose(evaluate(found, inputs)[0], evaluate(graph, inputs)[0], rtol=1e-5, atol=1e-5)
    return [node.op for node in found.calls()]


@pytest.mark.parametrize("form", HARD_SWISH)
def test_hard_swish(form):
    assert [name for name in named(HARD_SWISH[form]) if name != "nn.relu"] == ["nn.hard_swish"]


@pytest.mark.parametrize(
    "output",
    [
        op("divide", clip(shifted(X), 0, 6), number(6)),
        op("multiply", op("minimum", op("maximum", shifted(X), number(0)), number(6)), number(1 / 6)),
        clip(op("add", op("multiply", X, number(0.2)), number(0.5)), 0, 1),
        op("subtract", number(1), clip(op("subtract", number(0.5), op("multiply", X, number(0.25))), 0, 1)),
    ],
)
def test_hard_sigmoid(output):
    assert named(output) == ["nn.hard_sigmoid"]


def test_leaky_relu_and_bounds():
    assert named(op("maximum", X, op("multiply", X, number(0.1)))) == ["nn.leaky_relu"]
    assert named(op("minimum", op("multiply", number(1.5), X), X)) == ["nn.leaky_relu"]
    assert named(op("maximum", op("nn.leaky_relu", X, alpha=0.2), number(-0.4))) == ["nn.leaky_relu", "clip"]


@pytest.mark.parametrize(
    "output",
    [
        op("divide", op("multiply", X, clip(shifted(X), 0, 5)), number(6)),
        op("divide", op("multiply", X, clip(op("add", X, number(2)), 0, 6)), number(6)),
        op("multiply", X, clip(shifted(X), 0, 6)),
        op("multiply", X, X),
        clip(X, 0, 1),
    ],
)
def test_what_is_something_else_stays(output):
    assert "nn.hard_swish" not in named(output)
    assert "nn.hard_sigmoid" not in named(output)


def test_values_of_quantized_networks_are_left_alone():
    x = graph_input("q", (1, 4), "int8")
    real = call("qnn.dequantize", [x], "real", scale=0.1)
    graph = Graph((x,), (op("divide", op("multiply", real, clip(shifted(real), 0, 6)), number(6)),))
    assert [node.op for node in name_activations(graph).calls()] == [node.op for node in graph.calls()]
