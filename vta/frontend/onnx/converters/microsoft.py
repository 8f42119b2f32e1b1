"""Quantised operators that ONNX Runtime adds to ONNX. Those without an integer form go through real numbers, as they do there."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import like
from vta.frontend.onnx.converters.pooling import as_before, as_image, average_pool
from vta.frontend.onnx.converters.quantized import held, one_scale, zero_point_of
from vta.frontend.onnx.operation import MICROSOFT, Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _add(node: Operation) -> Node:
    (lhs, lhs_zero), (rhs, rhs_zero) = held(node, 0, 2), held(node, 3, 5)
    lhs_scale, rhs_scale = one_scale(node, 1), one_scale(node, 4)
    to_scale, (to_zero, dtype) = one_scale(node, 6), zero_point_of(node, 7, node.input(0))
    if lhs.value is not None:
        lhs, lhs_zero, lhs_scale, rhs, rhs_zero, rhs_scale = rhs, rhs_zero, rhs_scale, lhs, lhs_zero, lhs_scale
    if rhs.shape != lhs.shape:
        rhs = node.apply(ops.BROADCAST_TO, rhs, shape=lhs.shape)
    value = node.apply(
        ops.QNN_ADD,
        lhs,
        rhs,
        lhs_scale=lhs_scale,
        lhs_zero_point=lhs_zero,
        rhs_scale=rhs_scale,
        rhs_zero_point=rhs_zero,
        output_scale=to_scale,
        output_zero_point=to_zero,
        rounding="even_unsigned" if dtype == "uint8" else "even",
    )
    return node.typed(value, dtype)


def _global_average(node: Operation) -> Node:
    _require_channels_first(node)
    data, zero_point = held(node, 0, 2)
    to_zero, dtype = zero_point_of(node, 4, node.input(0))
    value = node.apply(
        ops.QNN_GLOBAL_AVG_POOL2D,
        as_image(node, data),
        input_scale=one_scale(node, 1),
        input_zero_point=zero_point,
        output_scale=one_scale(node, 3),
        output_zero_point=to_zero,
        rounding="even",
    )
    return as_before(node, node.typed(value, dtype))


def _require_channels_first(node: Operation) -> None:
    if node.integer("channels_last", 0):
        raise UnsupportedNodeError("channels_last=1")


def _real(node: Operation, index: int) -> Node:
    """Operand `index` as real numbers; its scale and zero point follow it."""
    data, zero_point = held(node, index, index + 2)
    return node.apply(ops.QNN_DEQUANTIZE, data, scale=one_scale(node, index + 1), zero_point=zero_point)


def _bytes(node: Operation, value: Node, to: int, typed_as: int = 0, scale: float | None = None, rounding: str = "even") -> Node:
    """Real numbers as bytes, at the zero point of input `to` + 1 and the scale before it, unless another is given."""
    zero_point, dtype = zero_point_of(node, to + 1, node.input(typed_as))
    step = one_scale(node, to) if scale is None else scale
    return node.typed(node.apply(ops.QNN_QUANTIZE, value, scale=step, zero_point=zero_point, rounding=rounding), dtype)


def _unary(convert: Callable[[Operation, Node], Node], rounding: str = "even") -> Converter:
    return lambda node: _bytes(node, convert(node, _real(node, 0)), 3, rounding=rounding)


def _leaky_relu(node: Operation, value: Node) -> Node:
    return node.apply(ops.LEAKY_RELU, value, alpha=node.number("alpha", 0.01))


def _sigmoid(node: Operation, value: Node) -> Node:
    return node.apply(ops.SIGMOID, value)


def _average(node: Operation, value: Node) -> Node:
    _require_channels_first(node)
    return average_pool(node, value)


def _softmax(node: Operation) -> Node:
    """ONNX Runtime cuts the number of levels in 1, the output scale's inverse, to a whole one."""
    value, levels = _real(node, 0), math.floor(np.float32(1) / np.float32(one_scale(node, 3)))
    axis = node.integer("axis", -1)
    if node.integer("opset") < 13 and axis % len(value.shape) != len(value.shape) - 1:
        raise UnsupportedNodeError(f"opset {node.integer('opset')} with axis {axis}, which is not the last")
    shares = node.apply(ops.SOFTMAX, value, axis=axis)
    return _bytes(node, node.apply(ops.MULTIPLY, shares, like(float(levels), shares)), 3, scale=1.0)


def _multiply(node: Operation) -> Node:
    """The product of two levels, an integer, times one ratio of the scales, in single precision."""
    lhs, rhs = (_levels(node, index) for index in (0, 3))
    ratio = np.float32(one_scale(node, 1)) * np.float32(one_scale(node, 4)) / np.float32(one_scale(node, 6))
    product = node.apply(ops.MULTIPLY, node.apply(ops.MULTIPLY, lhs, rhs), like(float(ratio), lhs))
    return _bytes(node, product, 6, scale=1.0, rounding="even_shifted")


def _levels(node: Operation, index: int) -> Node:
    """Operand `index` less its zero point, as floats."""
    data, zero_point = held(node, index, index + 2)
    return node.apply(ops.QNN_DEQUANTIZE, data, scale=1.0, zero_point=zero_point)


def _concat(node: Operation) -> Node:
    if node.arity < 5 or (node.arity - 2) % 3:
        raise ImportModelError(f"takes a scale, a zero point and three inputs for each part, got {node.arity}")
    parts = [_bytes(node, _real(node, index), 0, index) for index in range(2, node.arity, 3)]
    return node.apply(ops.CONCATENATE, *parts, axis=node.integer("axis"))


CONVERTERS: dict[str, Converter] = {
    f"QLinearAdd{MICROSOFT}": _add,
    f"QLinearAveragePool{MICROSOFT}": _unary(_average, "even_shifted"),
    f"QLinearConcat{MICROSOFT}": _concat,
    f"QLinearGlobalAveragePool{MICROSOFT}": _global_average,
    f"QLinearLeakyRelu{MICROSOFT}": _unary(_leaky_relu),
    f"QLinearMul{MICROSOFT}": _multiply,
    f"QLinearSigmoid{MICROSOFT}": _unary(_sigmoid),
    f"QLinearSoftmax{MICROSOFT}": _softmax,
}
