from __future__ import annotations

import numpy as np
import pytest

from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.passes.folding.fold_scales import fold_factors, fold_terms

RNG = np.random.default_rng(0)
X = graph_input("x", (1, 4, 5, 5))


def normal(*shape: int) -> Node:
    return constant(RNG.standard_normal(shape).astype(np.float32))


def conv() -> Node:
    return call("nn.conv2d", [X, normal(6, 4, 3, 3)], "conv")


def ops(graph: Graph) -> list[tuple[str, str]]:
    return [(n.op, n.name) for n in graph.calls()]


@pytest.mark.parametrize("shape", [(6, 1, 1), (1, 6, 1, 1), (), (1,), (1, 1, 1, 1)])
def test_terms_become_the_bias(same_results, shape):
    for op, inputs in [
        ("add", (conv(), normal(*shape))),
        ("add", (normal(*shape), conv())),
        ("subtract", (conv(), normal(*shape))),
    ]:
        graph = Graph((X,), (call(op, inputs, "term"),))
        folded = fold_terms(graph)
        assert ops(folded) == [("nn.conv2d", "conv"), ("nn.bias_add", "term")]
        same_results(graph, folded)


def test_terms_join_the_bias(same_results):
    total = call(
        "nn.bias_add", [call("add", [call("nn.bias_add", [conv(), normal(6)], "conv"), normal(6, 1, 1)], "a"), normal(6)], "b"
    )
    graph = Graph((X,), (total,))
    folded = fold_terms(graph)
    assert ops(folded) == [("nn.conv2d", "conv"), ("nn.bias_add", "b")]
    same_results(graph, folded)


def test_dense(same_results):
    x = graph_input("x", (1, 4))
    for shape in [(3,), (1, 3)]:
        node = call("add", [call("multiply", [call("nn.dense", [x, normal(3, 4)], "fc"), normal(*shape)]), normal(*shape)], "fc")
        graph = Graph((x,), (node,))
        folded = fold_terms(fold_factors(graph))
        assert ops(folded) == [("nn.dense", "fc"), ("nn.bias_add", "fc")]
        same_results(graph, folded)


def test_factors_go_into_weight_and_bias(same_results):
    for node in [conv(), call("nn.bias_add", [conv(), normal(6)], "conv")]:
        graph = Graph((X,), (call("multiply", [normal(6, 1, 1), node], "scale"),))
        folded = fold_factors(graph)
        assert [n.op for n in folded.calls()] == [n.op for n in graph.calls()][:-1]
        same_results(graph, folded)


@pytest.mark.parametrize("shape", [(3, 3), (6, 3, 1), (2, 6, 3, 3)])
def test_constants_that_vary_within_a_channel_stay(shape):
    for op in ["add", "multiply"]:
        graph = Graph((X,), (call(op, [conv(), normal(*shape)]),))
        assert fold_terms(fold_factors(graph)).outputs == graph.outputs


def test_shared_layers_keep_their_weight(same_results):
    node = conv()
    graph = Graph((X,), (call("multiply", [node, normal(6, 1, 1)]), node))
    assert fold_factors(graph).outputs == graph.outputs


def test_integers_stay():
    x = graph_input("x", (1, 4, 5, 5), "int8")
    acc = call("nn.conv2d", [x, constant(np.ones((6, 4, 3, 3), np.int8))])
    graph = Graph((x,), (call("add", [acc, constant(np.ones((1, 6, 1, 1), np.int32))]),))
    assert fold_terms(fold_factors(graph)).outputs == graph.outputs
