"""Element-wise arithmetic of two tensors."""

from __future__ import annotations

from vta.frontend.tflite.converters._fused import activated, limits
from vta.frontend.tflite.operation import Converter, Operation, is_quantised, quantisation_of
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _add(node: Operation) -> Node:
    lhs, rhs = node.input(0), node.input(1)
    if not is_quantised(node.output()) or lhs.shape != rhs.shape or lhs.value is not None or rhs.value is not None:
        return _through_float(node, "add", fused=True)
    left, right, to = quantisation_of(node.tensor(0)), quantisation_of(node.tensor(1)), quantisation_of(node.output())
    return node.apply(
        "qnn.add",
        lhs,
        rhs,
        lhs_scale=left.scale,
        lhs_zero_point=left.zero_point,
        rhs_scale=right.scale,
        rhs_zero_point=right.zero_point,
        output_scale=to.scale,
        output_zero_point=to.zero_point,
        rounding="tflite",
        **limits(node),
    )


def _binary(op: str, fused: bool = True) -> Converter:
    return lambda node: _through_float(node, op, fused)


def _through_float(node: Operation, op: str, fused: bool) -> Node:
    rank = len(node.output().shape)

    def compute(*operands: Node) -> Node:
        whole = [_ranked(node, operand, rank) for operand in operands]
        if op in ("add", "multiply") and whole[0].value is not None:
            whole.reverse()
        result = node.apply(op, *whole)
        return activated(node, result) if fused else result

    return node.through_float(compute)


def _ranked(node: Operation, operand: Node, rank: int) -> Node:
    """An operand of fewer dimensions than the result, in a shape that broadcasts in the graph's layout."""
    if len(operand.shape) == rank or not operand.shape:
        return operand
    padded = node.apply("reshape", operand, newshape=(1,) * (rank - len(operand.shape)) + operand.shape)
    return node.from_file_layout(padded)


CONVERTERS: dict[str, Converter] = {
    "ADD": _add,
    "SUB": _binary("subtract"),
    "MUL": _binary("multiply"),
    "DIV": _binary("divide"),
    "MAXIMUM": _binary("maximum", fused=False),
    "MINIMUM": _binary("minimum", fused=False),
}
