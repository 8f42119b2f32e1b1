"""Explicit padding becomes part of the convolution after it."""

from __future__ import annotations

from dataclasses import replace

from vta.ir.graph import Graph, Node
from vta.ir.operator import lookup
from vta.ir.pattern import Match, is_op, rewrite_pattern, wildcard

__all__ = ["fold_padding"]


def fold_padding(graph: Graph) -> Graph:
    """Merge a pad of height and width with zeros into the padding of the convolution that reads it.

    A quantised convolution pads with its input's zero point, so there the pad value must be that.
    """
    data, weight = wildcard(), wildcard()
    pad = is_op("nn.pad")(data).where(lambda node: len(node.shape) == 4 and not any(map(any, node.attrs.pad_width[:2])))
    conv = (is_op("nn.conv2d") | is_op("qnn.conv2d") if _has_qnn() else is_op("nn.conv2d"))(pad, weight)

    def fold(found: Match) -> Node | None:
        attrs, border = found.root.attrs, found[pad].attrs
        if border.pad_value != getattr(attrs, "input_zero_point", 0):
            return None
        (top, bottom), (left, right) = border.pad_width[2:]
        added = tuple(a + b for a, b in zip(attrs.padding, (top, left, bottom, right), strict=True))
        merged = replace(attrs, padding=added)
        return Node(found.root.op, (found[data], found[weight]), merged, found.root.type, found.root.name)

    return rewrite_pattern(graph, conv, fold)
