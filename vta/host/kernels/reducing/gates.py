"""Layer normalisation of 16 bits: the same bits as the reference's (`vta.ir.ops.quantized.gates`)."""

from __future__ import annotations

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
from vta.host.kernels.reducing.reductions import reduced
from vta.host.kernels.reducing.softmaxes import along, read_stage, stored, whole_stage
from vta.host.kernels.values import Point, Value
from vta.host.loop.compute import Stage
from vta.host.loop.expression import Expr, binary, cast, select, unary
from vta.ir.arithmetic.tflite_gates import HALF_ROOT_OF_TWO, NEWTON_STEPS, THREE_HALVES, inverse_root
from vta.ir.arithmetic.tflite_rounding import quantized_multiplier
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.quantized.gates import FRACTION_BITS, OUTPUT_BITS, Normalize16Attributes

__all__ = ["normalize16"]

_ROW = 1
"""The axis of a row's values."""
_SHRUNK_BITS = 29
"""Variances below this power of two move up by pairs of bits, larger ones have first lost two: none has more than 31 bits."""


def normalize16(node: Node, site: Site) -> PlainAnchor:
    """`qnn.normalize16`."""
    data, weight, bias = (site.value(at) for at in range(3))
    attrs, count = attrs_of(node, Normalize16Attributes), node.shape[_ROW]
    wide = Value(data.shape, "int64", lambda point: cast(data.at(point), "int64"))
    values, steps = stored(wide, "values", site.lanes)
    each = read_stage(values)
    squares = Value(data.shape, "int64", lambda point: binary("mul", each.at(point), each.at(point)))
    total, squared = reduced("sum", each, [_ROW], "add", site.lanes), reduced("squared", squares, [_ROW], "add", site.lanes)
    rows = total.value.shape

    def whole(name: str, of: Value) -> Value:
        stages.append(whole_stage(name, of))
        return read_stage(stages[-1])

    stages: list[Stage] = []
    means = Value(rows, "int64", lambda point: _quotient(binary("shl", total.value.at(point), int64(FRACTION_BITS)), count))
    mean = whole("mean", means)

    def variance_of(point: Point) -> Expr:
        square = binary("mul", squared.value.at(point), int64((1 << 2 * FRACTION_BITS) // count))
        return _quotient(binary("sub", square, binary("mul", mean.at(point), mean.at(point))), 1 << 2 * FRACTION_BITS)

    variance = whole("variance", Value(rows, "int64", variance_of))
    pairs = whole("pairs", Value(rows, "int64", lambda point: _pairs(_shrunk(variance.at(point)))))
    root = whole("root", Value(rows, "int64", lambda point: _root(_shrunk(variance.at(point)), pairs.at(point))))
    guard = tuple(int(part[0]) for part in inverse_root(np.array([attrs.least_variance])))
    most = tuple(int(part[0]) for part in inverse_root(np.ones(1, np.int64)))

    def down(point: Point) -> Expr:
        """By how many bits the root moves down; up where it is below zero."""
        halved = select(_is_large(variance.at(point)), int64(1), int64(0))
        return binary("sub", binary("add", halved, int64(11)), pairs.at(point))

    def guarded(point: Point, value: Expr, part: int) -> Expr:
        """A part of the root of a row's variance, or of the one that stands for those below one."""
        found = select(binary("eq", variance.at(point), int64(1)), int64(most[part]), value)
        return select(binary("lt", variance.at(point), int64(1)), int64(guard[part]), found)

    def multiplier_of(point: Point) -> Expr:
        up = binary("max", unary("neg", down(point)), int64(0))
        return guarded(point, binary("shl", root.at(point), up), 0)

    multiplier = whole("multiplier", Value(rows, "int64", multiplier_of))
    exponents = Value(rows, "int64", lambda point: guarded(point, unary("neg", binary("max", down(point), int64(0))), 1))
    exponent = whole("exponent", exponents)
    factor, shift = (int(part) for part in quantized_multiplier(attrs.scale))
    shift += OUTPUT_BITS

    def at(point: Point) -> Expr:
        apart = binary("sub", binary("shl", each.at(point), int64(FRACTION_BITS)), along(mean, _ROW, point))
        normal = multiplied(apart, along(multiplier, _ROW, point), along(exponent, _ROW, point))
        channel = (point[_ROW],)
        # The product wraps in 32 bits.
        product = cast(cast(binary("mul", normal, cast(weight.at(channel), "int64")), "int32"), "int64")
        product = binary("add", product, cast(bias.at(channel), "int64"))
        half = 1 << (FRACTION_BITS - 1)
        half_away = select(binary("lt", int64(0), product), int64(half), int64(-half))
        rounded = _quotient(binary("add", product, half_away), 1 << FRACTION_BITS)
        return narrowed(multiplied(rounded, int64(factor), int64(shift)), -(2**15), 2**15 - 1, "int16")

    before = (values, *total.stages, *squared.stages)
    return PlainAnchor((*before, *stages), Value(node.shape, "int16", at), (*steps, *total.steps, *squared.steps))


def _quotient(value: Expr, by: int) -> Expr:
    """A quotient by a positive number, cut towards zero."""
    size = binary("floordiv", binary("max", value, unary("neg", value)), int64(by))
    return select(binary("lt", value, int64(0)), unary("neg", size), size)


def _is_large(variance: Expr) -> Expr:
    return binary("le", int64(1 << _SHRUNK_BITS), variance)


def _shrunk(variance: Expr) -> Expr:
    return select(_is_large(variance), binary("shr", variance, int64(2)), variance)


def _pairs(shrunk: Expr) -> Expr:
    """Pairs of bits by which a positive number may move up until it has 28 or 29."""
    found: Expr = int64(0)
    for bits in range(_SHRUNK_BITS - 2, 0, -2):
        found = binary("add", found, select(binary("lt", shrunk, int64(1 << bits)), int64(1), int64(0)))
    return found


def _root(shrunk: Expr, pairs: Expr) -> Expr:
    """One over the root of a number that moves up by pairs of bits, by Newton's steps."""
    moved = binary("shl", shrunk, binary("mul", pairs, int64(2)))
    half = divided_by_power_of_two(binary("shr", moved, int64(1)), int64(1))
    x: Expr = int64(1 << 28)
    for _ in range(NEWTON_STEPS):
        cube = raised(doubling_high_product(doubling_high_product(x, x), x), 6)
        x = raised(binary("sub", doubling_high_product(int64(THREE_HALVES), x), doubling_high_product(half, cube)), 3)
    return doubling_high_product(x, int64(HALF_ROOT_OF_TWO))
