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
    """Whether an int8 node pads channels, and perhaps rows and columns, with zeros."""
    if node.op != ops.PAD or node.dtype != "int8" or attrs_of(node, PadAttributes).pad_value != 0:
        return False
    widths = attrs_of(node, PadAttributes).pad_width
    return len(widths) > 1 and not any(widths[0]) and any(widths[1])
