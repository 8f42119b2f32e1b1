"""Chains of reshapes and transpositions as one move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.ir import names as ops
from vta.ir.graph import Graph, call, graph_input
from vta.ir.interpreter import evaluate
from vta.passes.axis_moves import AxisMove, move_of

SHAPES = [(2, 3, 20, 2, 3), (720,), (6, 120), (6, 20, 6), (2, 3, 1, 20, 6), (24, 30), (1, 6, 4, 30), (10, 72)]


@st.composite
def chains(draw):
    """A node after some reshapes and transpositions of an input."""
    node = graph_input("x", draw(st.sampled_from(SHAPES)), "int8")
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            node = call(ops.RESHAPE, [node], newshape=draw(st.sampled_from(SHAPES)), name="reshape")
        else:
            node = call(ops.TRANSPOSE, [node], axes=tuple(draw(st.permutations(range(len(node.shape))))), name="transpose")
    return node


@given(chains())
@settings(max_examples=80, deadline=None)
def test_chains_are_one_move(node):
    steps, source = [], node
    while source.is_call:
        steps.append(move_of(source))
        source = source.inputs[0]
    move = AxisMove.reshape(source.shape, source.shape)
    for step in reversed(steps):
        move = None if move is None or step is None else move.then(step)
    if move is None:
        return
    values = np.arange(720).astype(np.int8).reshape(source.shape)
    (wanted,) = evaluate(Graph((source,), (node,)), {"x": values})
    np.testing.assert_array_equal(move.applied(values), wanted)
    np.testing.assert_array_equal(move.inverse.applied(wanted), values)
    moved = move.moved(source, "moved")
    np.testing.assert_array_equal(evaluate(Graph((source,), (moved,)), {"x": values})[0], wanted)


def test_moves_that_undo_each_other_are_none():
    there = AxisMove.transposed((1, 20, 2, 16), (0, 2, 3, 1))
    back = there.then(there.inverse)
    assert back is not None
    assert back.is_reshape
    node = graph_input("x", (1, 20, 2, 16), "int8")
    assert back.moved(node, "x") is node


@pytest.mark.parametrize(("first", "second"), [((4, 6), (4, 6)), ((2, 9), (2, 9))])
def test_axes_that_cut_across_each_other(first: tuple, second: tuple):
    assert AxisMove.transposed(first, (1, 0)).then(AxisMove.transposed(second, (1, 0))) is None


def test_other_operators_move_nothing():
    assert move_of(call(ops.RELU, [graph_input("x", (2, 3), "int8")], "relu")) is None
