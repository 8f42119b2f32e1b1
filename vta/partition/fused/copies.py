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
    """Whether an int8 node pads channels with a value, and perhaps rows and columns, if that value is zero."""
    if node.op != ops.PAD or node.dtype != "int8":
        return False
    (samples, *rest), value = attrs_of(node, PadAttributes).pad_width, attrs_of(node, PadAttributes).pad_value
    return bool(rest) and not any(samples) and any(rest[0]) and (value == 0 or not any(map(any, rest[1:])))
