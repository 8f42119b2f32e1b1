from __future__ import annotations

import numpy as np

from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.printer import call_numbers, print_graph

GOLDEN = """\
graph tiny(data: float32[1, 3, 8, 8]) {
  %0 = nn.conv2d(data, const float32[4, 3, 3, 3], padding=(1, 1, 1, 1)) : float32[1, 4, 8, 8]  # conv0
  %1 = nn.bias_add(%0, const float32[4]) : float32[1, 4, 8, 8]  # conv0
  %2 = nn.relu(%1) : float32[1, 4, 8, 8]  # relu0
  %3 = nn.max_pool2d(%2, pool_size=(2, 2), strides=(2, 2)) : float32[1, 4, 4, 4]  # pool0
  %4 = multiply(%3, float32(0.5)) : float32[1, 4, 4, 4]  # half
  %5 = mean(%4, axis=(2,)) : float32[1, 4, 4]  # mean0
  return %5, %2
}
"""


def tiny() -> Graph:
    data = graph_input("data", (1, 3, 8, 8))
    conv = call("nn.conv2d", [data, constant(np.ones((4, 3, 3, 3), np.float32), "w")], "conv0", padding=(1, 1, 1, 1))
    relu = call("nn.relu", [call("nn.bias_add", [conv, constant(np.ones(4, np.float32), "b")], "conv0")], "relu0")
    pool = call("nn.max_pool2d", [relu], "pool0", pool_size=(2, 2), strides=(2, 2))
    half = call("multiply", [pool, constant(np.float32(0.5))], "half")
    return Graph((data,), (call("mean", [half], "mean0", axis=(2,)), relu), "tiny")


def test_golden_text():
    assert print_graph(tiny()) == GOLDEN


def test_numbers_are_those_of_the_text():
    graph = tiny()
    numbers = call_numbers(graph)
    assert [numbers[node] for node in graph.calls()] == list(range(6))
    for node, number in numbers.items():
        assert f"%{number} = {node.op}(" in GOLDEN


def test_long_tuples_are_cut():
    x = graph_input("x", (1, 1, 1, 1, 1, 1, 1, 1, 1, 1))
    text = print_graph(Graph((x,), (call("transpose", [x], axes=tuple(range(10))),)))
    assert "axes=(0, 1, ... 9; 10 values)" in text


def test_output_that_is_an_input():
    x = graph_input("x", (1,))
    assert "  return x\n" in print_graph(Graph((x,), (x,)))
