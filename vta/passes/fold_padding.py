"""Explicit padding becomes part of the convolution or the maximum after it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.ir.pattern import Match, is_op, rewrite_pattern, wildcard

__all__ = ["fold_padding"]


def fold_padding(graph: Graph) -> Graph:
    """Merge a constant pad of height and width into the padding of the convolution or the max pooling that reads it.

    The pad value must be what those pad with: for a convolution zero, or the zero point of a quantised input; for a maximum minus
    infinity, or the least value that its type has.
    """
    return _into_maxima(_into_convolutions(graph))


def _into_convolutions(graph: Graph) -> Graph:
    data, weight = wildcard(), wildcard()
    pad = is_op(ops.PAD)(data).where(_pads_images)
    conv = (is_op(ops.CONV2D) | is_op(ops.QNN_CONV2D))(pad, weight)

    def fold(found: Match) -> Node | None:
        attrs = found.root.attrs
        if found[pad].attrs.pad_value != getattr(attrs, "input_zero_point", 0):
            return None
        return _padded(found.root, (found[data], found[weight]), found[pad])

    return rewrite_pattern(graph, conv, fold)


def _into_maxima(graph: Graph) -> Graph:
    data = wildcard()
    pad = is_op(ops.PAD)(data).where(_pads_images).where(_pads_with_least)
    pool = is_op(ops.MAX_POOL2D)(pad)

    def fold(found: Match) -> Node | None:
        attrs = found.root.attrs
        # Counted from the rim of a wider border, the last window of all may be another one.
        if attrs.ceil_mode or any(size >= attrs.pool_size[side % 2] for side, size in enumerate(_border(found.root, found[pad]))):
            return None
        return _padded(found.root, (found[data],), found[pad])

    return rewrite_pattern(graph, pool, fold)


def _pads_images(node: Node) -> bool:
    return len(node.shape) == 4 and not any(map(any, node.attrs.pad_width[:2]))


def _pads_with_least(node: Node) -> bool:
    if node.dtype.startswith("float"):
        return bool(node.attrs.pad_value <= np.finfo(node.dtype).min)
    return bool(node.dtype != "bool" and node.attrs.pad_value == np.iinfo(node.dtype).min)


def _border(node: Node, pad: Node) -> tuple[int, ...]:
    """Padding (top, left, bottom, right) of `node` and of `pad` before it."""
    (top, bottom), (left, right) = pad.attrs.pad_width[2:]
    return tuple(a + b for a, b in zip(node.attrs.padding, (top, left, bottom, right), strict=True))


def _padded(node: Node, inputs: tuple[Node, ...], pad: Node) -> Node:
    return Node(node.op, inputs, replace(node.attrs, padding=_border(node, pad)), node.type, node.name)
