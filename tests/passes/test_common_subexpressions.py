from __future__ import annotations

import numpy as np

from vta.ir.graph import Graph, call, constant, graph_input
from vta.passes.common_subexpressions import merge_common_subexpressions


def test_equal_calls_and_constants_merge(same_results):
    x = graph_input("x", (2,))
    halves = [call("multiply", [x, constant(np.float32(0.5))], f"half{i}") for i in range(2)]
    graph = Graph((x,), (call("add", halves, "sum"),))
    merged = merge_common_subexpressions(graph)
    assert [n.name for n in merged.calls()] == ["half0", "sum"]
    same_results(graph, merged)


def test_what_differs_stays(same_results):
    x, y = graph_input("x", (2,)), graph_input("y", (2,))
    nodes = [
        call("nn.relu", [x]),
        call("nn.relu", [y]),
        call("clip", [x], a_min=0, a_max=1),
        call("clip", [x], a_min=0, a_max=2),
        call("add", [x, constant(np.float32(1))]),
        call("add", [x, constant(np.float32([1]))]),
        call("add", [x, constant(np.float32([1, 2]))]),
        call("add", [x, constant(np.float32(-0.0))]),
        call("add", [x, constant(np.float32(0.0))]),
        call("add", [x, constant(np.zeros((0, 1), np.float32))]),
    ]
    graph = Graph((x, y), tuple(nodes))
    assert merge_common_subexpressions(graph).outputs == graph.outputs
