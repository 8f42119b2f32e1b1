"""Layers of which slices are read: a layer for each slice, of the same values."""

from __future__ import annotations

import numpy as np
import pytest

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.passes.split_layers import split_layers

ROWS, HEADS, DEPTH = 6, 2, 5


def _slice(value: Node, axis: int, first: int, last: int) -> Node:
    begin, end = [0] * len(value.shape), list(value.shape)
    begin[axis], end[axis] = first, last
    attrs = {"begin": tuple(begin), "end": tuple(end), "strides": (1,) * len(begin)}
    return call(ops.STRIDED_SLICE, [value], f"slice{first}", **attrs)


def _attention(ranges: list[tuple[int, int]], more_reads: bool = False, by_heads: bool = False) -> Graph:
    """A layer whose outputs are parts of heads: (rows, parts * heads * depth), moved to (parts, 1, heads, rows, depth)."""
    rng, parts = np.random.default_rng(0), 3
    data = graph_input("data", (ROWS, 7))
    weight = rng.standard_normal((parts * HEADS * DEPTH, 7)).astype(np.float32)
    layer = call(ops.DENSE, [data, constant(weight)], "qkv")
    value = call(ops.BIAS_ADD, [layer, constant(rng.standard_normal(len(weight)).astype(np.float32))], "qkv")
    value = call(ops.RESHAPE, [value], "apart", newshape=(1, ROWS, parts, HEADS, DEPTH))
    value = call(ops.TRANSPOSE, [value], "moved", axes=(2, 0, 3, 1, 4))
    found = [_slice(value, 2 if by_heads else 0, first, last) for first, last in ranges]
    return Graph((data,), tuple(found + [call(ops.RELU, [value], "whole")] * more_reads))


def _gates() -> Graph:
    """A layer of which channels are sliced as they are."""
    data = graph_input("data", (ROWS, 7))
    layer = call(ops.DENSE, [data, constant(np.ones((12, 7), np.float32))], "gates")
    return Graph((data,), (_slice(layer, 1, 0, 4), _slice(layer, 1, 4, 12)))


def _heads(moved: int) -> Graph:
    """Queries, keys and values as slices of features, the first `moved` of which become heads."""
    rng, parts = np.random.default_rng(0), 3
    data = graph_input("data", (ROWS, 7))
    weight = rng.standard_normal((parts * HEADS * DEPTH, 7)).astype(np.float32)
    layer = call(ops.DENSE, [data, constant(weight)], "qkv")
    value = call(ops.BIAS_ADD, [layer, constant(rng.standard_normal(len(weight)).astype(np.float32))], "qkv")
    value = call(ops.RESHAPE, [value], "apart", newshape=(1, ROWS, len(weight)))
    found = []
    for part in range(parts):
        cut = _slice(value, 2, part * HEADS * DEPTH, (part + 1) * HEADS * DEPTH)
        if part < moved:
            apart = call(ops.RESHAPE, [cut], "heads", newshape=(1, ROWS, HEADS, DEPTH))
            cut = call(ops.TRANSPOSE, [apart], "heads", axes=(0, 2, 1, 3))
        found.append(cut)
    return Graph((data,), tuple(found))


def _layers(graph: Graph) -> list[Node]:
    return [node for node in graph.calls() if node.op == ops.DENSE]


@pytest.mark.parametrize("graph", [_attention([(0, 1), (1, 2), (2, 3)]), _heads(3)], ids=["moved before", "moved after"])
def test_queries_keys_and_values_are_a_layer_each(graph):
    split = split_layers(graph)
    assert [node.shape for node in _layers(split)] == [(ROWS, HEADS * DEPTH)] * 3
    assert not any(node.op == ops.STRIDED_SLICE for node in split.calls())
    data = {"data": np.random.default_rng(1).standard_normal((ROWS, 7)).astype(np.float32)}
    for left, right in zip(evaluate(graph, data), evaluate(split, data), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "graph",
    [
        _attention([(0, 2), (1, 3)]),
        _attention([(0, 1)]),
        _attention([(0, 1), (1, 3)], more_reads=True),
        _attention([(0, 1), (1, 2)], by_heads=True),
        _gates(),
        _heads(2),
    ],
    ids=["overlap", "one", "read whole", "not the outermost part", "not moved", "not all moved"],
)
def test_other_slices_stay(graph):
    assert split_layers(graph) is graph
