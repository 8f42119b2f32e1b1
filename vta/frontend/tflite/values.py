"""Changes between the layout of the file, NHWC, and that of the graph, NCHW."""

from __future__ import annotations

from vta.frontend._layers import Apply
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.ir.ops.shape import TransposeAttributes

__all__ = ["TO_FIRST", "TO_LAST", "channels_first", "channels_last"]

TO_FIRST = (0, 3, 1, 2)
TO_LAST = (0, 2, 3, 1)


def channels_first(apply: Apply, node: Node) -> Node:
    """Return NHWC `node` in NCHW; undoes `channels_last` without a trace."""
    return _moved(apply, node, TO_FIRST, TO_LAST)


def channels_last(apply: Apply, node: Node) -> Node:
    """Return NCHW `node` in NHWC; undoes `channels_first` without a trace."""
    return _moved(apply, node, TO_LAST, TO_FIRST)


def _moved(apply: Apply, node: Node, axes: tuple[int, ...], inverse: tuple[int, ...]) -> Node:
    if isinstance(node.attrs, TransposeAttributes) and node.attrs.axes == inverse:
        return node.inputs[0]
    shape = tuple(node.shape[axis] for axis in axes)
    if [dim for dim in node.shape[1:] if dim > 1] == [dim for dim in shape[1:] if dim > 1] and _order_kept(node.shape, axes):
        source = node.inputs[0] if node.op == ops.RESHAPE and node.inputs[0].shape == shape else None
        return source or apply(ops.RESHAPE, node, newshape=shape)
    return apply(ops.TRANSPOSE, node, axes=axes)


def _order_kept(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether the axes longer than 1 stay in their order, so that moving axes moves no value."""
    order = [axis for axis in axes if shape[axis] > 1]
    return order == sorted(order)
