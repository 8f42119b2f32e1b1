"""Averages of scaled integers, to the bit of their references."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from vta.host.kernels.anchor import Anchor, PlainAnchor, Site
from vta.host.kernels.by_element.frames import Frame, framed
from vta.host.kernels.by_element.pointwise import ConstantMaker
from vta.host.kernels.by_element.rescaling import even_levels, multiplied, narrowed, requantized, round_half_up
from vta.host.kernels.pooling import border_of, number_of_window, whole_image, window_totals, windows_of, with_value
from vta.host.kernels.values import Point, Value, plain_point
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage, axes_of
from vta.host.loop.expression import Expr, binary, cast, const, index, load, select, unary
from vta.ir.arithmetic.fixed_point import multiplier_and_shift
from vta.ir.arithmetic.tflite_rounding import mean_multiplier
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn.pool import SumPool2DAttributes, window_counts
from vta.ir.ops.quantized.qnn import (
    QnnAvgPool2DAttributes,
    QnnGlobalAvgPool2DAttributes,
    base_attributes,
    even_mean_ratio,
    uniform_window,
)

__all__ = ["averages_reals", "mean_levels", "quantized_average", "quantized_global_average"]

_AnyAttributes = QnnAvgPool2DAttributes | QnnGlobalAvgPool2DAttributes


def quantized_global_average(node: Node, site: Site) -> Anchor:
    """`qnn.global_avg_pool2d`."""
    anchor = window_totals(node, site, whole_image(site.value(0)), "int32")
    return with_value(anchor, mean_levels(node, site.make_constant), "int8")


def quantized_average(node: Node, site: Site) -> Anchor | PlainAnchor:
    """`qnn.avg_pool2d`."""
    attrs = attrs_of(node, QnnAvgPool2DAttributes)
    if averages_reals(node):
        return _average_of_reals(node, site, attrs)
    windows = windows_of(base_attributes(SumPool2DAttributes, attrs), node.shape, site.value(0))
    anchor = window_totals(node, site, windows, "int32")
    return with_value(anchor, mean_levels(node, site.make_constant), "int8")


def averages_reals(node: Node) -> bool:
    """Whether windows divide by different numbers, and no sums of integers become their means."""
    attrs = node.attrs
    if not isinstance(attrs, QnnAvgPool2DAttributes):
        return False
    return attrs.rounding == "up" and not uniform_window(attrs, node.inputs[0].shape)


def mean_levels(node: Node, make_constant: ConstantMaker) -> Callable[[Expr, Point], Expr]:
    """From the int32 sum of a window, or of an image, to the level of its mean. Not for what `averages_reals`."""
    attrs = node.attrs
    if isinstance(attrs, QnnGlobalAvgPool2DAttributes):
        return _rescaled_mean(attrs, prod(node.inputs[0].shape[2:]), make_constant)
    assert isinstance(attrs, QnnAvgPool2DAttributes)
    if attrs.rounding == "up":
        return _rescaled_mean(attrs, prod(attrs.pool_size), make_constant)
    return _divided_mean(attrs, node.inputs[0].shape, make_constant)


def _divided_mean(
    attrs: QnnAvgPool2DAttributes, shape: tuple[int, ...], make_constant: ConstantMaker
) -> Callable[[Expr, Point], Expr]:
    """Sums divided by how many values windows have."""
    windows = window_counts(base_attributes(SumPool2DAttributes, attrs), shape, attrs.count_include_pad)
    counts, halves = (number_of_window(numbers, "float64", make_constant) for numbers in (windows, windows // 2))

    def quotient(sums: Expr, point: Point) -> Expr:
        """The whole part of a quotient of integers of 32 bits, which doubles give exactly, and many at a time."""
        return unary("floor", binary("div", binary("add", sums, halves(point)), counts(point)))

    def divided(sums: Expr, point: Point) -> Expr:
        total = cast(sums, "float64")
        if attrs.rounding == "tflite_unsigned":
            return narrowed(quotient(total, point), attrs.a_min, attrs.a_max, "int8")
        mean = quotient(unary("abs", total), point)
        signed = select(binary("lt", total, const(0, "float64")), unary("neg", mean), mean)
        return narrowed(signed, attrs.a_min, attrs.a_max, "int8")

    return divided


def _rescaled_mean(attrs: _AnyAttributes, count: int, make_constant: ConstantMaker) -> Callable[[Expr, Point], Expr]:
    """The levels of means, from sums of `count` values."""
    zero_point = attrs.output_zero_point
    if attrs.rounding == "even":
        ratio = even_mean_ratio(attrs, count)
        factor = const(float(ratio), "float32")

        def rescaled(value: Expr, point: Point) -> Expr:
            return binary("add", even_levels(value, factor, ratio), const(zero_point, "int64"))

    elif attrs.rounding == "tflite":
        multiplier, exponent = (const(part, "int64") for part in mean_multiplier(attrs.input_scale / attrs.output_scale, count))

        def rescaled(value: Expr, point: Point) -> Expr:
            return binary("add", multiplied(value, multiplier, exponent), const(zero_point, "int64"))

    else:
        bound = count * (128 + abs(attrs.input_zero_point))
        exact = np.float64(attrs.input_scale / (attrs.output_scale * count))
        steps = requantized(*multiplier_and_shift(exact, bound, abs(zero_point)), zero_point, 1, make_constant)

        def rescaled(value: Expr, point: Point) -> Expr:
            return steps(cast(value, "int32"), point)

    def levels(sums: Expr, point: Point) -> Expr:
        value = binary("sub", cast(sums, "int64"), const(count * attrs.input_zero_point, "int64"))
        return narrowed(rescaled(value, point), attrs.a_min, attrs.a_max, "int8")

    return levels


def _average_of_reals(node: Node, site: Site, attrs: QnnAvgPool2DAttributes) -> PlainAnchor:
    """Windows that divide by different numbers: real numbers, added up in the order of the reference, rows first."""
    data = site.value(0)
    base = base_attributes(SumPool2DAttributes, attrs)

    def real(point: Point) -> Expr:
        level = binary("sub", cast(data.at(point), "int64"), const(attrs.input_zero_point, "int64"))
        return cast(binary("mul", cast(level, "float64"), const(attrs.input_scale, "float64")), "float32")

    source = framed(Value(data.shape, "float32", real), site.layout, Frame(border_of(base, node.shape, data)), 1, False)
    rows = _added(source.value, 2, node.shape[2], attrs, "rows")
    columns = _added(_read(rows), 3, node.shape[3], attrs, "columns")
    counts = number_of_window(window_counts(base, data.shape, attrs.count_include_pad), "float32", site.make_constant)

    def at(point: Point) -> Expr:
        mean = binary("div", _read(columns).at(point), counts(point))
        levels = round_half_up(binary("div", cast(mean, "float64"), const(attrs.output_scale, "float64")))
        return narrowed(binary("add", levels, const(attrs.output_zero_point, "float64")), -128, 127, "int8")

    return PlainAnchor((*source.stages, rows, columns), Value(node.shape, "int8", at), source.steps)


def _added(value: Value, axis: int, extent: int, attrs: QnnAvgPool2DAttributes, name: str) -> Stage:
    """Sums of neighbours along an axis, one after the other."""
    shape = tuple(extent if at == axis else size for at, size in enumerate(value.shape))
    axes = axes_of({f"a{at}": size for at, size in enumerate(shape)})
    places = [place.var for place in axes]
    start = binary("mul", places[axis], index(attrs.strides[axis - 2]))
    total: Expr | None = None
    for step in range(attrs.pool_size[axis - 2]):
        point = plain_point([binary("add", start, index(step)) if at == axis else place for at, place in enumerate(places)])
        total = value.at(point) if total is None else binary("add", total, value.at(point))
    assert total is not None
    return Stage(Buffer(name, shape, value.dtype), axes, total)


def _read(stage: Stage) -> Value:
    buffer = stage.output
    return Value(buffer.shape, buffer.dtype, lambda point: load(buffer, [place.whole for place in point]))
