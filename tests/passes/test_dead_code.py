from __future__ import annotations

from vta.ir.graph import Graph, call, graph_input
from vta.passes.dead_code import remove_dead_code


def test_unused_inputs_go():
    x, label = graph_input("x", (2,)), graph_input("label", (2,))
    graph = remove_dead_code(Graph((label, x), (call("nn.relu", [x]),)))
    assert graph.inputs == (x,)
    assert [n.op for n in graph.nodes()] == ["input", "nn.relu"]
