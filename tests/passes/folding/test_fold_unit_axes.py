"""Reshapes that add or drop axes of one end behind what is done to each value; results stay."""

from __future__ import annotations

import numpy as np
import pytest

from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.passes.canonicalize import canonicalize
from vta.passes.folding.fold_unit_axes import fold_unit_axes

RNG = np.random.default_rng(0)


def normal(*shape: int) -> Node:
    return constant(RNG.standard_normal(shape).astype(np.float32))


def reshaped(value: Node, *shape: int) -> Node:
    return call("reshape", [value], "r", newshape=shape)


def operators(graph: Graph) -> list[str]:
    return [node.op for node in graph.calls()]


def test_a_bias_joins_its_dense_layer_and_the_layers_meet(same_results):
    x = graph_input("x", (6, 4))
    first = call("add", [reshaped(call("nn.dense", [x, normal(5, 4)], "a"), 1, 6, 5), normal(5)], "a")
    second = call("nn.dense", [reshaped(call("nn.relu", [first], "relu"), 6, 5), normal(3, 5)], "b")
    graph = Graph((x,), (second,))
    same_results(graph, folded := canonicalize(graph))
    assert operators(folded) == ["nn.dense", "nn.bias_add", "nn.relu", "nn.dense"]


def test_sums_and_means_of_rows(same_results):
    x, y = graph_input("x", (6, 4)), graph_input("y", (1, 6, 4))
    total = call("add", [reshaped(x, 1, 6, 4), y], "sum")
    centered = call("subtract", [total, call("mean", [total], "mean", axis=(2,), keepdims=True)], "centered")
    graph = Graph((x, y), (centered,))
    same_results(graph, folded := fold_unit_axes(graph))
    assert folded.outputs[0].op == "reshape"
    assert {len(node.shape) for node in folded.calls() if node.op in ("add", "mean", "subtract")} == {2}


@pytest.mark.parametrize("between", ["nn.relu", "sigmoid", "sum"])
def test_one_dimensional_layers_meet(same_results, between):
    x = graph_input("x", (2, 4, 1, 7))
    line = reshaped(call("nn.conv2d", [x, normal(4, 4, 1, 3)], "conv"), 2, 4, 5)
    value = call("add", [line, line], "sum") if between == "sum" else call(between, [line], "act")
    graph = Graph((x,), (call("nn.conv2d", [reshaped(value, 2, 4, 1, 5), normal(4, 4, 1, 1)], "last"),))
    same_results(graph, folded := canonicalize(graph))
    assert "reshape" not in operators(folded)


def test_what_moves_values_or_has_a_constant_for_each_place_stays(same_results):
    x = graph_input("x", (6, 4))
    for value in (reshaped(x, 4, 6), call("add", [reshaped(x, 1, 6, 4, 1), normal(1, 6, 1, 1)], "a")):
        graph = Graph((x,), (call("nn.relu", [value], "relu"),))
        same_results(graph, fold_unit_axes(graph))
    assert operators(fold_unit_axes(Graph((x,), (call("nn.relu", [reshaped(x, 4, 6)], "relu"),)))) == ["reshape", "nn.relu"]
