"""Operators that compute each element by itself: an expression of the elements of their inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vta.host.kernels.values import Coordinate, Point, Value
from vta.host.loop.expression import BinaryOperation, Expr, UnaryOperation, binary, cast, const, select, unary
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn_activation import ClipAttributes, HardSigmoidAttributes, LeakyReluAttributes
from vta.ir.ops.nn_norm import AxisAttributes
from vta.ir.ops.qnn import DequantizeAttributes, QuantizeAttributes

__all__ = ["ConstantMaker", "elementwise", "is_elementwise"]

ConstantMaker = Callable[[Any], Value]
"""Makes a constant array an input of the kernel: a tensor over channels."""

_Rule = Callable[[Node, Sequence[Expr]], Expr]
_RULES: dict[str, _Rule] = {}
_CHANNEL_AXIS = 1
_DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "float64")
"""What kernels compute with; truth values and half precision stay with the references."""


def is_elementwise(node: Node) -> bool:
    """Whether `elementwise` knows an operator, with these types and attributes."""
    if any(item.dtype not in _DTYPES for item in (node, *node.inputs)):
        return False
    return node.op in _RULES or (node.op in _BY_CHANNEL and _BY_CHANNEL[node.op][0](node))


def elementwise(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    """The value of a call, at any point, from those of its inputs."""
    if node.op in _BY_CHANNEL:
        return _BY_CHANNEL[node.op][1](node, inputs, make_constant)
    rule = _RULES[node.op]
    return Value(node.shape, node.dtype, lambda point: rule(node, [item.broadcast(point, node.shape) for item in inputs]))


def _rule(*names: str) -> Callable[[_Rule], _Rule]:
    def declare(rule: _Rule) -> _Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return declare


_BINARY: dict[str, BinaryOperation] = {
    ops.ADD: "add", ops.SUBTRACT: "sub", ops.MULTIPLY: "mul", ops.DIVIDE: "div", ops.MAXIMUM: "max", ops.MINIMUM: "min",
    ops.LEFT_SHIFT: "shl", ops.RIGHT_SHIFT: "shr", ops.LESS: "lt", ops.LESS_EQUAL: "le", ops.EQUAL: "eq",
}  # fmt: skip
_UNARY: dict[str, UnaryOperation] = {
    ops.EXP: "exp", ops.LOG: "log", ops.SQRT: "sqrt", ops.NEGATIVE: "neg", ops.ABS: "abs", ops.FLOOR: "floor", ops.CEIL: "ceil",
    ops.ROUND: "round_even", ops.TANH: "tanh",
}  # fmt: skip


@_rule(*(name for name in _BINARY if name not in (ops.LESS, ops.LESS_EQUAL, ops.EQUAL)))
def _binary(node: Node, args: Sequence[Expr]) -> Expr:
    return binary(_BINARY[node.op], *args)


@_rule(*_UNARY)
def _unary(node: Node, args: Sequence[Expr]) -> Expr:
    return unary(_UNARY[node.op], args[0])


@_rule(ops.RELU)
def _relu(node: Node, args: Sequence[Expr]) -> Expr:
    return binary("max", args[0], const(0, node.dtype))


@_rule(ops.CLIP)
def _clip(node: Node, args: Sequence[Expr]) -> Expr:
    low, high = attrs_of(node, ClipAttributes).bounds(node.dtype)
    value = args[0]
    if not math.isinf(low):
        value = binary("max", value, _real(low, node.dtype))
    return value if math.isinf(high) else binary("min", value, _real(high, node.dtype))


@_rule(ops.LEAKY_RELU)
def _leaky_relu(node: Node, args: Sequence[Expr]) -> Expr:
    value = args[0]
    below = binary("mul", value, _real(attrs_of(node, LeakyReluAttributes).alpha, node.dtype))
    return select(binary("lt", value, const(0, node.dtype)), below, value)


@_rule(ops.SIGMOID)
def _sigmoid(node: Node, args: Sequence[Expr]) -> Expr:
    one = const(1, node.dtype)
    return binary("div", one, binary("add", one, unary("exp", unary("neg", args[0]))))


@_rule(ops.HARD_SIGMOID)
def _hard_sigmoid(node: Node, args: Sequence[Expr]) -> Expr:
    attrs = attrs_of(node, HardSigmoidAttributes)
    line = binary("add", binary("mul", args[0], _real(attrs.alpha, node.dtype)), _real(attrs.beta, node.dtype))
    return _limited(line, 0, 1, node.dtype)


@_rule(ops.HARD_SWISH)
def _hard_swish(node: Node, args: Sequence[Expr]) -> Expr:
    line = binary("add", binary("mul", args[0], _real(1 / 6, node.dtype)), _real(0.5, node.dtype))
    return binary("mul", args[0], _limited(line, 0, 1, node.dtype))


def _limited(value: Expr, low: float, high: float, dtype: str) -> Expr:
    return binary("min", binary("max", value, const(low, dtype)), const(high, dtype))


def _real(value: float, dtype: str) -> Expr:
    """A number as the type holds it."""
    return const(np.dtype(dtype).type(value).item(), dtype)


_BY_CHANNEL: dict[str, tuple[Callable[[Node], bool], Callable[[Node, Sequence[Value], ConstantMaker], Value]]] = {}


def _along(channel: Coordinate, values: Value) -> Expr:
    return values.at((channel,))


def _bias_add(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    data, bias = inputs
    axis = attrs_of(node, AxisAttributes).axis % len(node.shape)
    return Value(node.shape, node.dtype, lambda point: binary("add", data.at(point), _along(point[axis], bias)))


def _prelu(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    data, slope = inputs

    def at(point: Point) -> Expr:
        value = data.at(point)
        below = binary("mul", value, _along(point[_CHANNEL_AXIS], slope))
        return select(binary("lt", value, const(0, node.dtype)), below, value)

    return Value(node.shape, node.dtype, at)


def _scale_at(node: Node, scale: Any, dtype: str, make_constant: ConstantMaker, axis: int) -> Callable[[Point], Expr]:
    """The scale that meets a point: a number, or one of those of the channels."""
    if not isinstance(scale, tuple):
        return lambda point: _real(scale, dtype)
    values = make_constant(np.asarray(scale, dtype))
    return lambda point: _along(point[axis % len(node.shape)], values)


def _quantize(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    attrs = attrs_of(node, QuantizeAttributes)
    work = "float32" if attrs.rounding in ("even", "tflite") else "float64"
    scale = _scale_at(node, attrs.scale, work, make_constant, attrs.axis)
    bounds = np.iinfo(attrs.out_dtype)

    def at(point: Point) -> Expr:
        real = binary("div", cast(inputs[0].at(point), work), scale(point))
        levels = cast(_rounded(real, attrs.rounding, work), "float64")
        # Not a number counts as zero.
        levels = select(binary("eq", levels, levels), levels, const(0, "float64"))
        levels = binary("add", levels, const(attrs.zero_point, "float64"))
        return cast(_limited(levels, bounds.min, bounds.max, "float64"), attrs.out_dtype)

    return Value(node.shape, node.dtype, at)


def _rounded(real: Expr, rounding: str, dtype: str) -> Expr:
    """To the nearest whole number: halves to the even one, away from zero, or up."""
    if rounding == "even":
        return unary("round_even", real)
    half = const(0.5, dtype)
    if rounding == "up":
        return unary("floor", binary("add", real, half))
    away = unary("trunc", binary("add", unary("abs", real), half))
    return select(binary("lt", real, const(0, dtype)), unary("neg", away), away)


def _dequantize(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    attrs = attrs_of(node, DequantizeAttributes)
    scale = _scale_at(node, attrs.scale, "float64", make_constant, attrs.axis)

    def at(point: Point) -> Expr:
        level = binary("sub", cast(inputs[0].at(point), "int64"), const(attrs.zero_point, "int64"))
        return cast(binary("mul", cast(level, "float64"), scale(point)), "float32")

    return Value(node.shape, node.dtype, at)


def _cast(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    return Value(node.shape, node.dtype, lambda point: cast(inputs[0].at(point), node.dtype))


def _is_float32(node: Node) -> bool:
    return all(item.dtype == "float32" for item in (node, *node.inputs))


def _casts_plainly(node: Node) -> bool:
    """Between integers, or from integers to floats; floats to integers saturate."""
    return node.inputs[0].dtype != "bool" and node.dtype != "bool" and not node.inputs[0].dtype.startswith("float")


_BY_CHANNEL.update({
    ops.BIAS_ADD: (lambda node: True, _bias_add),
    ops.PRELU: (_is_float32, _prelu),
    ops.QNN_QUANTIZE: (lambda node: True, _quantize),
    ops.QNN_DEQUANTIZE: (lambda node: True, _dequantize),
    ops.CAST: (_casts_plainly, _cast),
})  # fmt: skip
