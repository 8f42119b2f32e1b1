"""Softmax along an axis, of real numbers and in TFLite's fixed-point arithmetic, and its logarithm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vta.host.kernels.anchor import PlainAnchor, Site
from vta.host.kernels.by_element.rescaling import (
    divided_by_power_of_two,
    doubling_high_product,
    int64,
    multiplied,
    narrowed,
    raised,
)
from vta.host.kernels.reducing.reductions import reduced, shared_loops
from vta.host.kernels.values import Coordinate, Point, Value, plain_point
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage, axes_of
from vta.host.loop.expression import Expr, binary, cast, const, index, load, select, unary
from vta.host.loop.steps import Fuse, Parallel, Split, Step, Vectorize
from vta.ir import names as ops
from vta.ir.arithmetic.tflite_fixed_point import EXP_MINUS_EIGHTH, ONE, POWERS, RECIPROCAL_SLOPE, RECIPROCAL_START, THIRD
from vta.ir.arithmetic.tflite_rounding import quantized_multiplier
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn.norm import SoftmaxAttributes
from vta.ir.ops.quantized.softmax import SoftmaxAttributes as FixedSoftmaxAttributes
from vta.ir.ops.quantized.softmax import exponentials
from vta.support.dataclass import dataclass

__all__ = ["FixedSoftmax", "along", "fixed_arithmetic", "fixed_softmax", "read_stage", "softmax", "stored", "whole_stage"]

_LONGEST_ROW = 1 << 12
"""Values of a row that is kept on the stack."""
_DIFFERENCE_BITS, _SUM_BITS = 5, 12
_LEAST = -(2**31)
_LARGEST_DIFFERENCE = 255
"""Of two bytes."""


def softmax(node: Node, site: Site) -> PlainAnchor:
    """Softmax of floats, or its logarithm."""
    data = site.value(0)
    axis = attrs_of(node, SoftmaxAttributes).axis % len(data.shape)
    largest = reduced("largest", data, [axis], "max", site.lanes)

    def shifted(point: Point) -> Expr:
        return binary("sub", data.at(point), along(largest.value, axis, point))

    powers, steps = stored(Value(data.shape, data.dtype, lambda point: unary("exp", shifted(point))), "powers", site.lanes)
    total = reduced("total", read_stage(powers), [axis], "add", site.lanes)

    def at(point: Point) -> Expr:
        whole = along(total.value, axis, point)
        if node.op == ops.LOG_SOFTMAX:
            return binary("sub", shifted(point), unary("log", whole))
        # One division for all of a row.
        return binary("mul", read_stage(powers).at(point), binary("div", const(1, data.dtype), whole))

    stages = (*largest.stages, powers, *total.stages)
    found = PlainAnchor(stages, Value(node.shape, node.dtype, at), (*largest.steps, *steps, *total.steps))
    fits = axis == len(data.shape) - 1 and data.shape[axis] <= _LONGEST_ROW
    # Loops over rows are those of what reads the stages.
    own = tuple(step for step in found.steps if not isinstance(step, Fuse | Parallel))
    return replace(found, by_row=replace(found, steps=own)) if fits else found


def along(value: Value, axis: int, point: Point) -> Expr:
    """What a value of size 1 along an axis has for a point."""
    return value.at((*point[:axis], Coordinate(index(0)), *point[axis + 1 :]))


def stored(value: Value, name: str, lanes: int) -> tuple[Stage, tuple[Step, ...]]:
    """A stage that holds a value, row by row."""
    axes = axes_of({f"a{at}": size for at, size in enumerate(value.shape)})
    buffer = Buffer(name, value.shape, value.dtype)
    stage = Stage(buffer, axes, value.at(plain_point([axis.var for axis in axes])))
    outer = [axis.name for axis in axes[:-1]]
    return stage, (Split(name, axes[-1].name, lanes, "lo", "li"), Vectorize(name, "li"), *shared_loops(name, outer))


def read_stage(stage: Stage) -> Value:
    """What a stage holds."""
    buffer = stage.output
    return Value(buffer.shape, buffer.dtype, lambda point: load(buffer, [place.whole for place in point]))


@dataclass(frozen=True)
class FixedSoftmax:
    """The arithmetic of `qnn.softmax`, to the bit: what is made of a value, of a row's largest one, and of a row's sum."""

    multiplier: int
    exponent: int
    least: int
    """Values that lie further below the largest one do not count."""

    def counts(self, value: Expr, largest: Expr) -> Expr:
        """Whether a value has a share."""
        return binary("le", int64(self.least), self._difference(value, largest))

    def term(self, value: Expr, largest: Expr) -> Expr:
        """The power of a value's distance from the largest one; int64."""
        apart = self._difference(value, largest)
        counts = binary("le", int64(self.least), apart)
        scaled = multiplied(select(counts, apart, int64(0)), int64(self.multiplier), int64(self.exponent))
        return select(counts, _exp_of_negative(scaled), int64(0))

    def summand(self, term: Expr) -> Expr:
        """What a row's sum is made of."""
        return divided_by_power_of_two(term, int64(_SUM_BITS))

    def headroom(self, total: Expr) -> Expr:
        """By how many bits a row's sum can be shifted up."""
        return _headroom(total)

    def scale(self, total: Expr, headroom: Expr) -> Expr:
        """One over a row's sum, of which the headroom is known."""
        return _reciprocal(total, headroom)

    def level(self, counts: Expr, term: Expr, scale: Expr, headroom: Expr) -> Expr:
        """A value's share; int8."""
        amount = binary("sub", int64(_SUM_BITS + 31 - 8), headroom)
        share = divided_by_power_of_two(doubling_high_product(scale, term), amount)
        level = narrowed(binary("add", share, int64(-128)), -128, 127, "int8")
        return select(counts, level, const(-128, "int8"))

    @staticmethod
    def _difference(value: Expr, largest: Expr) -> Expr:
        return binary("sub", cast(value, "int64"), cast(largest, "int64"))


