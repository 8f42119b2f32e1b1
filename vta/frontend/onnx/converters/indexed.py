"""ONNX's operators on computed positions: gathers, scatters, the largest values, boxes that are kept."""

from __future__ import annotations

import math

import numpy as np

from vta.errors import ImportModelError
from vta.frontend._errors import MAX_ARRAY_BYTES, UnsupportedNodeError
from vta.frontend._layers import reversed_sequences, running_sums, sliced
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _gather_elements(node: Operation) -> Node:
    return node.apply(ops.GATHER_ELEMENTS, node.input(0), node.input(1), axis=node.integer("axis", 0))


def _gather_nd(node: Operation) -> Node:
    return node.apply(ops.GATHER_ND, node.input(0), node.input(1), batch_dims=node.integer("batch_dims", 0))


def _scatter_elements(node: Operation) -> Node:
    axis, reduction = node.integer("axis", 0), node.text("reduction", "none")
    return node.apply(ops.SCATTER_ELEMENTS, *(node.input(at) for at in range(3)), axis=axis, reduction=reduction)


def _scatter_nd(node: Operation) -> Node:
    return node.apply(ops.SCATTER_ND, *(node.input(at) for at in range(3)), reduction=node.text("reduction", "none"))


def _top_k(node: Operation) -> tuple[Node, Node]:
    """Values, and their positions; k is an attribute, and since version 10 an input."""
    data, axis = node.input(), node.integer("axis", -1)
    given = node.numbers(1, "k") if node.opset >= 10 else (node.integer("k"),)
    if given is None or len(given) != 1:
        raise ImportModelError(f"k must be one number, got {given}")
    places = node.apply(ops.TOP_K, data, k=given[0], axis=axis, largest=node.integer("largest", 1) != 0)
    return node.apply(ops.GATHER_ELEMENTS, data, places, axis=axis), places


def _scalar(node: Operation, index: int, what: str, default: float) -> float:
    given = node.array(index, what)
    return default if given is None else float(given.reshape(-1)[0])


def _non_max_suppression(node: Operation) -> Node:
    """Files leave the number of rows open, which nothing here may: rows that are not needed are -1."""
    most = int(_scalar(node, 2, "max_output_boxes_per_class", 0))
    kept = node.apply(
        ops.NON_MAX_SUPPRESSION,
        node.input(0),
        node.input(1),
        most=max(0, min(most, node.input(1).shape[-1])),
        iou_threshold=_scalar(node, 3, "iou_threshold", 0.0),
        score_threshold=_scalar(node, 4, "score_threshold", -math.inf),
        center_point=node.integer("center_point_box", 0) != 0,
    )
    if kept.value is not None:
        return node.constant(kept.value[kept.value[:, 0] >= 0])
    rows = node.declared_shape(2)[0]
    return kept if rows is None or rows >= kept.shape[0] else sliced(node.apply, kept, {0: (0, rows, 1)})


def _reverse_sequence(node: Operation) -> Node:
    time, batch = node.integer("time_axis", 0), node.integer("batch_axis", 1)
    return reversed_sequences(node.apply, node.input(0), node.input(1), time, batch)


def _running_sum(node: Operation) -> Node:
    data, axes = node.input(), node.numbers(1, "the axis") or (0,)
    if not data.dtype.startswith("float"):
        raise UnsupportedNodeError(f"of {data.dtype}; only of floats")
    exclusive, reverse = (node.integer(name, 0) != 0 for name in ("exclusive", "reverse"))
    return running_sums(node.apply, data, axes[0], exclusive=exclusive, reverse=reverse)


def _one_hot(node: Operation) -> Node:
    """The second of two values where the position along the new axis is the index, the first elsewhere."""
    indices, depth, values = node.input(0), node.numbers(1, "the depth"), node.array(2, "the values")
    if depth is None or values is None or values.size != 2:
        raise ImportModelError("depth and two values are needed")
    if math.prod(indices.shape) * depth[0] * values.itemsize > MAX_ARRAY_BYTES:
        raise UnsupportedNodeError(f"a depth of {depth[0]}, which is too large")
    rank = len(indices.shape) + 1
    axis = node.integer("axis", -1)
    if not -rank <= axis < rank:
        raise ImportModelError(f"axis {axis} is outside {rank} dimensions")
    wide = node.apply(ops.EXPAND_DIMS, node.apply(ops.CAST, indices, dtype="int64"), axis=axis % rank)
    size = node.constant(np.int64(depth[0]))
    counted = node.apply(ops.WHERE, node.apply(ops.LESS, wide, node.constant(np.int64(0))), node.apply(ops.ADD, wide, size), wide)
    places = np.arange(depth[0]).reshape((-1, *(1 for _ in range(rank - 1 - axis % rank))))
    off, on = (node.constant(value) for value in values.reshape(-1))
    return node.apply(ops.WHERE, node.apply(ops.EQUAL, counted, node.constant(places)), on, off)


def _triangle(node: Operation) -> Node:
    """A matrix, or each of several, with zeros on one side of a diagonal."""
    data, given = node.input(), node.numbers(1, "k")
    diagonal, (rows, columns) = 0 if given is None else given[0], data.shape[-2:]
    below = np.tri(rows, columns, k=diagonal, dtype=bool)
    keep = ~np.tri(rows, columns, k=diagonal - 1, dtype=bool) if node.integer("upper", 1) else below
    return node.apply(ops.WHERE, node.constant(keep), data, node.constant(np.zeros((), data.dtype)))


CONVERTERS: dict[str, Converter] = {
    "CumSum": _running_sum,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "NonMaxSuppression": _non_max_suppression,
    "OneHot": _one_hot,
    "ReverseSequence": _reverse_sequence,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TopK": _top_k,
    "Trilu": _triangle,
}
