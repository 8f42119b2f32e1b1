"""Operators on computed positions: gathers, scatters, the largest values, sequences in reverse."""

from __future__ import annotations

import numpy as np

from vta.errors import ImportModelError
from vta.frontend._layers import reversed_sequences
from vta.frontend.tflite.operation import Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _gather_nd(node: Operation) -> Node:
    data, indices = (node.in_file_layout(node.input(at)) for at in range(2))
    return node.from_file_layout(node.apply(ops.GATHER_ND, data, indices))


def _scatter_nd(node: Operation) -> Node:
    """Inputs: indices, updates, and the shape. Updates at one place add up."""
    indices, updates = (node.in_file_layout(node.input(at)) for at in range(2))
    zeros = node.constant(np.zeros(node.numbers(2, "the shape"), updates.dtype))
    return node.from_file_layout(node.apply(ops.SCATTER_ND, zeros, indices, updates, reduction="add"))


def _top_k(node: Operation) -> tuple[Node, Node]:
    """Values, and their positions along the last axis."""
    data, (k,) = node.input(0), node.numbers(1, "k")
    axis = node.graph_axis(-1, len(data.shape))
    places = node.apply(ops.TOP_K, data, k=k, axis=axis)
    values = node.apply(ops.GATHER_ELEMENTS, data, places, axis=axis)
    return values, node.apply(ops.CAST, places, dtype=node.output(1).dtype)


def _reverse_sequence(node: Operation) -> Node:
    data = node.input(0)
    rank = len(data.shape)
    time, batch = (node.graph_axis(node.option(name), rank) for name in ("SeqDim", "BatchDim"))
    if len(node.input(1).shape) != 1:
        raise ImportModelError(f"lengths must have one dimension, got shape {node.input(1).shape}")
    return reversed_sequences(node.apply, data, node.input(1), time, batch)


CONVERTERS: dict[str, Converter] = {
    "GATHER_ND": _gather_nd,
    "REVERSE_SEQUENCE": _reverse_sequence,
    "SCATTER_ND": _scatter_nd,
    "TOPK_V2": _top_k,
}
