"""A number that one side of a product is multiplied by goes behind the product, with the same results."""

from __future__ import annotations

import numpy as np
import pytest

from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.passes.folding.fold_factors_of_matmuls import fold_factors_of_matmuls


def _scores(op: str, factor: np.ndarray, read_twice: bool = False) -> Graph:
    left, right = graph_input("left", (2, 4, 3)), graph_input("right", (2, 4, 3))
    scaled = call(op, [left, constant(factor.astype(np.float32))], "scaled")
    turned = call(ops.TRANSPOSE, [right], "turned", axes=(0, 2, 1))
    product = call(ops.MATMUL, [call(ops.RESHAPE, [scaled], "same", newshape=(2, 4, 3)), turned], "product")
    return Graph((left, right), (product, call(ops.RELU, [scaled], "again")) if read_twice else (product,))


@pytest.mark.parametrize("op", [ops.MULTIPLY, ops.DIVIDE])
def test_a_factor_goes_behind_the_product(op):
    graph = _scores(op, np.array(0.25))
    moved = fold_factors_of_matmuls(graph)
    assert (moved.outputs[0].op, moved.outputs[0].inputs[0].op) == (op, ops.MATMUL)
    rng = np.random.default_rng(0)
    data = {name: rng.standard_normal((2, 4, 3)).astype(np.float32) for name in ("left", "right")}
    np.testing.assert_allclose(evaluate(moved, data)[0], evaluate(graph, data)[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("ops_of", "behind"), [((ops.MULTIPLY,) * 2, 1), ((ops.DIVIDE,) * 2, 1), ((ops.MULTIPLY, ops.DIVIDE), 2)]
)
def test_factors_of_both_sides_are_one_behind_the_product(ops_of, behind):
    """As attention is exported: queries and keys are each multiplied by a root of the scale."""
    sides = [graph_input(name, shape) for name, shape in (("left", (2, 4, 3)), ("right", (2, 3, 4)))]
    factors = [constant(np.float32(0.5)), constant(np.full((1, 1), 0.3, np.float32))]
    scaled = [call(op, list(pair), name) for op, name, *pair in zip(ops_of, ("one", "other"), sides, factors, strict=True)]
    graph = Graph(tuple(sides), (call(ops.MATMUL, scaled, "product"),))
    moved = fold_factors_of_matmuls(graph)
    assert [node.op for node in moved.calls()] == [ops.MATMUL, *dict.fromkeys(ops_of)]
    rng = np.random.default_rng(0)
    data = {node.name: rng.standard_normal(node.shape).astype(np.float32) for node in sides}
    np.testing.assert_allclose(evaluate(moved, data)[0], evaluate(graph, data)[0], rtol=1e-5)


@pytest.mark.parametrize("graph", [_scores(ops.MULTIPLY, np.ones(3)), _scores(ops.MULTIPLY, np.array(2.0), read_twice=True)])
def test_others_stay(graph):
    assert fold_factors_of_matmuls(graph).outputs == graph.outputs
