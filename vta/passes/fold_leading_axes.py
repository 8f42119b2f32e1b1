"""Rows of features (1, T, C) that products compute as (T, C) stay so through what is done to each value or each row."""

from __future__ import annotations

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, rewrite
from vta.ir.ops.reduce import ReduceAttributes

__all__ = ["fold_leading_axes"]

_EACH_VALUE = frozenset(
    {ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE, ops.MAXIMUM, ops.MINIMUM, ops.RELU, ops.CLIP, ops.SIGMOID, ops.TANH}
    | {ops.ERF, ops.EXP, ops.LOG, ops.SQRT, ops.NEGATIVE, ops.ABS, ops.ELU, ops.HARD_SIGMOID, ops.HARD_SWISH, ops.LEAKY_RELU}
)
"""Operators that compute each value from those at its own place."""
_ROW_RANK = 2


def fold_leading_axes(graph: Graph) -> Graph:
    """Move reshapes of (T, C) to (1, ..., T, C) behind operators on each value and behind means of each row.

    So a bias joins its layer and a layer the next one. Results do not change.
    """
    return rewrite(graph, _moved)


def _moved(node: Node) -> Node:
    if node.dtype != "float32" or not any(_adds_axes(source) for source in node.inputs):
        return node
    if node.op in _EACH_VALUE:
        return _each_value(node)
    if node.op == ops.MEAN and isinstance(node.attrs, ReduceAttributes):
        return _mean(node, node.attrs)
    return node


def _adds_axes(node: Node) -> bool:
    """Whether a node only puts axes of one before those of (T, C)."""
    if node.op != ops.RESHAPE or len(node.inputs[0].shape) != _ROW_RANK or len(node.shape) <= _ROW_RANK:
        return False
    return node.shape[-_ROW_RANK:] == node.inputs[0].shape and node.inputs[0].op != ops.RESHAPE


def _each_value(node: Node) -> Node:
    if any(extent != 1 for extent in node.shape[:-_ROW_RANK]):
        return node
    sources = [_as_rows(source, node) for source in node.inputs]
    return call(ops.RESHAPE, [call(node.op, sources, node.name, **vars(node.attrs))], node.name, newshape=node.shape)


def _as_rows(source: Node, node: Node) -> Node:
    """An operand without the axes of one in front."""
    if _adds_axes(source):
        return source.inputs[0]
    if len(source.shape) <= _ROW_RANK:
        return source
    shape = source.shape[-_ROW_RANK:]
    if source.value is not None:
        return constant(source.value.reshape(shape), source.name)
    return call(ops.RESHAPE, [source], node.name, newshape=shape)


def _mean(node: Node, attrs: ReduceAttributes) -> Node:
    source = node.inputs[0]
    rank = len(source.shape)
    if not attrs.keepdims or attrs.axes(rank) != (rank - 1,):
        return node
    mean = call(ops.MEAN, [source.inputs[0]], node.name, axis=(1,), keepdims=True)
    return call(ops.RESHAPE, [mean], node.name, newshape=node.shape)
