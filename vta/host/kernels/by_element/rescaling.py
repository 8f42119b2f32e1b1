"""The arithmetic of rescaled integers as expressions.

`vta.ir.arithmetic.fixed_point` and `vta.ir.arithmetic.tflite_rounding` define the same on arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vta.host.kernels.by_element.elementwise import along, limited
from vta.host.kernels.by_element.pointwise import ConstantMaker
from vta.host.kernels.values import Point
from vta.host.loop.expression import Expr, binary, cast, const, select, unary
from vta.ir.arithmetic.fixed_point import rounding_constant

__all__ = [
    "ByChannel",
    "by_channel",
    "divided_by_power_of_two",
    "doubling_high_product",
    "even_levels",
    "even_real",
    "int64",
    "multiplied",
    "multiplied_down",
    "multiplied_once",
    "narrowed",
    "raised",
    "requantized",
    "round_half_up",
    "rounded_away",
]

ByChannel = Callable[[Point], Expr]
"""A number, or one for each channel, where it meets a point."""
_INT32 = (-(2**31), 2**31 - 1)
_LARGEST_RATIO = np.float32(2**31)


def by_channel(values: Any, dtype: str, axis: int, make_constant: ConstantMaker) -> ByChannel:
    """One number, or an array of those of the channels along an axis, in a data type."""
    array = np.asarray(values).astype(dtype)
    if array.size == 1:
        number = const(array.item(), dtype)
        return lambda point: number
    vector = make_constant(array.reshape(-1))
    return lambda point: along(point, axis, vector)


def int64(value: int) -> Expr:
    """A number of 64 bits."""
    return const(value, "int64")


def narrowed(levels: Expr, low: int, high: int, dtype: str) -> Expr:
    """Levels within bounds, in a smaller type."""
    return cast(limited(levels, low, high, levels.dtype), dtype)


def round_half_up(value: Expr) -> Expr:
    """The nearest whole number, halves upwards."""
    return unary("floor", binary("add", value, const(0.5, value.dtype)))


def rounded_away(value: Expr) -> Expr:
    """The nearest whole number, halves away from zero."""
    away = unary("trunc", binary("add", unary("abs", value), const(0.5, value.dtype)))
    return select(binary("lt", value, const(0, value.dtype)), unary("neg", away), away)


def requantized(
    multiplier: Any, shift: Any, zero_point: int, axis: int, make_constant: ConstantMaker
) -> Callable[[Expr, Point], Expr]:
    """`vta.ir.arithmetic.fixed_point.requantize` of an int32 at a point, which wraps: an int32, not yet clipped."""
    amounts = np.asarray(shift, np.int64)
    factor = by_channel(np.asarray(multiplier, np.int64), "int32", axis, make_constant)
    term = by_channel(rounding_constant(amounts, zero_point), "int32", axis, make_constant)
    amount = by_channel(amounts, "int32", axis, make_constant)

    def at(value: Expr, point: Point) -> Expr:
        return binary("shr", binary("add", binary("mul", value, factor(point)), term(point)), amount(point))

    return at


def even_levels(value: Expr, ratio: Expr, largest: Any) -> Expr:
    """An integer times a float32 `ratio`, rounded to the nearest integer, halves to the even one; int64.

    `largest` is the largest of the ratios.
    """
    return cast(even_real(value, ratio, largest), "int64")


def even_real(value: Expr, ratio: Expr, largest: Any) -> Expr:
    """The same as a float32, which holds it exactly."""
    product = binary("mul", cast(value, "float32"), ratio)
    if not largest < _LARGEST_RATIO:
        known = select(binary("eq", product, product), product, const(0, "float32"))
        product = limited(known, -float(_LARGEST_RATIO), float(_LARGEST_RATIO), "float32")
    return unary("round_even", product)


def doubling_high_product(left: Expr, right: Expr) -> Expr:
    """`vta.ir.arithmetic.tflite_rounding.doubling_high_product`, on int64."""
    product = binary("add", binary("mul", left, right), int64(1 << 30))
    return binary("min", binary("shr", product, int64(31)), int64(_INT32[1]))


def divided_by_power_of_two(value: Expr, exponent: Expr) -> Expr:
    """`vta.ir.arithmetic.tflite_rounding.divide_by_power_of_two`, on int64."""
    moves = select(binary("lt", int64(0), exponent), int64(-1), int64(0))
    down = binary("and", binary("shr", value, int64(63)), moves)
    half = binary("shr", binary("shl", int64(1), exponent), int64(1))
    return binary("shr", binary("add", binary("add", value, down), half), exponent)


def raised(value: Expr, bits: int) -> Expr:
    """`vta.ir.arithmetic.tflite_fixed_point.raised`, on int64."""
    return limited(binary("shl", value, int64(bits)), *_INT32, "int64")


def multiplied(value: Expr, multiplier: Expr, exponent: Expr) -> Expr:
    """`vta.ir.arithmetic.tflite_rounding.multiply_quantized`, on int64."""
    raised = limited(binary("shl", value, binary("max", exponent, int64(0))), *_INT32, "int64")
    down = binary("max", unary("neg", exponent), int64(0))
    return divided_by_power_of_two(doubling_high_product(raised, multiplier), down)


def multiplied_down(value: Expr, multiplier: Expr, down: Expr, half: Expr) -> Expr:
    """`multiplied` by a positive multiplier with an exponent below 0: so many bits go, of which the half is known."""
    raised = limited(value, *_INT32, "int64")
    high = binary("shr", binary("add", binary("mul", raised, multiplier), int64(1 << 30)), int64(31))
    rounded = binary("add", binary("add", high, binary("shr", high, int64(63))), half)
    return binary("shr", rounded, down)


def multiplied_once(value: Expr, multiplier: Expr, exponent: Expr) -> Expr:
    """`vta.ir.arithmetic.tflite_rounding.multiply_quantized_once`, on int64."""
    amount = binary("sub", int64(31), exponent)
    half = binary("shl", int64(1), binary("sub", amount, int64(1)))
    return binary("shr", binary("add", binary("mul", value, multiplier), half), amount)
