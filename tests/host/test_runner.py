"""Large outputs lie in memory that is used again, but never while somebody has them."""

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, call, graph_input
from vta.runtime.host_graph import host_graph

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
