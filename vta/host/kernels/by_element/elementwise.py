"""Operators of real numbers, integers and truth values that compute each element by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.kernels.by_element.pointwise import ConstantMaker, pointwise
from vta.host.kernels.values import Point, Value
from vta.host.loop.expression import BinaryOperation, Expr, UnaryOperation, binary, cast, const, select, unary
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn.activation import ClipAttributes, EluAttributes, HardSigmoidAttributes, LeakyReluAttributes
from vta.ir.ops.nn.norm import AxisAttributes, BatchNormAttributes

__all__ = ["along", "by_operands", "limited", "real"]

Array = NDArray[Any]
_Rule = Callable[[Node, Sequence[Expr]], Expr]
_CHANNEL_AXIS = 1
_LARGEST_INT64 = 2.0**63 - 1024
"""The largest double below 2^63."""


def by_operands(*names: str) -> Callable[[_Rule], _Rule]:
    """Declare an expression of the elements of the operands, which broadcast."""

    def declare(rule: _Rule) -> _Rule:
        def value(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
            return Value(node.shape, node.dtype, lambda point: rule(node, [item.broadcast(point, node.shape) for item in inputs]))

        pointwise(*names)(value)
        return rule

    return declare


_BINARY: dict[str, BinaryOperation] = {
    ops.ADD: "add", ops.SUBTRACT: "sub", ops.MULTIPLY: "mul", ops.DIVIDE: "div", ops.MAXIMUM: "max", ops.MINIMUM: "min",
    ops.POWER: "pow", ops.LESS: "lt", ops.LESS_EQUAL: "le", ops.EQUAL: "eq", ops.LOGICAL_AND: "and", ops.LOGICAL_OR: "or",
    ops.LOGICAL_XOR: "xor",
}  # fmt: skip
_TURNED: dict[str, BinaryOperation] = {ops.GREATER: "lt", ops.GREATER_EQUAL: "le"}
_SHIFTS: dict[str, BinaryOperation] = {ops.LEFT_SHIFT: "shl", ops.RIGHT_SHIFT: "shr"}
_UNARY: dict[str, UnaryOperation] = {
    ops.EXP: "exp", ops.LOG: "log", ops.SQRT: "sqrt", ops.NEGATIVE: "neg", ops.ABS: "abs", ops.FLOOR: "floor", ops.CEIL: "ceil",
    ops.ROUND: "round_even", ops.TANH: "tanh", ops.ERF: "erf", ops.SIN: "sin", ops.COS: "cos",
}  # fmt: skip


@by_operands(*_BINARY)
def _binary(node: Node, args: Sequence[Expr]) -> Expr:
    return binary(_BINARY[node.op], *args)


@by_operands(*_TURNED)
def _turned(node: Node, args: Sequence[Expr]) -> Expr:
    return binary(_TURNED[node.op], args[1], args[0])


@by_operands(*_SHIFTS)
def _shift(node: Node, args: Sequence[Expr]) -> Expr:
    """What computed amounts must be is looked at apart (`checked.py`); here they are such that the processor can."""
    data, amount = args
    amount = amount if node.inputs[1].value is not None else limited(amount, 0, 31, "int32")
    return binary(_SHIFTS[node.op], data, amount)


@by_operands(*_UNARY)
def _unary(node: Node, args: Sequence[Expr]) -> Expr:
    return unary(_UNARY[node.op], args[0])


@by_operands(ops.LOGICAL_NOT)
def _not(node: Node, args: Sequence[Expr]) -> Expr:
    return binary("xor", args[0], const(True, "bool"))


@by_operands(ops.SIGN)
def _sign(node: Node, args: Sequence[Expr]) -> Expr:
    """-1, 0 or 1; NaN stays."""
    value, zero = args[0], const(0, node.dtype)
    rest = select(binary("eq", value, zero), zero, value)
    if node.dtype != "uint8":
        rest = select(binary("lt", value, zero), const(-1, node.dtype), rest)
    return select(binary("lt", zero, value), const(1, node.dtype), rest)


@by_operands(ops.WHERE)
def _where(node: Node, args: Sequence[Expr]) -> Expr:
    return select(args[0], args[1], args[2])


@by_operands(ops.RELU)
def _relu(node: Node, args: Sequence[Expr]) -> Expr:
    return binary("max", args[0], const(0, node.dtype))


@by_operands(ops.CLIP)
def _clip(node: Node, args: Sequence[Expr]) -> Expr:
    low, high = attrs_of(node, ClipAttributes).bounds(node.dtype)
    value = args[0]
    if not math.isinf(low):
        value = binary("max", value, real(low, node.dtype))
    return value if math.isinf(high) else binary("min", value, real(high, node.dtype))


@by_operands(ops.LEAKY_RELU)
def _leaky_relu(node: Node, args: Sequence[Expr]) -> Expr:
    value = args[0]
    below = binary("mul", value, real(attrs_of(node, LeakyReluAttributes).alpha, node.dtype))
    return select(binary("lt", value, const(0, node.dtype)), below, value)


@by_operands(ops.ELU)
def _elu(node: Node, args: Sequence[Expr]) -> Expr:
    value, zero = args[0], const(0, node.dtype)
    below = binary("mul", real(attrs_of(node, EluAttributes).alpha, node.dtype), unary("expm1", binary("min", value, zero)))
    return select(binary("lt", value, zero), below, value)


@by_operands(ops.SIGMOID)
def _sigmoid(node: Node, args: Sequence[Expr]) -> Expr:
    one = const(1, node.dtype)
    return binary("div", one, binary("add", one, unary("exp", unary("neg", args[0]))))


@by_operands(ops.HARD_SIGMOID)
def _hard_sigmoid(node: Node, args: Sequence[Expr]) -> Expr:
    attrs = attrs_of(node, HardSigmoidAttributes)
    line = binary("add", binary("mul", args[0], real(attrs.alpha, node.dtype)), real(attrs.beta, node.dtype))
    return limited(line, 0, 1, node.dtype)


@by_operands(ops.HARD_SWISH)
def _hard_swish(node: Node, args: Sequence[Expr]) -> Expr:
    line = binary("add", binary("mul", args[0], real(1 / 6, node.dtype)), real(0.5, node.dtype))
    return binary("mul", args[0], limited(line, 0, 1, node.dtype))


def _rounded_to_odd(value: Expr) -> Expr:
    """A float64 as a float32 from which any shorter number is rounded as from the value itself.

    What is not exact is cut off, and its last bit set (S. Boldo and G. Melquiond, "When double rounding is odd", 2005).
    """
    near = cast(value, "float32")
    pattern, back = unary("bits", near), cast(near, "float64")
    one = const(1, "int32")
    cut = select(binary("lt", unary("abs", value), unary("abs", back)), binary("sub", pattern, one), pattern)
    return select(binary("eq", back, value), near, unary("unbits", binary("or", cut, one)))


@by_operands(ops.CAST)
def _cast(node: Node, args: Sequence[Expr]) -> Expr:
    value, dtype = args[0], node.dtype
    if value.dtype == dtype:
        return value
    if value.dtype == "float16":
        value = cast(value, "float32")
    if dtype == "float16":
        # Of whole numbers those are exact in float32 that are not beyond half precision.
        return cast(_rounded_to_odd(value) if value.dtype == "float64" else cast(value, "float32"), dtype)
    if not value.dtype.startswith("float") or dtype.startswith("float") or dtype == "bool":
        return cast(value, dtype)
    limits = np.iinfo(dtype)
    whole = _number(unary("trunc", cast(value, "float64")))
    return cast(limited(whole, float(limits.min), min(float(limits.max), _LARGEST_INT64), "float64"), dtype)


def _number(value: Expr) -> Expr:
    """The value, or 0 where it is not a number."""
    return select(binary("eq", value, value), value, const(0, value.dtype))


def limited(value: Expr, low: float, high: float, dtype: str) -> Expr:
    """A value within bounds."""
    return binary("min", binary("max", value, const(low, dtype)), const(high, dtype))


def real(value: float, dtype: str) -> Expr:
    """A number as the type holds it."""
    return const(np.dtype(dtype).type(value).item(), dtype)


def along(point: Point, axis: int, values: Value) -> Expr:
    """The entry of a vector that meets a point, along an axis of the point's tensor."""
    return values.at((point[axis % len(point)],))


