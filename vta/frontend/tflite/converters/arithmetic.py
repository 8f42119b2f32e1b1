"""Element-wise arithmetic of two tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

import numpy as np

from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import SIGNED_INTEGERS, like
from vta.frontend.tflite.converters._fused import activated, limits
from vta.frontend.tflite.converters._integers import constant_last, levels, ranked, requantized, rescaled
from vta.frontend.tflite.operation import Converter, Operation, is_quantized, quantization_of
from vta.ir import names as ops
from vta.ir.arithmetic.tflite_rounding import ADD_LEFT_SHIFT
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _add(node: Operation) -> Node:
    if not _of_bytes(node):
        return _through_float(node, ops.ADD, fused=True)
    lhs, rhs = node.input(0), node.input(1)
    if lhs.shape != rhs.shape or lhs.value is not None or rhs.value is not None:
        return _rescaled_sum(node, ops.ADD)
    left, right, to = quantization_of(node.tensor(0)), quantization_of(node.tensor(1)), quantization_of(node.output())
    return node.apply(
        ops.QNN_ADD,
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


def _subtract(node: Operation) -> Node:
    return _rescaled_sum(node, ops.SUBTRACT) if _of_bytes(node) else _through_float(node, ops.SUBTRACT, fused=True)


def _multiply(node: Operation) -> Node:
    """The product of two levels, an integer, times one ratio of the scales, in single precision."""
    if not _of_bytes(node):
        return _through_float(node, ops.MULTIPLY, fused=True)
    lhs, rhs = (np.float32(quantization_of(node.tensor(index)).scale) for index in (0, 1))
    ratio = lhs * rhs / np.float32(quantization_of(node.output()).scale)
    product = node.apply(ops.MULTIPLY, *constant_last(levels(node, 0), levels(node, 1)))
    return requantized(node, product, float(ratio), 1.0)


def _of_bytes(node: Operation) -> bool:
    """Whether operands and result are quantised."""
    return all(is_quantized(record) for record in (node.tensor(0), node.tensor(1), node.output()))


def _rescaled_sum(node: Operation, op: str) -> Node:
    """Both operands with 20 more bits at twice the larger scale, then their sum or difference at the output's."""
    scales = [quantization_of(node.tensor(index)).scale for index in (0, 1)]
    twice = 2.0 * max(scales)
    raised = [_raised(node, index, scales[index], twice) for index in (0, 1)]
    total = node.apply(op, *(constant_last(*raised) if op == ops.ADD else raised))
    return requantized(node, total, twice / 2.0**ADD_LEFT_SHIFT, quantization_of(node.output()).scale)


def _raised(node: Operation, index: int, scale: float, twice: float) -> Node:
    value = levels(node, index)
    return rescaled(node, node.apply(ops.MULTIPLY, value, like(1 << ADD_LEFT_SHIFT, value)), scale, twice)


def _binary(op: str, fused: bool = True) -> Converter:
    return lambda node: _through_float(node, op, fused)


def _through_float(node: Operation, op: str, fused: bool) -> Node:
    rank = len(node.output().shape)

    def compute(*operands: Node) -> Node:
        whole = [ranked(node, operand, rank) for operand in operands]
        if op in (ops.ADD, ops.MULTIPLY) and whole[0].value is not None:
            whole.reverse()
        result = node.apply(op, *whole)
        return activated(node, result) if fused else result

    return node.through_float(compute)


def _whole_operands(node: Operation, indices: Sequence[int]) -> list[Node]:
    """Inputs in shapes that broadcast to the output's, as integers where all have one scale, else as real numbers."""
    records = [node.tensor(index) for index in indices]
    alike = len({quantization_of(record) if is_quantized(record) else None for record in records}) == 1
    values = [node.input(index) if alike else node.real(index) for index in indices]
    return [ranked(node, value, len(node.output().shape)) for value in values]


def _comparison(op: str, negated: bool = False) -> Converter:
    def convert(node: Operation) -> Node:
        result = node.apply(op, *_whole_operands(node, (0, 1)))
        return node.apply(ops.LOGICAL_NOT, result) if negated else result

    return convert


