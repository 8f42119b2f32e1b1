"""Removal of operators that change nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of, call, rewrite
from vta.ir.ops.nn.activation import ClipAttributes
from vta.ir.ops.shape import ReshapeAttributes, StridedSliceAttributes, TransposeAttributes

__all__ = ["remove_no_ops"]


def remove_no_ops(graph: Graph) -> Graph:
    """Drop reshapes, pads, clips, casts, slices and the like that return their input, arithmetic with 0 or 1, and known choices.

    Of two reshapes in a row one is left.
    """
    return rewrite(graph, _simplified)


def _simplified(node: Node) -> Node:
    if node.op == ops.RESHAPE and node.inputs[0].op == ops.RESHAPE and 0 not in node.shape:
        node = _joined(node, node.inputs[0].inputs[0])
    if node.is_call and node.inputs and node.type == node.inputs[0].type:
        test = _NO_OPS.get(node.op)
        if test is not None and test(node):
            return node.inputs[0]
    if node.op == ops.WHERE and (chosen := _chosen(node)) is not None:
        return chosen
    if node.op in (ops.ADD, ops.MULTIPLY) and node.type == node.inputs[1].type and _all_equal(node.inputs[0], _NEUTRAL[node.op]):
        return node.inputs[1]
    return node


def _chosen(node: Node) -> Node | None:
    """What a choice always is, as its condition is the same everywhere; None where data decides, or shapes differ."""
    for index, condition in ((1, True), (2, False)):
        if _all_equal(node.inputs[0], condition) and node.inputs[index].type == node.type:
            return node.inputs[index]
    return None


def _joined(node: Node, source: Node) -> Node:
    """The reshape `node` applied to `source`; zeros stay where they copy the same dimension from there."""
    newshape = attrs_of(node, ReshapeAttributes).newshape
    if any(d == 0 and source.shape[i : i + 1] != node.shape[i : i + 1] for i, d in enumerate(newshape)):
        newshape = node.shape
    return call(ops.RESHAPE, [source], node.name, newshape=newshape)


def _all_equal(node: Node, value: float) -> bool:
    return node.op == ops.CONSTANT and node.value is not None and bool(np.all(node.value == value))


def _same_type_suffices(node: Node) -> bool:
    return True


def _keeps_order(node: Node) -> bool:
    rank = len(node.shape)
    return [axis % rank for axis in attrs_of(node, TransposeAttributes).axes] == list(range(rank))


def _steps_forward(node: Node) -> bool:
    return all(
        step == 1 or size == 1 for step, size in zip(attrs_of(node, StridedSliceAttributes).strides, node.shape, strict=True)
    )


def _bounds_nothing(node: Node) -> bool:
    low, high = attrs_of(node, ClipAttributes).bounds(node.dtype)
    if node.dtype.startswith("float"):
        return bool(low == -math.inf and high == math.inf)
    info = np.iinfo(node.dtype)
    return bool(low == info.min and high == info.max)


_NEUTRAL = {ops.ADD: 0, ops.SUBTRACT: 0, ops.MULTIPLY: 1, ops.DIVIDE: 1, ops.LEFT_SHIFT: 0, ops.RIGHT_SHIFT: 0}


def _second_is_neutral(node: Node) -> bool:
    return _all_equal(node.inputs[1], _NEUTRAL[node.op])


_NO_OPS: dict[str, Callable[[Node], bool]] = {
    **dict.fromkeys(
        (ops.RESHAPE, ops.BATCH_FLATTEN, ops.SQUEEZE, ops.BROADCAST_TO, ops.CAST, ops.CONCATENATE, ops.PAD, ops.UPSAMPLING),
        _same_type_suffices,
    ),
    ops.TRANSPOSE: _keeps_order,
    ops.STRIDED_SLICE: _steps_forward,
    ops.CLIP: _bounds_nothing,
    **dict.fromkeys(_NEUTRAL, _second_is_neutral),
}
"""For each operator the test whether a call whose output has the type of its first input returns that input."""
