"""Outputs lie in memory that is used again, but never while somebody has them."""

import numpy as np
import pytest

from vta.ir import names as ops
from vta.ir.graph import Graph, call, graph_input
from vta.runtime.host_part.host_graph import host_graph

X = graph_input("x", (4, 100, 300))
NET = host_graph(Graph((X,), (call(ops.NEGATIVE, [X]),)))


def run(value):
    return NET.run({"x": np.full(X.shape, value, np.float32)})[0]


def test_what_is_kept_stays():
    kept = [run(float(value)) for value in range(4)]
    assert [array.flat[-1] for array in kept] == [0.0, -1.0, -2.0, -3.0]


def test_a_part_keeps_the_whole():
    row = run(1.0)[3, 99]
    corner = run(2.0).reshape(-1).view(np.int32)[-1:]
    shared = memoryview(run(3.0))
    for value in (4.0, 5.0):
        run(value)
    assert (row == -1.0).all()
    assert corner.view(np.float32) == -2.0
    assert shared[0, 0, 0] == -3.0


def test_memory_is_used_again():
    place = run(1.0).__array_interface__["data"]
    assert run(2.0).__array_interface__["data"] == place


SMALL = graph_input("x", (3, 4))
NEGATED = call(ops.NEGATIVE, [SMALL])
SMALL_NET = host_graph(Graph((SMALL,), (NEGATED, call(ops.RESHAPE, [NEGATED], newshape=(12,)))))


def test_small_outputs_that_are_kept_stay():
    kept = [SMALL_NET.run({"x": np.full((3, 4), value, np.float32)}) for value in (1.0, 2.0, 3.0)]
    assert [(outputs[0][0, 0], outputs[1][-1]) for outputs in kept] == [(-1.0, -1.0), (-2.0, -2.0), (-3.0, -3.0)]


@pytest.mark.parametrize("order", ["C", "F"])
def test_inputs_may_lie_in_any_order(order):
    value = np.asarray(np.arange(24, dtype=np.float32).reshape(3, 8)[:, ::2], order=order)
    np.testing.assert_array_equal(SMALL_NET.run({"x": value})[0], -value)


def test_another_shape_of_an_input_that_does_not_lie_in_order():
    flat = host_graph(Graph((SMALL,), (call(ops.RESHAPE, [SMALL], newshape=(12,)),)))
    value = np.arange(12, dtype=np.float32).reshape(4, 3).T
    np.testing.assert_array_equal(flat.run({"x": value})[0], value.reshape(12))
