"""Pooling: the largest value, the sum or the mean of windows, each channel by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vta.host.kernels.anchor import SUMS, Anchor, Site
from vta.host.kernels.by_element.pointwise import ConstantMaker
from vta.host.kernels.products.border import names, prepared
from vta.host.kernels.products.convolution import sums_value
from vta.host.kernels.tiles import row_tiles
from vta.host.kernels.values import Coordinate, Point, Value, blocked_coordinate
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage, axes_of
from vta.host.loop.expression import Expr, binary, cast, const, index
from vta.host.loop.steps import Reorder, Unroll, Vectorize
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn.pool import AvgPool2DAttributes, Pool2DAttributes, SumPool2DAttributes, window_counts

__all__ = [
    "POOLS",
    "PoolWindows",
    "border_of",
    "number_of_window",
    "pooling",
    "whole_image",
    "window_totals",
    "windows_of",
    "with_value",
]

POOLS = (ops.MAX_POOL2D, ops.AVG_POOL2D, ops.SUM_POOL2D, ops.GLOBAL_AVG_POOL2D, ops.GLOBAL_MAX_POOL2D)

PoolWindows = tuple[Sequence[int], Sequence[int], tuple[int, int, int, int]]
"""Size and strides of windows, and the border that they reach into."""


def whole_image(data: Value) -> PoolWindows:
    """One window over all of an image."""
    return data.shape[2:], (1, 1), (0, 0, 0, 0)


def windows_of(attrs: Pool2DAttributes, shape: tuple[int, ...], data: Value) -> PoolWindows:
    """Those of attributes, for a result of `shape`."""
    return attrs.pool_size, attrs.strides, border_of(attrs, shape, data)


def pooling(node: Node, site: Site) -> Anchor:
    """One of `POOLS`."""
    data = site.value(0)
    attrs = None if node.op.startswith("nn.global") else attrs_of(node, Pool2DAttributes)
    windows = whole_image(data) if attrs is None else windows_of(attrs, node.shape, data)
    if node.op in (ops.MAX_POOL2D, ops.GLOBAL_MAX_POOL2D):
        return window_totals(node, site, windows, node.dtype, largest=True)
    anchor = window_totals(node, site, windows, node.dtype)
    if node.op == ops.SUM_POOL2D:
        factor = attrs_of(node, SumPool2DAttributes).factor
        return anchor if factor == 1 else with_value(anchor, lambda sums, point: binary("mul", sums, const(factor, "int32")))
    return with_value(anchor, _mean(node, data, site))


def window_totals(node: Node, site: Site, windows: PoolWindows, dtype: str, largest: bool = False) -> Anchor:
    """The sums of windows in a data type, or their largest values."""
    data = site.value(0)
    size, strides, border = windows
    lanes = site.lanes
    fill = _least(dtype) if largest else 0
    source, stages, steps = prepared(data, site.layout, border, lanes, True, by_rows=True, fill=fill)
    batch, channels, rows, columns = node.shape
    axes = axes_of({"n": batch, "o": -(-channels // lanes), "y": rows, "x": columns, "c": lanes})
    taps = axes_of({"kh": size[0], "kw": size[1]})
    (n, o, y, x, c), (kh, kw) = ([axis.var for axis in group] for group in (axes, taps))
    row, column = (
        Coordinate(binary("add", binary("mul", at, index(stride)), tap))
        for at, tap, stride in ((y, kh, strides[0]), (x, kw, strides[1]))
    )
    sums = Buffer(SUMS, tuple(axis.extent for axis in axes), dtype)
    value = cast(source.at((Coordinate(n), blocked_coordinate(o, c, lanes), row, column)), dtype)
    stage = Stage(sums, axes, value, taps, "max" if largest else "add", const(fill, dtype))
    steps += (
        Reorder(SUMS, ("kh", "kw", "n", "y", "x", "o", "c")),
        Unroll(SUMS, "x"),
        Unroll(SUMS, "o"),
        Vectorize(SUMS, "c"),
    )
    tile = row_tiles(node.shape, size, strides, site.target)[0]
    return Anchor((*stages, stage), sums_value(node, sums, lanes), steps, tile, (), names(stages))


def _least(dtype: str) -> float:
    return -np.inf if dtype.startswith("float") else int(np.iinfo(dtype).min)


def with_value(anchor: Anchor, change: Callable[[Expr, Point], Expr], dtype: str | None = None) -> Anchor:
    """An anchor that goes on computing with its sums, in the end in another data type."""
    sums = anchor.value
    value = Value(sums.shape, dtype or sums.dtype, lambda point: change(sums.at(point), point))
    return Anchor(anchor.stages, value, anchor.steps, anchor.tile, anchor.constants, anchor.by_rows)


def border_of(attrs: Pool2DAttributes, shape: tuple[int, ...], data: Value) -> tuple[int, int, int, int]:
    """Rows and columns around the data, as far as windows reach for a result of `shape`."""
    after = []
    for axis in (0, 1):
        reach = (shape[2 + axis] - 1) * attrs.strides[axis] + attrs.pool_size[axis]
        after.append(max(0, reach - attrs.padding[axis] - data.shape[2 + axis]))
    return attrs.padding[0], attrs.padding[1], after[0], after[1]


def _mean(node: Node, data: Value, site: Site) -> Callable[[Expr, Point], Expr]:
    if node.op.startswith("nn.global"):
        counts: Any = np.full((1, 1), data.shape[2] * data.shape[3])
    else:
        attrs = attrs_of(node, AvgPool2DAttributes)
        counts = window_counts(attrs, data.shape, attrs.count_include_pad)
    by_window = number_of_window(counts, node.dtype, site.make_constant)
    return lambda sums, point: binary("div", sums, by_window(point))


def number_of_window(values: Any, dtype: str, make_constant: ConstantMaker) -> Callable[[Point], Expr]:
    """A number (OH, OW) for each window, or one for all, where it meets a point."""
    if len(set(values.flat)) == 1:
        number = const(values.flat[0].item(), dtype)
        return lambda point: number
    held = make_constant(values.astype(dtype))
    return lambda point: held.at(point[2:])
