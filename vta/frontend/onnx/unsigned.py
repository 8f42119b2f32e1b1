"""Unsigned bytes: the accelerator has only signed ones, so a uint8 value is that of an int8 one, 128 more.

Its type says what it is. What can read the signed value takes that, and the two conversions are never made.
"""

from __future__ import annotations

import numpy as np

from vta.frontend._layers import flipped
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, rewrite
from vta.ir.ops.quantized.qnn import DequantizeAttributes, RequantizeAttributes

__all__ = ["BYTE_OFFSET", "as_signed", "as_unsigned", "real_inputs"]

BYTE_OFFSET = 128
"""By how much unsigned bytes are moved to be held as int8."""


def as_signed(value: Node, name: str) -> Node:
    """Return a uint8 value as int8, 128 less; others as they are."""
    return _converted(value, "uint8", "int8", name)


def as_unsigned(value: Node, name: str) -> Node:
    """Return an int8 value as uint8, 128 more; others as they are."""
    return _converted(value, "int8", "uint8", name)


def _converted(value: Node, source: str, target: str, name: str) -> Node:
    if value.dtype != source:
        return value
    if value.value is not None:
        offset = BYTE_OFFSET if target == "uint8" else -BYTE_OFFSET
        return constant((value.value.astype(np.int16) + offset).astype(target), name)
    return value.inputs[0] if _is_conversion(value, target) else flipped(value, target, name)


def _is_conversion(value: Node, source: str) -> bool:
    """Whether `value` was made of one of type `source` by a conversion here."""
    attrs = value.attrs
    if not isinstance(attrs, RequantizeAttributes) or value.inputs[0].dtype != source:
        return False
    zero_points = (BYTE_OFFSET, 0) if source == "uint8" else (0, BYTE_OFFSET)
    kept = (attrs.input_scale, attrs.output_scale, attrs.a_min, attrs.a_max) == (1.0, 1.0, -128, 127)
    return kept and (attrs.input_zero_point, attrs.output_zero_point) == zero_points


def real_inputs(graph: Graph) -> Graph:
    """Return a float network whose inputs are unsigned bytes as one that casts them, without operators of quantised networks.

    Others stay as they are.
    """

    def cast(node: Node) -> Node:
        attrs = node.attrs
        if not isinstance(attrs, DequantizeAttributes) or not _is_conversion(node.inputs[0], "uint8"):
            return node
        if (attrs.scale, attrs.zero_point) != (1.0, -BYTE_OFFSET):
            return node
        return call(ops.CAST, node.inputs[0].inputs, node.name, dtype="float32")

    result = rewrite(graph, cast)
    return graph if any(node.op.startswith("qnn.") for node in result.calls()) else result