def fixed_arithmetic(node: Node) -> FixedSoftmax:
    """That of a call."""
    attrs = attrs_of(node, FixedSoftmaxAttributes)
    ratio = min(attrs.input_scale * 2.0 ** (31 - _DIFFERENCE_BITS), 2.0**31 - 1)
    multiplier, exponent = (int(part) for part in quantized_multiplier(ratio))
    radius = ((1 << _DIFFERENCE_BITS) - 1) * 2.0 ** (31 - _DIFFERENCE_BITS) / 2.0**exponent
    return FixedSoftmax(multiplier, exponent, max(-int(np.floor(radius)), _LEAST))


def fixed_softmax(node: Node, site: Site) -> PlainAnchor:
    """`qnn.softmax`, to the bit."""
    data = site.value(0)
    axis = attrs_of(node, FixedSoftmaxAttributes).axis % len(data.shape)
    rules = fixed_arithmetic(node)
    largest = reduced("largest", data, [axis], "max", site.lanes)

    def of_row(what: Value, point: Point) -> Expr:
        return along(what, axis, point)

    # A difference of two bytes has few values: to look its power up takes less than to compute it, and far less code.
    differences = np.arange(-_LARGEST_DIFFERENCE, 1)
    table = site.make_constant(exponentials(attrs_of(node, FixedSoftmaxAttributes), differences).astype(np.int32))

    def power(point: Point) -> Expr:
        apart = binary("sub", cast(data.at(point), "int64"), cast(of_row(largest.value, point), "int64"))
        return cast(table.at((Coordinate(binary("add", apart, int64(_LARGEST_DIFFERENCE))),)), "int64")

    terms, term_steps = stored(Value(data.shape, "int64", power), "terms", 1)
    read = read_stage(terms)
    summand = Value(data.shape, "int64", lambda point: rules.summand(read.at(point)))
    total = reduced("total", summand, [axis], "add", site.lanes)
    room = Value(total.value.shape, "int64", lambda point: rules.headroom(total.value.at(point)))
    headroom = whole_stage("headroom", room)
    inverse = Value(room.shape, "int64", lambda point: rules.scale(total.value.at(point), read_stage(headroom).at(point)))
    scale = whole_stage("scale", inverse)

    def at(point: Point) -> Expr:
        counts = rules.counts(data.at(point), of_row(largest.value, point))
        return rules.level(counts, read.at(point), of_row(read_stage(scale), point), of_row(read_stage(headroom), point))

    stages = (*largest.stages, terms, *total.stages, headroom, scale)
    return PlainAnchor(stages, Value(node.shape, "int8", at), (*largest.steps, *term_steps, *total.steps))


def whole_stage(name: str, value: Value) -> Stage:
    """A stage that holds a value, one element after the other."""
    return stored(value, name, 1)[0]


def _exp_of_negative(value: Expr) -> Expr:
    """`vta.ir.arithmetic.tflite_fixed_point.exp_of_negative`, with the integer bits of a difference."""
    fraction = 31 - _DIFFERENCE_BITS
    quarter = 1 << (fraction - 2)
    rest = binary("sub", binary("and", value, int64(quarter - 1)), int64(quarter))
    result = _exp_within_quarter(raised(rest, _DIFFERENCE_BITS))
    remainder = binary("sub", rest, value)
    for power, factor in POWERS:
        if power < _DIFFERENCE_BITS:
            bit = binary("and", remainder, int64(1 << (fraction + power)))
            result = select(binary("eq", bit, int64(0)), result, doubling_high_product(result, int64(factor)))
    return select(binary("eq", value, int64(0)), int64(ONE), result)


def _exp_within_quarter(value: Expr) -> Expr:
    x = binary("add", value, int64(1 << 28))
    x2 = doubling_high_product(x, x)
    x3, x4 = doubling_high_product(x2, x), doubling_high_product(x2, x2)
    sum34 = binary("add", divided_by_power_of_two(x4, int64(2)), x3)
    inner = binary("add", doubling_high_product(sum34, int64(THIRD)), x2)
    series = binary("add", x, divided_by_power_of_two(inner, int64(1)))
    return binary("add", int64(EXP_MINUS_EIGHTH), doubling_high_product(int64(EXP_MINUS_EIGHTH), series))


def _headroom(total: Expr) -> Expr:
    """By how many bits a positive int32 can be shifted up to fill 32."""
    room: Expr = int64(32)
    for bit in range(32):
        room = binary("sub", room, select(binary("le", int64(1 << bit), total), int64(1), int64(0)))
    return room


def _reciprocal(total: Expr, headroom: Expr) -> Expr:
    """One over the total, by three steps of Newton's, as `vta.ir.arithmetic.tflite_fixed_point.newton_reciprocal`."""
    fraction = binary("sub", binary("shl", total, headroom), int64(1 << 31))
    half = binary("shr", binary("add", binary("add", fraction, int64(ONE)), int64(1)), int64(1))
    x = binary("add", int64(RECIPROCAL_START), doubling_high_product(half, int64(RECIPROCAL_SLOPE)))
    for _ in range(3):
        error = binary("sub", int64(1 << 29), doubling_high_product(half, x))
        x = binary("add", x, raised(doubling_high_product(x, error), 2))
    return raised(x, 1)
