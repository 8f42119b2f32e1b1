"""Softmaxes between transpositions: along another axis without them, of the same values."""

from __future__ import annotations

import numpy as np
import pytest

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.passes.folding.fold_softmax_moves import fold_softmax_moves

SCORES = graph_input("scores", (1, 2, 5, 4))
TO_IMAGE, BACK = (0, 3, 1, 2), (0, 2, 3, 1)


def floats(*shape: int) -> Node:
    return constant(np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32))


def turned(value: Node, axes: tuple[int, ...]) -> Node:
    return call(ops.TRANSPOSE, [value], "turned", axes=axes)


def masked(value: Node, axis: int = 1) -> Node:
    """A factor, a bias and a mask on scores as an image, and the softmax along its channels."""
    scaled = call(ops.MULTIPLY, [value, constant(np.float32(0.3))], "scaled")
    biased = call(ops.ADD, [floats(4, 2, 5), scaled], "biased")
    later = constant(np.arange(4)[:, None, None] > np.arange(5))
    chosen = call(ops.WHERE, [later, constant(np.float32(-1e9)), biased], "masked")
    return call(ops.SOFTMAX, [chosen], "softmax", axis=axis)


@pytest.mark.parametrize("axis", [1, -3, 3, 0])
def test_without_transpositions_values_stay(axis: int):
    graph = Graph((SCORES,), (turned(masked(turned(SCORES, TO_IMAGE), axis), BACK),))
    straight = fold_softmax_moves(graph)
    assert not [node for node in straight.calls() if node.op == ops.TRANSPOSE]
    values = {"scores": np.random.default_rng(1).standard_normal(SCORES.shape).astype(np.float32)}
    np.testing.assert_allclose(evaluate(straight, values)[0], evaluate(graph, values)[0], rtol=1e-6)


def read_twice() -> Graph:
    softmax = masked(turned(SCORES, TO_IMAGE))
    return Graph((SCORES,), (turned(softmax, BACK), softmax))


def of_two_values() -> Graph:
    image = turned(SCORES, TO_IMAGE)
    both = call(ops.ADD, [image, turned(call(ops.EXP, [SCORES], "exp"), TO_IMAGE)], "sum")
    return Graph((SCORES,), (turned(call(ops.SOFTMAX, [both], "softmax", axis=1), BACK),))


@pytest.mark.parametrize(
    "graph",
    [
        read_twice(),
        of_two_values(),
        Graph((SCORES,), (turned(masked(turned(SCORES, TO_IMAGE)), (0, 1, 3, 2)),)),
        Graph((SCORES,), (turned(call(ops.SOFTMAX, [call(ops.EXP, [turned(SCORES, TO_IMAGE)], "exp")], "s", axis=1), BACK),)),
        Graph((SCORES,), (turned(call(ops.SOFTMAX, [SCORES], "softmax", axis=1), BACK),)),
    ],
    ids=["read twice", "of two values", "not undone", "a function before", "not turned before"],
)
def test_others_stay(graph: Graph):
    assert fold_softmax_moves(graph) is graph
