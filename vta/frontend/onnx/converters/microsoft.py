"""Quantised operators that ONNX Runtime adds to ONNX. Those without an integer form go through real numbers, as they do there."""

from __future__ import annotations

from collections.abc import Callable

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.onnx.converters.pooling import as_before, as_image, average_pool
from vta.frontend.onnx.converters.quantised import DOMAIN, held, one_scale, zero_point_of
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _add(node: Operation) -> Node:
    (lhs, lhs_zero), (rhs, rhs_zero) = held(node, 0, 2), held(node, 3, 5)
    lhs_scale, rhs_scale = one_scale(node, 1), one_scale(node, 4)
    to_scale, (to_zero, dtype) = one_scale(node, 6), zero_point_of(node, 7, node.input(0))
    if lhs.value is not None:
        lhs, lhs_zero, lhs_scale, rhs, rhs_zero, rhs_scale = rhs, rhs_zero, rhs_scale, lhs, lhs_zero, lhs_scale
    if rhs.shape != lhs.shape:
        rhs = node.apply("broadcast_to", rhs, shape=lhs.shape)
    value = node.apply(
        "qnn.add",
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
        "qnn.global_avg_pool2d",
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
    return node.apply("qnn.dequantize", data, scale=one_scale(node, index + 1), zero_point=zero_point)


def _bytes(node: Operation, value: Node, to: int, like: int = 0) -> Node:
    """Real numbers as bytes, at the scale and zero point of inputs `to` and `to` + 1."""
    zero_point, dtype = zero_point_of(node, to + 1, node.input(like))
    return node.typed(node.apply("qnn.quantize", value, scale=one_scale(node, to), zero_point=zero_point, rounding="even"), dtype)


def _unary(convert: Callable[[Operation, Node], Node]) -> Converter:
    return lambda node: _bytes(node, convert(node, _real(node, 0)), 3)


def _leaky_relu(node: Operation, value: Node) -> Node:
    return node.apply("nn.leaky_relu", value, alpha=node.number("alpha", 0.01))


def _sigmoid(node: Operation, value: Node) -> Node:
    return node.apply("sigmoid", value)


def _average(node: Operation, value: Node) -> Node:
    _require_channels_first(node)
    return average_pool(node, value)


def _softmax(node: Operation, value: Node) -> Node:
    axis = node.integer("axis", -1)
    if node.integer("opset") < 13 and axis % len(value.shape) != len(value.shape) - 1:
        raise UnsupportedNodeError(f"opset {node.integer('opset')} with axis {axis}, which is not the last")
    return node.apply("nn.softmax", value, axis=axis)


def _multiply(node: Operation) -> Node:
    return _bytes(node, node.apply("multiply", _real(node, 0), _real(node, 3)), 6)


def _concat(node: Operation) -> Node:
    if node.arity < 5 or (node.arity - 2) % 3:
        raise ImportModelError(f"takes a scale, a zero point and three inputs for each part, got {node.arity}")
    parts = [_bytes(node, _real(node, index), 0, index) for index in range(2, node.arity, 3)]
    return node.apply("concatenate", *parts, axis=node.integer("axis"))


CONVERTERS: dict[str, Converter] = {
    f"QLinearAdd{DOMAIN}": _add,
    f"QLinearAveragePool{DOMAIN}": _unary(_average),
    f"QLinearConcat{DOMAIN}": _concat,
    f"QLinearGlobalAveragePool{DOMAIN}": _global_average,
    f"QLinearLeakyRelu{DOMAIN}": _unary(_leaky_relu),
    f"QLinearMul{DOMAIN}": _multiply,
    f"QLinearSigmoid{DOMAIN}": _unary(_sigmoid),
    f"QLinearSoftmax{DOMAIN}": _unary(_softmax),
}
