"""The quantised dialect: operators that say scales and zero points, as those of a network that came quantised."""

from __future__ import annotations

from vta.ir.graph import Graph

__all__ = ["is_quantized"]


def is_quantized(graph: Graph) -> bool:
    """Whether a graph is in the quantised dialect, as networks are that came quantised."""
    return any(node.op.startswith("qnn.") for node in graph.calls())
