from __future__ import annotations

import numpy as np

from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.printer import print_graph
from vta.passes.canonicalize import canonicalize

RNG = np.random.default_rng(0)

GOLDEN = """\
graph net(x: float32[1, 3, 8, 8]) {
  %0 = nn.conv2d(x, const float32[4, 3, 3, 3], padding=(1, 1, 1, 1)) : float32[1, 4, 8, 8]  # conv0
  %1 = nn.bias_add(%0, const float32[4]) : float32[1, 4, 8, 8]  # offset
  %2 = multiply(%1, const float32[1, 4, 1, 1]) : float32[1, 4, 8, 8]  # pre
  %3 = add(%2, const float32[1, 4, 1, 1]) : float32[1, 4, 8, 8]  # pre
  %4 = nn.relu(%3) : float32[1, 4, 8, 8]  # relu
  %5 = nn.conv2d(%4, const float32[4, 4, 1, 1]) : float32[1, 4, 8, 8]  # conv1
  %6 = nn.bias_add(%5, const float32[4]) : float32[1, 4, 8, 8]  # bn1
  %7 = add(%6, %1) : float32[1, 4, 8, 8]  # sum
  return %7
}
"""


def normal(*shape: int) -> Node:
    return constant(RNG.standard_normal(shape).astype(np.float32))


def batch_norm(x: Node, name: str) -> Node:
    var = constant(RNG.uniform(0.2, 2, x.shape[1]).astype(np.float32))
    return call("nn.batch_norm", [x, normal(x.shape[1]), normal(x.shape[1]), normal(x.shape[1]), var], name)


def residual() -> Graph:
    """A block as in ResNet v2, written in roundabout ways."""
    x = graph_input("x", (1, 3, 8, 8))
    padded = call("nn.pad", [x], "pad", pad_width=((0, 0), (0, 0), (1, 1), (1, 1)))
    weight = call("transpose", [normal(3, 3, 3, 4)], "hwio", axes=(3, 2, 0, 1))
    first = batch_norm(call("nn.conv2d", [padded, weight], "conv0"), "bn0")
    scaled = call("multiply", [first, normal(4, 1, 1)], "scale")
    offset = call("add", [scaled, call("exp", [normal(1, 4, 1, 1)])], "offset")
    same = call("reshape", [call("multiply", [offset, constant(np.float32(1))])], newshape=(0, 4, 8, -1))
    active = call("nn.relu", [batch_norm(same, "pre")], "relu")
    second = batch_norm(call("nn.conv2d", [active, normal(4, 4, 1, 1)], "conv1"), "bn1")
    return Graph((x,), (call("add", [second, same], "sum"),), "net")


def test_residual_block(same_results):
    graph = residual()
    simple = canonicalize(graph)
    assert print_graph(simple) == GOLDEN
    same_results(graph, simple)


def test_again_changes_nothing():
    simple = canonicalize(residual())
    assert canonicalize(simple).outputs == simple.outputs


def test_chain_of_many_layers_needs_no_recursion(same_results):
    x = node = graph_input("x", (1, 1, 2, 2))
    weight = constant(np.ones((1, 1, 1, 1), np.float32), "w")
    for i in range(1000):
        node = call("nn.relu", [batch_norm(call("nn.conv2d", [node, weight], f"conv{i}"), f"bn{i}")], f"relu{i}")
    simple = canonicalize(Graph((x,), (node,)))
    assert len(simple.calls()) == 3000


def test_passes_that_are_left_out_would_change_nothing(monkeypatch):
    """Each says which operators it needs; here it is asked of graphs that lack them."""
    x = graph_input("x", (1, 3, 8, 8))
    data = call("qnn.quantize", [x], "q", scale=0.5)
    for node in (
        x,
        call("sigmoid", [x]),
        call("nn.conv2d", [x, normal(4, 3, 1, 1)]),
        call("reshape", [x], newshape=(3, 64)),
        data,
    ):
        graph = Graph((x,), (node,))
        expected = print_graph(canonicalize(graph))
        with monkeypatch.context() as patched:
            patched.setattr("vta.passes.canonicalize._operators", lambda graph: _Everything())
            assert print_graph(canonicalize(graph)) == expected


class _Everything(frozenset[str]):
    """A set that has each operator."""

    def isdisjoint(self, other: object) -> bool:
        return False
