"""Constant folding: what depends on constants only is computed now."""

from __future__ import annotations

from collections.abc import Collection

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, constant, rewrite
from vta.ir.interpreter import evaluate_node

__all__ = ["fold_constants"]

_KEPT = frozenset({ops.QNN_DEQUANTIZE})


def fold_constants(graph: Graph, keep: Collection[str] = _KEPT) -> Graph:
    """Replace every call whose inputs are all constant by its value, except calls of the operators in `keep`.

    By default dequantised constants stay as they are: their integers and scales are what the quantised dialect needs.
    """

    def fold(node: Node) -> Node:
        if not node.is_call or node.op in keep or any(source.op != ops.CONSTANT for source in node.inputs):
            return node
        values = [source.value for source in node.inputs if source.value is not None]
        return constant(evaluate_node(node, values), node.name)

    return rewrite(graph, fold)
