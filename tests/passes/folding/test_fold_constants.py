from __future__ import annotations

import numpy as np

from vta.ir.graph import Graph, call, constant, graph_input
from vta.passes.folding.fold_constants import fold_constants


def test_what_depends_on_constants_only_is_computed(same_results):
    x = graph_input("x", (2,))
    offset = call("exp", [call("add", [constant(np.float32([1, 2])), constant(np.float32(3))], "a")], "b")
    graph = Graph((x,), (call("multiply", [x, offset], "m"),))
    folded = fold_constants(graph)
    assert [n.op for n in folded.calls()] == ["multiply"]
    assert folded.outputs[0].inputs[1].name == "b"
    same_results(graph, folded)


def test_dequantized_constants_stay_by_default():
    weight = call("qnn.dequantize", [constant(np.int8([1, 2]))], "w", scale=0.5)
    assert fold_constants(Graph((), (weight,))).outputs == (weight,)
    np.testing.assert_array_equal(fold_constants(Graph((), (weight,)), keep=()).outputs[0].value, np.float32([0.5, 1]))


def test_chain_of_constants_needs_no_recursion():
    node = constant(np.int32(0))
    for _ in range(5000):
        node = call("add", [node, constant(np.int32(1))])
    assert fold_constants(Graph((), (node,))).outputs[0].value == 5000
