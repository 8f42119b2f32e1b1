"""Which operators of a graph only move int8 values between channels, rows and columns."""

from __future__ import annotations

from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.shape import PadAttributes

__all__ = ["COPIES", "adds_channels", "is_copy"]

COPIES = (ops.CONCATENATE, ops.STRIDED_SLICE)


def is_copy(node: Node) -> bool:
    """Whether a node only moves values: it takes operators of its own only where these do not lie as it wants them."""
    return node.op in COPIES or adds_channels(node)


def adds_channels(node: Node) -> bool:
    """Whether an int8 node pads channels: with any value, or with zeros and rows and columns as well."""
    if node.op != ops.PAD or node.dtype != "int8":
        return False
    attrs = attrs_of(node, PadAttributes)
    if len(attrs.pad_width) == 1:
        return False
    samples, channels, *places = attrs.pad_width
    return not any(samples) and any(channels) and (attrs.pad_value == 0 or not any(map(any, places)))
