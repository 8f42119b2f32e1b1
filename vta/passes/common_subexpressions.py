"""Merging of equal expressions."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, rewrite

__all__ = ["merge_common_subexpressions"]


def merge_common_subexpressions(graph: Graph) -> Graph:
    """Compute equal calls once and hold equal constants once; the first one's layer name stays."""
    first: dict[Hashable, Node] = {}

    def merge(node: Node) -> Node:
        if node.op == ops.INPUT:
            return node
        # The text of attributes, unlike their values, tells 0.0 from -0.0 and 1 from 1.0.
        content = None if node.value is None else hashlib.blake2b(np.ascontiguousarray(node.value).data).digest()
        key = (node.op, node.inputs, repr(node.attrs), node.type, content)
        return first.setdefault(key, node)

    return rewrite(graph, merge)
