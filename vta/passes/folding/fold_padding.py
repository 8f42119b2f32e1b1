"""Explicit padding becomes part of the convolution or the maximum after it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.ir.ops.nn.pool import Pool2DAttributes
from vta.ir.ops.quantized.qnn import QnnConv2DAttributes
from vta.ir.ops.shape import PadAttributes
from vta.ir.transforms.pattern import Match, is_op, rewrite_pattern, wildcard

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
        assert isinstance(attrs, Conv2DAttributes | QnnConv2DAttributes)
        zero_point = attrs.input_zero_point if isinstance(attrs, QnnConv2DAttributes) else 0
        if attrs_of(found[pad], PadAttributes).pad_value != zero_point:
            return None
        return _padded(found.root, attrs, (found[data], found[weight]), found[pad])

    return rewrite_pattern(graph, conv, fold)


def _into_maxima(graph: Graph) -> Graph:
    data = wildcard()
    pad = is_op(ops.PAD)(data).where(_pads_images).where(_pads_with_least)
    pool = is_op(ops.MAX_POOL2D)(pad)

    def fold(found: Match) -> Node | None:
        attrs = attrs_of(found.root, Pool2DAttributes)
        # Counted from the rim of a wider border, the last window of all may be another one.
        if attrs.ceil_mode or any(size >= attrs.pool_size[side % 2] for side, size in enumerate(_border(attrs, found[pad]))):
            return None
        return _padded(found.root, attrs, (found[data],), found[pad])

    return rewrite_pattern(graph, pool, fold)


def _pads_images(node: Node) -> bool:
    return len(node.shape) == 4 and not any(map(any, attrs_of(node, PadAttributes).pad_width[:2]))


def _pads_with_least(node: Node) -> bool:
    value = attrs_of(node, PadAttributes).pad_value
    if node.dtype.startswith("float"):
        return bool(value <= np.finfo(node.dtype).min)
    return bool(node.dtype != "bool" and value == np.iinfo(node.dtype).min)


_Windows = Conv2DAttributes | QnnConv2DAttributes | Pool2DAttributes


def _border(attrs: _Windows, pad: Node) -> tuple[int, int, int, int]:
    """Padding (top, left, bottom, right) of `attrs` and of `pad` before it."""
    (top, bottom), (left, right) = attrs_of(pad, PadAttributes).pad_width[2:]
    return attrs.padding[0] + top, attrs.padding[1] + left, attrs.padding[2] + bottom, attrs.padding[3] + right


def _padded(node: Node, attrs: _Windows, inputs: tuple[Node, ...], pad: Node) -> Node:
    return Node(node.op, inputs, replace(attrs, padding=_border(attrs, pad)), node.type, node.name)
