"""Arithmetic on the levels of bytes, with the roundings of TFLite's reference kernels; it runs on the host."""

from __future__ import annotations

from vta.frontend._layers import like
from vta.frontend.tflite.converters._fused import limits
from vta.frontend.tflite.operation import Operation, quantization_of
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.ir.interpreter import evaluate_node

__all__ = ["constant_last", "levels", "ranked", "requantized", "rescaled"]


def ranked(node: Operation, operand: Node, rank: int) -> Node:
    """Return an operand of fewer dimensions than the result in a shape that broadcasts in the graph's layout."""
    if len(operand.shape) == rank or not operand.shape:
        return operand
    as_stored = node.in_file_layout(operand)
    padded = node.apply(ops.RESHAPE, as_stored, newshape=(1,) * (rank - len(as_stored.shape)) + as_stored.shape)
    return node.from_file_layout(padded)


def levels(node: Operation, index: int) -> Node:
    """Return operand `index` less its zero point, as int32, in a shape that broadcasts to the output's."""
    value = ranked(node, node.input(index), len(node.output().shape))
    wide, zero_point = node.apply(ops.CAST, value, dtype="int32"), quantization_of(node.tensor(index)).zero_point
    return wide if zero_point == 0 else node.apply(ops.SUBTRACT, wide, like(zero_point, wide))


def constant_last(lhs: Node, rhs: Node) -> tuple[Node, Node]:
    """Return two operands of a sum or a product with a constant second, where passes look for it."""
    return (rhs, lhs) if lhs.value is not None else (lhs, rhs)


def rescaled(node: Operation, value: Node, scale: float, to_scale: float) -> Node:
    """Return int32 levels at another scale, still as int32."""
    result = node.apply(ops.QNN_REQUANTIZE, value, input_scale=scale, output_scale=to_scale, out_dtype="int32", rounding="tflite")
    return result if value.value is None else node.constant(evaluate_node(result, [value.value]))


def requantized(node: Operation, value: Node, scale: float, to_scale: float) -> Node:
    """Return int32 levels as bytes with the output's zero point, within the fused activation."""
    return node.apply(
        ops.QNN_REQUANTIZE,
        value,
        input_scale=scale,
        output_scale=to_scale,
        output_zero_point=quantization_of(node.output()).zero_point,
        rounding="tflite",
        **limits(node),
    )
