"""Matrix products on images compute what they are to, and lie where VTA can multiply by them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.attention_graphs import Attention, attention_graph
from tests.integer_graphs import BASELINE, BATCH_2, NARROW
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.partition.rewrites.matrices_to_images import matrices_to_images


def bytes_of(shape: tuple, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def require_same(graph: Graph) -> Graph:
    """The rewritten graph, which computes the same."""
    values = {node.name: bytes_of(node.shape) for node in graph.inputs}
    made = matrices_to_images(graph, BASELINE)
    for wanted, got in zip(evaluate(graph, values), evaluate(made, values), strict=True):
        np.testing.assert_array_equal(got, wanted)
    return made


ZEROS = st.sampled_from([0, 0, 3, -128, 127])


SIZES = {"tokens": st.integers(2, 40), "heads": st.integers(1, 3), "head": st.sampled_from([4, 16, 20, 32])}


@given(st.builds(Attention, **SIZES, zeros=st.tuples(ZEROS, ZEROS), softmax=st.booleans()))
@settings(max_examples=25, deadline=None)
def test_any_sizes(of: Attention):
    made = require_same(attention_graph(of))
    kinds = [node.op for node in made.calls()]
    assert (kinds.count(ops.MATMUL2D), kinds.count(ops.DENSE), kinds.count(ops.QNN_MATMUL)) == (2, 0, 0)


def test_whole_blocks_are_not_moved():
    """Between the layers of an attention nothing is left but the transposition of the values, and the softmax."""
    made = require_same(attention_graph(Attention(tokens=32, head=16)))
    inner = [node for node in made.calls() if node.name not in ("x", "y")]
    moved = [
        node.op for node in inner if node.op in (ops.TRANSPOSE, ops.TRANSPOSE2D, ops.STRIDED_SLICE, ops.PAD, ops.CONCATENATE)
    ]
    assert moved == [ops.TRANSPOSE2D]


def test_a_constant_matrix_becomes_weights():
    x, y = graph_input("x", (2, 5, 8), "int8"), graph_input("y", (2, 8, 6), "int8")
    product = call(ops.QNN_MATMUL, [x, y], "tensors", rhs_zero_point=4)
    weighed = call(ops.QNN_MATMUL, [x, constant(bytes_of((8, 7)))], "weights", lhs_zero_point=-9, rhs_zero_point=100)
    made = require_same(Graph((x, y), (product, weighed)))
    assert [node.op for node in made.calls() if node.name == "weights"].count(ops.CONV2D) == 1


@pytest.mark.parametrize("hw", [BATCH_2, NARROW], ids=["batch", "narrow"])
def test_configs_that_cannot(hw):
    graph = attention_graph(Attention())
    assert matrices_to_images(graph, hw) is graph


def test_graphs_without_products_of_tensors_stay():
    x = graph_input("x", (4, 8), "int8")
    graph = Graph((x,), (call(ops.DENSE, [x, constant(bytes_of((8, 8)))], "dense"),))
    assert matrices_to_images(graph, BASELINE) is graph


def test_products_that_broadcast_stay_on_the_host():
    x, y = graph_input("x", (3, 4, 8), "int8"), graph_input("y", (8, 5), "int8")
    graph = Graph((x, y), (call(ops.QNN_MATMUL, [x, y], "product"),))
    assert matrices_to_images(graph, replace(BASELINE)) is graph