def _logical(op: str) -> Converter:
    return lambda node: node.apply(op, *_whole_operands(node, (0, 1)))


def _select(node: Operation) -> Node:
    """Inputs: a condition, and the values where it holds and where it does not."""
    rank = len(node.output().shape)
    condition = node.input(0)
    if node.record.kind == "SELECT" and len(condition.shape) == 1 < rank:
        # Each decides on a whole sample.
        condition = node.apply(ops.RESHAPE, condition, newshape=(-1, *(1,) * (rank - 1)))
    if is_quantized(node.output()):
        for index in (1, 2):
            if quantization_of(node.tensor(index)) != quantization_of(node.output()):
                raise UnsupportedNodeError("its inputs and output have different scales or zero points")
    return node.apply(ops.WHERE, ranked(node, condition, rank), *_whole_operands(node, (1, 2)))


def _squared_difference(node: Operation) -> Node:
    rank = len(node.output().shape)

    def compute(left: Node, right: Node) -> Node:
        difference = node.apply(ops.SUBTRACT, ranked(node, left, rank), ranked(node, right, rank))
        return node.apply(ops.MULTIPLY, difference, difference)

    return node.through_float(compute)


def _division(node: Operation) -> Node:
    """Of integers that are no levels of real numbers towards zero."""
    if _is_whole(node):
        return activated(node, node.apply(ops.TRUNC_DIVIDE, *_whole_operands(node, (0, 1))))
    return _through_float(node, ops.DIVIDE, fused=True)


def _floor_division(node: Operation) -> Node:
    left, right = _dividend_and_divisor(node)
    if _is_whole(node):
        return node.apply(ops.FLOOR_DIVIDE, left, right)
    return node.apply(ops.FLOOR, node.apply(ops.DIVIDE, left, right))


def _floor_remainder(node: Operation) -> Node:
    left, right = _dividend_and_divisor(node)
    if _is_whole(node):
        return node.apply(ops.FLOOR_MOD, left, right)
    whole = node.apply(ops.FLOOR, node.apply(ops.DIVIDE, left, right))
    return node.apply(ops.SUBTRACT, left, node.apply(ops.MULTIPLY, whole, right))


def _is_whole(node: Operation) -> bool:
    return node.input().dtype in SIGNED_INTEGERS and not is_quantized(node.tensor())


def _dividend_and_divisor(node: Operation) -> list[Node]:
    if node.input().dtype != "float32" and not _is_whole(node):
        raise UnsupportedNodeError(f"of {node.tensor().dtype}; only of float32 and of integers without a scale")
    return _whole_operands(node, (0, 1))


def _sum_of_all(node: Operation) -> Node:
    return reduce(partial(node.apply, ops.ADD), (node.input(index) for index in range(node.arity)))


CONVERTERS: dict[str, Converter] = {
    "ADD": _add,
    "SUB": _subtract,
    "MUL": _multiply,
    "DIV": _division,
    "ADD_N": _sum_of_all,
    "EQUAL": _comparison(ops.EQUAL),
    "FLOOR_DIV": _floor_division,
    "FLOOR_MOD": _floor_remainder,
    "GREATER": _comparison(ops.GREATER),
    "GREATER_EQUAL": _comparison(ops.GREATER_EQUAL),
    "LESS": _comparison(ops.LESS),
    "LESS_EQUAL": _comparison(ops.LESS_EQUAL),
    "LOGICAL_AND": _logical(ops.LOGICAL_AND),
    "LOGICAL_OR": _logical(ops.LOGICAL_OR),
    "NOT_EQUAL": _comparison(ops.EQUAL, negated=True),
    "POW": _binary(ops.POWER, fused=False),
    "SELECT": _select,
    "SELECT_V2": _select,
    "SQUARED_DIFFERENCE": _squared_difference,
    "MAXIMUM": _binary(ops.MAXIMUM, fused=False),
    "MINIMUM": _binary(ops.MINIMUM, fused=False),
}
