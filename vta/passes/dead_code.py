"""Removal of what no output needs."""

from __future__ import annotations

from dataclasses import replace

from vta.ir.graph import Graph, topological

__all__ = ["remove_dead_code"]


def remove_dead_code(graph: Graph) -> Graph:
    """Drop the inputs that no output needs, such as the labels of a training graph; those that hold a state stay.

    Calls and constants that no output needs are no part of a graph to begin with.
    """
    needed, held = set(topological(graph.outputs)), {state.name for state in graph.states}
    return replace(graph, inputs=tuple(node for node in graph.inputs if node in needed or node.name in held))
