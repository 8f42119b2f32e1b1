"""Explicit padding becomes part of the convolution after it."""

from __future__ import annotations

from dataclasses import replace

from vta.ir.graph import Graph, Node
from vta.ir.pattern import Match, is_op, rewrite_pattern, wildcard

__all__ = ["fold_padding"]


def fold_padding(graph: Graph) -> Graph:
    """Merge a constant pad of height and width into the padding of the convolution that reads it.

    The pad value must be what the convolution pads with: zero, or the zero point of a quantised input.
    """
    data, weight = wildcard(), wildcard()
    pad = is_op("nn.pad")(data).where(lambda node: len(node.shape) == 4 and not any(map(any, node.attrs.pad_width[:2])))
    conv = (is_op("nn.conv2d") | is_op("qnn.conv2d"))(pad, weight)

    def fold(found: Match) -> Node | None:
        attrs, border = found.root.attrs, found[pad].attrs
        if border.pad_value != getattr(attrs, "input_zero_point", 0):
            return None
        (top, bottom), (left, right) = border.pad_width[2:]
        added = tuple(a + b for a, b in zip(attrs.padding, (top, left, bottom, right), strict=True))
        inputs = (found[data], found[weight])
        return Node(found.root.op, inputs, replace(attrs, padding=added), found.root.type, found.root.name)

    return rewrite_pattern(graph, conv, fold)
