"""Operators of scaled integers that compute each element by itself, to the bit of their references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vta.host.kernels.by_element.elementwise import limited, real
from vta.host.kernels.by_element.pointwise import ConstantMaker, pointwise
from vta.host.kernels.by_element.rescaling import (
    by_channel,
    even_levels,
    even_real,
    multiplied,
    multiplied_down,
    multiplied_once,
    narrowed,
    requantized,
    round_half_up,
    rounded_away,
)
from vta.host.kernels.values import Point, Value
from vta.host.loop.expression import Expr, binary, cast, const, select, unary
from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import (
    add_multipliers,
    multiplier_and_shift,
    residual_multiplier,
    slope_multiplier,
)
from vta.ir.arithmetic.tflite_rounding import ADD_LEFT_SHIFT, quantized_multiplier
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.quantized.activation import LEAKY_LIMIT, SWISH_LIMIT, HardSwishAttributes, LeakyReluAttributes
from vta.ir.ops.quantized.qnn import AddAttributes, DequantizeAttributes, QuantizeAttributes, RequantizeAttributes, even_ratio

__all__: list[str] = []

_BYTES = ("int8", "uint8")
_RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int32": (-(2**31), 2**31 - 1)}


def _bounds(attrs: Any) -> tuple[int, int]:
    """The smallest and the largest level that an operator gives."""
    return (attrs.a_min, attrs.a_max) if attrs.out_dtype == "int8" else _RANGES[attrs.out_dtype]


def _int64(value: Expr, less: int = 0) -> Expr:
    """A value in 64 bits, less a zero point."""
    wide = cast(value, "int64")
    return binary("sub", wide, const(less, "int64")) if less else wide


def _moved(levels: Expr, zero_point: int) -> Expr:
    return binary("add", levels, const(zero_point, levels.dtype)) if zero_point else levels


def _to_even(value: Expr) -> Expr:
    return unary("round_even", value)


_ROUNDED: dict[str, Callable[[Expr], Expr]] = {"up": round_half_up, "tflite": rounded_away}


@pointwise(ops.QNN_QUANTIZE)
def _quantize(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    attrs = attrs_of(node, QuantizeAttributes)
    work = "float64" if attrs.rounding == "up" else "float32"
    scale = by_channel(attrs.scale, work, attrs.axis, make_constant)
    low, high = _RANGES[attrs.out_dtype]
    shifted = attrs.rounding == "even_shifted"
    rounded = _ROUNDED.get(attrs.rounding, _to_even)

    def at(point: Point) -> Expr:
        value = binary("div", cast(inputs[0].at(point), work), scale(point))
        if shifted:
            value = binary("add", value, real(attrs.zero_point, work))
        levels = cast(rounded(value), "float64")
        if shifted:
            levels = binary("sub", levels, const(attrs.zero_point, "float64"))
        # Not a number counts as zero.
        levels = select(binary("eq", levels, levels), levels, const(0, "float64"))
        return narrowed(_moved(levels, attrs.zero_point), low, high, attrs.out_dtype)

    return Value(node.shape, node.dtype, at)


@pointwise(ops.QNN_DEQUANTIZE)
def _dequantize(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    attrs = attrs_of(node, DequantizeAttributes)
    scale = by_channel(attrs.scale, "float64", attrs.axis, make_constant)

    def at(point: Point) -> Expr:
        level = _int64(inputs[0].at(point), attrs.zero_point)
        return cast(binary("mul", cast(level, "float64"), scale(point)), "float32")

    return Value(node.shape, node.dtype, at)


_Rescaler = Callable[[Expr, Point], Expr]
"""From an integer less its zero point to levels, not yet clipped."""


def _rescaler(attrs: RequantizeAttributes | AddAttributes, scale: Any, make_constant: ConstantMaker) -> _Rescaler:
    """How `attrs` bring an integer at a scale to that of the output, with its zero point."""
    ratio = np.asarray(scale, np.float64) / attrs.output_scale
    zero_point, axis = attrs.output_zero_point, attrs.axis
    if attrs.rounding == "even":
        ratios = even_ratio(scale, attrs.output_scale)
        factor = by_channel(ratios, "float32", axis, make_constant)
        return lambda value, point: _moved(even_levels(_int64(value), factor(point), np.max(ratios)), zero_point)
    if attrs.rounding != "up":
        multiply = multiplied if attrs.rounding == "tflite" else multiplied_once
        multiplier, exponent = quantized_multiplier(ratio)
        if attrs.rounding == "tflite" and np.all(multiplier > 0) and np.all(exponent < 0):
            halves = np.int64(1) << (-exponent.astype(np.int64) - 1)
            factor, down, half = (
                by_channel(part, "int64", axis, make_constant) for part in (multiplier, -exponent.astype(np.int64), halves)
            )
            return lambda value, point: _moved(
                multiplied_down(_int64(value), factor(point), down(point), half(point)), zero_point
            )
        parts = [by_channel(part, "int64", axis, make_constant) for part in (multiplier, exponent)]
        return lambda value, point: _moved(multiply(_int64(value), *(part(point) for part in parts)), zero_point)
    if attrs.bound == 0:
        factor = by_channel(ratio, "float64", axis, make_constant)
        return lambda value, point: _moved(
            round_half_up(binary("mul", cast(_int64(value), "float64"), factor(point))), zero_point
        )
    multiplier, shift = multiplier_and_shift(ratio, attrs.bound, abs(zero_point))
    steps = requantized(multiplier, shift, zero_point, axis, make_constant)
    return lambda value, point: steps(cast(value, "int32"), point)


@pointwise(ops.QNN_REQUANTIZE)
def _requantize(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    attrs = attrs_of(node, RequantizeAttributes)
    dtype = node.inputs[0].dtype
    if dtype in _BYTES and attrs.bound == 0 and np.all(np.asarray(attrs.input_scale) == attrs.output_scale):
        return Value(node.shape, node.dtype, lambda point: _moved_byte(inputs[0].at(point), attrs))
    if attrs.rounding == "even" and attrs.out_dtype in _BYTES and (dtype in _BYTES or attrs.input_zero_point == 0):
        return _even_bytes(node, attrs, inputs[0], make_constant)
    rescale = _rescaler(attrs, attrs.input_scale, make_constant)

    def at(point: Point) -> Expr:
        value = _int64(inputs[0].at(point), attrs.input_zero_point)
        return narrowed(rescale(value, point), *_bounds(attrs), attrs.out_dtype)

    return Value(node.shape, node.dtype, at)


def _moved_byte(value: Expr, attrs: RequantizeAttributes) -> Expr:
    """A byte whose scale stays: however it is rounded, a byte times one is the byte. Limits that it cannot reach are left out."""
    moved = _moved(cast(value, "int32"), attrs.output_zero_point - attrs.input_zero_point)
    least, most = (limit + attrs.output_zero_point - attrs.input_zero_point for limit in _RANGES[value.dtype])
    low, high = _bounds(attrs)
    return cast(moved, attrs.out_dtype) if low <= least and most <= high else narrowed(moved, low, high, attrs.out_dtype)


def _even_bytes(node: Node, attrs: RequantizeAttributes, data: Value, make_constant: ConstantMaker) -> Value:
    """Bytes of integers of up to 32 bits, products in single precision: these are limited before they become integers again."""
    ratios = even_ratio(attrs.input_scale, attrs.output_scale)
    factor = by_channel(ratios, "float32", attrs.axis, make_constant)
    low, high = (float(limit - attrs.output_zero_point) for limit in _bounds(attrs))

    def at(point: Point) -> Expr:
        value = _moved(cast(data.at(point), "int32"), -attrs.input_zero_point)
        levels = limited(even_real(value, factor(point), np.max(ratios)), low, high, "float32")
        return cast(_moved(cast(levels, "int32"), attrs.output_zero_point), attrs.out_dtype)

    return Value(node.shape, node.dtype, at)


@pointwise(ops.QNN_ADD)
def _add(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    attrs = attrs_of(node, AddAttributes)
    levels = _sum_levels(node, attrs, make_constant)

    def at(point: Point) -> Expr:
        lhs, rhs = (item.at(point) for item in inputs)
        return narrowed(levels(lhs, rhs, point), *_bounds(attrs), attrs.out_dtype)

    return Value(node.shape, node.dtype, at)


_Sum = Callable[[Expr, Expr, Point], Expr]
"""From two operands to the levels of their sum."""


def _sum_levels(node: Node, attrs: AddAttributes, make_constant: ConstantMaker) -> _Sum:
    if node.inputs[0].dtype == "int32":
        return _accumulator_sum(attrs, make_constant)
    if attrs.rounding == "even_reals":
        return _sum_of_reals(attrs)
    if attrs.rounding.startswith("even"):
        return _even_sum(attrs)
    return _tflite_sum(attrs) if attrs.rounding == "tflite" else _shifted_sum(attrs, make_constant)


def _accumulator_sum(attrs: AddAttributes, make_constant: ConstantMaker) -> _Sum:
    multiplier = by_channel(residual_multiplier(attrs.rhs_scale, attrs.lhs_scale), "int32", attrs.axis, make_constant)
    rescale = _rescaler(attrs, attrs.lhs_scale, make_constant)

    def levels(lhs: Expr, rhs: Expr, point: Point) -> Expr:
        left, right = (
            binary("sub", cast(value, "int32"), const(zero_point, "int32"))
            for value, zero_point in ((lhs, attrs.lhs_zero_point), (rhs, attrs.rhs_zero_point))
        )
        return rescale(binary("add", left, binary("mul", right, multiplier(point))), point)

    return levels


def _shifted_sum(attrs: AddAttributes, make_constant: ConstantMaker) -> _Sum:
    lhs_scale = float(np.asarray(attrs.lhs_scale))
    ml, mr, shift = add_multipliers(lhs_scale / attrs.output_scale, attrs.rhs_scale / attrs.output_scale)
    steps = requantized(1, shift, attrs.output_zero_point, attrs.axis, make_constant)

    def levels(lhs: Expr, rhs: Expr, point: Point) -> Expr:
        left, right = (
            binary("mul", binary("sub", cast(value, "int32"), const(zero_point, "int32")), const(factor, "int32"))
            for value, zero_point, factor in ((lhs, attrs.lhs_zero_point, ml), (rhs, attrs.rhs_zero_point, mr))
        )
        return steps(binary("add", left, right), point)

    return levels


def _tflite_sum(attrs: AddAttributes) -> _Sum:
    lhs_scale = float(np.asarray(attrs.lhs_scale))
    twice = 2.0 * max(lhs_scale, attrs.rhs_scale)

    def rescaled(value: Expr, ratio: float) -> Expr:
        multiplier, exponent = (const(int(part), "int64") for part in quantized_multiplier(ratio))
        return multiplied(value, multiplier, exponent)

    def levels(lhs: Expr, rhs: Expr, point: Point) -> Expr:
        left, right = (
            rescaled(binary("shl", _int64(value, zero_point), const(ADD_LEFT_SHIFT, "int64")), scale / twice)
            for value, zero_point, scale in (
                (lhs, attrs.lhs_zero_point, lhs_scale),
                (rhs, attrs.rhs_zero_point, attrs.rhs_scale),
            )
        )
        total = rescaled(binary("add", left, right), twice / (2.0**ADD_LEFT_SHIFT * attrs.output_scale))
        return _moved(total, attrs.output_zero_point)

    return levels


def _sum_of_reals(attrs: AddAttributes) -> _Sum:
    def levels(lhs: Expr, rhs: Expr, point: Point) -> Expr:
        left, right = (
            cast(binary("mul", cast(_int64(value, zero_point), "float64"), const(float(np.asarray(scale)), "float64")), "float32")
            for value, zero_point, scale in (
                (lhs, attrs.lhs_zero_point, attrs.lhs_scale),
                (rhs, attrs.rhs_zero_point, attrs.rhs_scale),
            )
        )
        total = binary("div", binary("add", left, right), real(attrs.output_scale, "float32"))
        return _moved(_whole(total), attrs.output_zero_point)

    return levels


def _whole(value: Expr) -> Expr:
    return cast(unary("round_even", value), "int64")


def _even_sum(attrs: AddAttributes) -> _Sum:
    """In single precision, each step of ``factor * value + term`` rounded once."""
    offset = 128 if attrs.rounding == "even_unsigned" else 0
    left, right = (even_ratio(scale, attrs.output_scale) for scale in (attrs.lhs_scale, attrs.rhs_scale))
    right_zero = right * np.float32(attrs.rhs_zero_point + offset)
    zeros = np.float32(np.float64(left) * (attrs.lhs_zero_point + offset) + np.float64(right_zero))
    fixed = np.float32(attrs.output_zero_point + offset) - zeros

    def fused(factor: Any, value: Expr, term: Expr) -> Expr:
        product = binary("mul", const(float(factor), "float64"), cast(_int64(value, -offset), "float64"))
        return cast(binary("add", product, term), "float32")

    def levels(lhs: Expr, rhs: Expr, point: Point) -> Expr:
        first = fused(left, lhs, const(float(fixed), "float64"))
        return _moved(_whole(fused(right, rhs, cast(first, "float64"))), -offset)

    return levels


@pointwise(ops.QNN_LEAKY_RELU)
def _leaky_relu(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    attrs = attrs_of(node, LeakyReluAttributes)
    steps = requantized(*slope_multiplier(attrs.alpha), 0, attrs.axis, make_constant)

    def at(point: Point) -> Expr:
        value = limited(cast(inputs[0].at(point), "int32"), -LEAKY_LIMIT, LEAKY_LIMIT - 1, "int32")
        zero = const(0, "int32")
        below = steps(binary("min", value, zero), point)
        return narrowed(select(binary("lt", value, zero), below, value), -128, 127, "int8")

    return Value(node.shape, node.dtype, at)


@pointwise(ops.QNN_HARD_SWISH)
def _hard_swish(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    wide = node.inputs[0].dtype == "int32"
    made = attrs_of(node, HardSwishAttributes).constants(node.inputs[0].dtype)

    def at(point: Point) -> Expr:
        value = cast(inputs[0].at(point), "int32")
        value = limited(value, -SWISH_LIMIT, SWISH_LIMIT - 1, "int32") if wide else value
        line = binary("add", binary("mul", value, const(made.factor, "int32")), const(made.share, "int32"))
        share = limited(line, 0, 2 * made.share, "int32")
        total = binary("add", binary("mul", value, share), const(made.term, "int32"))
        return narrowed(binary("shr", total, const(made.shift, "int32")), -128, 127, "int8")

    return Value(node.shape, node.dtype, at)
