"""Removes guards against rows that a mask takes away whole, where no row is: softmaxes are then as others are.

PyTorch exports attention with a mask of truth values as ``where(isnan(softmax(scores + mask)), 0, softmax(scores + mask))``, as a
softmax of nothing but minus infinities is no number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of, rewrite
from vta.ir.ops.nn.norm import SoftmaxAttributes

__all__ = ["remove_needless_guards"]


_STEPS = frozenset({ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE})
_MOVES = frozenset({ops.RESHAPE, ops.TRANSPOSE, ops.SQUEEZE, ops.EXPAND_DIMS})


def remove_needless_guards(graph: Graph) -> Graph:
    """Replace ``where(x != x, other, x)`` by x where x is a softmax of products and constants, each row of which keeps a score.

    Products are taken as finite: one that is not makes every row of its matrix worthless.
    """
    return rewrite(graph, lambda node: node.inputs[2] if _is_needless(node) else node)


def _is_needless(node: Node) -> bool:
    if node.op != ops.WHERE or node.inputs[2].op != ops.SOFTMAX or node.type != node.inputs[2].type:
        return False
    return _is_nan(node.inputs[0], node.inputs[2]) and _keeps_a_score(node.inputs[2])


def _is_nan(condition: Node, value: Node) -> bool:
    return (
        condition.op == ops.LOGICAL_NOT and condition.inputs[0].op == ops.EQUAL and condition.inputs[0].inputs == (value, value)
    )


def _keeps_a_score(softmax: Node) -> bool:
    node, axis = softmax.inputs[0], attrs_of(softmax, SoftmaxAttributes).axis
    if node.op == ops.ADD:
        for mask, scores in (node.inputs, node.inputs[::-1]):
            if mask.value is not None and _leaves_some(np.broadcast_to(mask.value, node.shape), axis):
                node = scores
                break
    while node.op != ops.MATMUL:
        others = [source for source in node.inputs if source.value is None]
        finite = all(np.isfinite(source.value).all() for source in node.inputs if source.value is not None)
        if node.op not in _STEPS | _MOVES or len(others) != 1 or not finite:
            return False
        node = others[0]
    return True


def _leaves_some(mask: NDArray[Any], axis: int) -> bool:
    return not (np.isnan(mask) | np.isposinf(mask)).any() and bool(np.isfinite(mask).any(axis).all())
