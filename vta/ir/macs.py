"""Multiply-accumulates that operators of the network need."""

from __future__ import annotations

from math import prod

from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.function import function_of
from vta.ir.ops.matmul import Matmul2DAttributes
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.ir.ops.quantized.qnn import QnnConv2DAttributes

__all__ = ["macs_of"]


def macs_of(node: Node) -> int:
    """Multiply-accumulates of a convolution or matrix product, counting padded positions; 0 for other operators."""
    kind = node.op.removeprefix("qnn.").removeprefix("nn.")
    if kind == "conv2d":
        attrs = node.attrs
        taps, copies = (attrs.taps, attrs.copies) if isinstance(attrs, (Conv2DAttributes, QnnConv2DAttributes)) else (0, 0)
        outputs = prod(node.shape) // node.shape[1] * (node.shape[1] - copies)
        return outputs * (taps or prod(node.inputs[1].shape[1:]))
    if kind == "conv2d_transpose":
        return prod(node.inputs[0].shape) * prod(node.inputs[1].shape[1:])
    if kind in ("dense", "matmul"):
        return prod(node.shape) * node.inputs[0].shape[-1]
    if node.op == ops.MATMUL2D:
        return prod(node.shape) * node.inputs[0].shape[1] // attrs_of(node, Matmul2DAttributes).groups
    if kind == ops.CALL:
        return sum(macs_of(inner) for inner in function_of(node).part.calls())
    return 0
