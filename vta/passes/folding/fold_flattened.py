"""A dense layer that reads an image with its channels last reads it as it lies, with its weights in that order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of, call, constant, rewrite
from vta.ir.ops.shape import TransposeAttributes

__all__ = ["fold_flattened"]

_CHANNELS_LAST = (0, 2, 3, 1)


def fold_flattened(graph: Graph) -> Graph:
    """Take out the transposition before an image is flattened for a dense layer with constant weights.

    Integer results do not change, float ones by the order of sums.
    """
    return rewrite(graph, _read_in_place)


def _read_in_place(node: Node) -> Node:
    if node.op not in (ops.DENSE, ops.QNN_DENSE) or node.inputs[1].value is None:
        return node
    flat, weight = node.inputs[:2]
    moved = flat.inputs[0] if flat.op in (ops.RESHAPE, ops.BATCH_FLATTEN) else None
    if moved is None or moved.op != ops.TRANSPOSE or len(moved.shape) != len(_CHANNELS_LAST) or flat.shape[0] != moved.shape[0]:
        return node
    if tuple(axis % len(moved.shape) for axis in attrs_of(moved, TransposeAttributes).axes) != _CHANNELS_LAST:
        return node
    image = moved.inputs[0]
    height, width, channels = moved.shape[1:]
    assert weight.value is not None
    turned = weight.value.reshape(-1, height, width, channels).transpose(0, 3, 1, 2).reshape(weight.shape)
    kept = constant(np.ascontiguousarray(turned), weight.name)
    data = call(ops.RESHAPE, [image], flat.name, newshape=flat.shape)
    return replace(node, inputs=(data, kept, *node.inputs[2:]))
