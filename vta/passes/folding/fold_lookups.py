"""Functions of one int8 value that are computed in float, between a dequantisation and a quantisation, become tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, rewrite
from vta.ir.operator import lookup
from vta.ir.ops.quantized.qnn import DequantizeAttributes, QuantizeAttributes

__all__ = ["COMPOSED", "FUNCTIONS", "fold_lookups", "lookup_of"]

FUNCTIONS = frozenset({ops.LEAKY_RELU, ops.ELU, ops.HARD_SIGMOID, ops.HARD_SWISH, ops.SIGMOID, ops.TANH, ops.ERF})
"""Operators that compute each value from one other."""

_ARITHMETIC = frozenset({ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE, ops.MAXIMUM, ops.MINIMUM, ops.POWER})
COMPOSED = FUNCTIONS | _ARITHMETIC | {ops.RELU, ops.CLIP, ops.EXP, ops.LOG, ops.SQRT, ops.NEGATIVE, ops.ABS}
"""Those that functions are composed of: each value from one of each operand."""


def fold_lookups(graph: Graph) -> Graph:
    """Return the graph with a ``qnn.lookup`` for every such function; results stay the same, bit for bit."""
    return rewrite(graph, lambda node: lookup_of(node) or node)


def lookup_of(node: Node) -> Node | None:
    """The table for a quantisation of a function of one int8 value; None where it is of another kind."""
    attrs = node.attrs
    if not isinstance(attrs, QuantizeAttributes) or isinstance(attrs.scale, tuple) or attrs.out_dtype != "int8":
        return None
    nodes = _function(node)
    if nodes is None:
        return None
    held = next(part for part in nodes if part.op == ops.QNN_DEQUANTIZE).inputs[0]
    values: dict[Node, NDArray[Any]] = {}
    every = np.arange(-128, 128).astype(np.int8).reshape((1,) * (len(node.shape) - 1) + (256,))
    for part in (*nodes, node):
        # Values that no real network reaches may overflow.
        arrays = [
            every if source is held else source.value if source.op == ops.CONSTANT else values[source] for source in part.inputs
        ]
        with np.errstate(all="ignore"):
            values[part] = lookup(part.op).reference(part.attrs, *(array for array in arrays if array is not None))
    name = node.inputs[0].name
    return call(ops.QNN_LOOKUP, [held, constant(values[node].reshape(256), name)], name)


def _function(quantize: Node) -> list[Node] | None:
    """What lies between one int8 value and `quantize`, in topological order, if it is a function of that value alone."""
    order: dict[Node, None] = {}
    sources: set[Node] = set()
    stack = [(quantize.inputs[0], False)]
    while stack:
        node, finished = stack.pop()
        if finished:
            order[node] = None
        elif node in order:
            continue
        elif isinstance(node.attrs, DequantizeAttributes):
            if node.inputs[0].dtype != "int8" or node.inputs[0].op == ops.CONSTANT or isinstance(node.attrs.scale, tuple):
                return None
            sources.add(node.inputs[0])
            order[node] = None
        elif node.op in COMPOSED and node.shape == quantize.shape:
            stack.append((node, True))
            stack += [(source, False) for source in node.inputs if source not in order]
        elif node.value is None or node.value.size != 1:
            return None
    return list(order) if len(order) > 1 and len(sources) == 1 and quantize.shape else None
