from __future__ import annotations

import numpy as np
import pytest

from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.passes.folding.fold_batch_norm import fold_batch_norm

RNG = np.random.default_rng(0)


def normal(*shape: int) -> Node:
    return constant(RNG.standard_normal(shape).astype(np.float32))


def batch_norm(x: Node, name: str = "bn", **attributes) -> Node:
    channels = x.shape[attributes.get("axis", 1)]
    var = constant(RNG.uniform(0.2, 2, channels).astype(np.float32))
    return call("nn.batch_norm", [x, normal(channels), normal(channels), normal(channels), var], name, **attributes)


def layer(kind: str) -> tuple[Node, Node]:
    if kind == "dense":
        x = graph_input("x", (2, 4))
        return x, call("nn.dense", [x, normal(6, 4)], kind)
    x = graph_input("x", (1, 4, 5, 5))
    if kind == "conv":
        return x, call("nn.conv2d", [x, normal(6, 4, 3, 3)], kind, padding=(1, 1, 1, 1))
    if kind == "grouped":
        return x, call("nn.conv2d", [x, normal(6, 2, 3, 3)], kind, groups=2)
    return x, call("nn.conv2d_transpose", [x, normal(4, 3, 2, 2)], kind, strides=(2, 2), groups=2)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("kind", ["conv", "grouped", "transposed", "dense"])
def test_goes_into_the_layer_before(same_results, kind, biased):
    x, node = layer(kind)
    if biased:
        node = call("nn.bias_add", [node, normal(6)], kind)
    graph = Graph((x,), (call("nn.relu", [batch_norm(node, epsilon=1e-3)], "relu"),))
    folded = fold_batch_norm(graph)
    assert [(n.op.split(".")[1], n.name) for n in folded.calls()] == [
        (node.op.split(".")[1] if not biased else node.inputs[0].op.split(".")[1], kind),
        ("bias_add", "bn"),
        ("relu", "relu"),
    ]
    same_results(graph, folded)


def test_becomes_arithmetic_before_an_activation(same_results):
    x = graph_input("x", (1, 4, 5, 5))
    conv = call("nn.conv2d", [call("nn.relu", [batch_norm(x)]), normal(6, 4, 3, 3)], "conv")
    graph = Graph((x,), (conv,))
    folded = fold_batch_norm(graph)
    assert [(n.op, n.name) for n in folded.calls()][:2] == [("multiply", "bn"), ("add", "bn")]
    assert folded.calls()[0].inputs[1].shape == (1, 4, 1, 1)
    same_results(graph, folded)


def test_layer_that_others_read_keeps_its_weight(same_results):
    for kind in ["conv", "dense"]:
        x, node = layer(kind)
        graph = Graph((x,), (batch_norm(node, "a"), batch_norm(node, "b"), node))
        folded = fold_batch_norm(graph)
        assert folded.outputs[2] is node
        assert [n.op for n in folded.calls()].count(node.op) == 1
        same_results(graph, folded)


def test_bias_that_others_read_keeps_the_weight(same_results):
    x, node = layer("conv")
    total = call("nn.bias_add", [node, normal(6)], "conv")
    graph = Graph((x,), (batch_norm(total), total))
    folded = fold_batch_norm(graph)
    assert folded.outputs[1] is total
    same_results(graph, folded)


def test_two_in_a_row(same_results):
    x, node = layer("conv")
    graph = Graph((x,), (batch_norm(batch_norm(node, "a"), "b"),))
    folded = fold_batch_norm(graph)
    assert [(n.op, n.name) for n in folded.calls()] == [("nn.conv2d", "conv"), ("nn.bias_add", "b")]
    same_results(graph, folded)


def test_other_axes_stay():
    x = graph_input("x", (1, 4, 5, 5))
    graph = Graph((x,), (batch_norm(x, axis=3),))
    assert fold_batch_norm(graph).outputs == graph.outputs
