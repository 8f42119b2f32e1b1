"""Shape inference for other input shapes, e.g. another batch size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, graph_input
from vta.ir.operator import lookup

__all__ = ["with_input_shapes"]


def with_input_shapes(graph: Graph, shapes: Mapping[str, tuple[int, ...]]) -> Graph:
    """Return `graph` for inputs of other `shapes`, by name; every type is inferred anew.

    Raises `GraphError` for an unknown input, or naming the layer that cannot take the new shapes.
    """
    names = [node.name for node in graph.inputs]
    for name in shapes:
        if name not in names:
            raise GraphError(f"{name!r} is no input of graph {graph.name!r}; its inputs are: {', '.join(names) or 'none'}")
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        if node.op == ops.INPUT:
            done[node] = graph_input(node.name, shapes.get(node.name, node.shape), node.dtype)
        elif node.is_call:
            inputs = tuple(done[source] for source in node.inputs)
            done[node] = Node(node.op, inputs, node.attrs, lookup(node.op).check(node.attrs, inputs, node.name), node.name)
        else:
            done[node] = node
    return replace(graph.rebuilt(done), inputs=tuple(done[node] for node in graph.inputs))