@pointwise(ops.BIAS_ADD)
def _bias_add(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    data, bias = inputs
    axis = attrs_of(node, AxisAttributes).axis
    return Value(node.shape, node.dtype, lambda point: binary("add", data.at(point), along(point, axis, bias)))


@pointwise(ops.PRELU)
def _prelu(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    data, slope = inputs

    def at(point: Point) -> Expr:
        value = data.at(point)
        below = binary("mul", value, along(point, _CHANNEL_AXIS, slope))
        return select(binary("lt", value, const(0, node.dtype)), below, value)

    return Value(node.shape, node.dtype, at)


@pointwise(ops.BATCH_NORM)
def _batch_norm(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    attrs = attrs_of(node, BatchNormAttributes)
    if all(item.value is not None for item in node.inputs[1:]):
        gamma, beta, mean, var = (np.asarray(item.value) for item in node.inputs[1:])
        factor = gamma / np.sqrt(var + gamma.dtype.type(attrs.epsilon))
        scale, shift = make_constant(factor), make_constant(beta - mean * factor)
        return _line(
            node, inputs[0], lambda point: along(point, attrs.axis, scale), lambda point: along(point, attrs.axis, shift)
        )

    def slope(point: Point) -> Expr:
        gamma, _, _, var = (along(point, attrs.axis, item) for item in inputs[1:])
        return binary("div", gamma, unary("sqrt", binary("add", var, real(attrs.epsilon, node.dtype))))

    def start(point: Point) -> Expr:
        _, beta, mean, _ = (along(point, attrs.axis, item) for item in inputs[1:])
        return binary("sub", beta, binary("mul", mean, slope(point)))

    return _line(node, inputs[0], slope, start)


def _line(node: Node, data: Value, slope: Callable[[Point], Expr], start: Callable[[Point], Expr]) -> Value:
    """Values of a straight line for each channel."""
    return Value(node.shape, node.dtype, lambda point: binary("add", binary("mul", data.at(point), slope(point)), start(point)))
