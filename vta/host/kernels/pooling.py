"""Pooling: the largest value or the mean of windows, each channel by itself."""

from __future__ import annotations

import numpy as np

from vta.host.kernels.anchor import Anchor
from vta.host.kernels.border import names, prepared
from vta.host.kernels.convolution import sums_value
from vta.host.kernels.elementwise import ConstantMaker
from vta.host.kernels.tiles import row_tiles
from vta.host.kernels.values import Coordinate, Layout, Point, Value, blocked_coordinate
from vta.host.llvm.target import CpuTarget
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage, axes_of
from vta.host.loop.expression import Expr, binary, const, index
from vta.host.loop.schedule import Reorder, Unroll, Vectorize
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn_pool import AvgPool2DAttributes, Pool2DAttributes, window_counts

__all__ = ["POOLS", "pooling"]

POOLS = (ops.MAX_POOL2D, ops.AVG_POOL2D, ops.GLOBAL_AVG_POOL2D, ops.GLOBAL_MAX_POOL2D)


def pooling(node: Node, data: Value, layout: Layout, make_constant: ConstantMaker, target: CpuTarget) -> Anchor:
    """One of `POOLS`, of float32."""
    attrs = None if node.op.startswith("nn.global") else attrs_of(node, Pool2DAttributes)
    size = data.shape[2:] if attrs is None else attrs.pool_size
    strides = (1, 1) if attrs is None else attrs.strides
    is_max = ops.MAX in node.op
    lanes = target.lanes(4)
    border = (0, 0, 0, 0) if attrs is None else _border(attrs, node.shape, data)
    source, stages, steps = prepared(data, layout, border, lanes, True, by_rows=True, fill=-np.inf if is_max else 0)
    batch, channels, rows, columns = node.shape
    axes = axes_of({"n": batch, "o": -(-channels // lanes), "y": rows, "x": columns, "c": lanes})
    taps = axes_of({"kh": size[0], "kw": size[1]})
    (n, o, y, x, c), (kh, kw) = ([axis.var for axis in group] for group in (axes, taps))
    row, column = (
        Coordinate(binary("add", binary("mul", at, index(stride)), tap))
        for at, tap, stride in ((y, kh, strides[0]), (x, kw, strides[1]))
    )
    sums = Buffer("sums", tuple(axis.extent for axis in axes), "float32")
    value = source.at((Coordinate(n), blocked_coordinate(o, c, lanes), row, column))
    stage = Stage(sums, axes, value, taps, "max" if is_max else "add", const(-np.inf if is_max else 0, "float32"))
    steps += (
        Reorder("sums", ("kh", "kw", "n", "y", "x", "o", "c")),
        Unroll("sums", "x"),
        Unroll("sums", "o"),
        Vectorize("sums", "c"),
    )
    result = sums_value(node, sums, lanes)
    if not is_max:
        result = _mean(node, result, data, make_constant)
    tile = row_tiles(node.shape, size, strides, target)[0]
    return Anchor((*stages, stage), result, steps, tile, (), names(stages))


def _border(attrs: Pool2DAttributes, shape: tuple[int, ...], data: Value) -> tuple[int, int, int, int]:
    """Rows and columns around the data, as far as windows reach for a result of `shape`."""
    after = []
    for axis in (0, 1):
        reach = (shape[2 + axis] - 1) * attrs.strides[axis] + attrs.pool_size[axis]
        after.append(max(0, reach - attrs.padding[axis] - data.shape[2 + axis]))
    return attrs.padding[0], attrs.padding[1], after[0], after[1]


def _mean(node: Node, sums: Value, data: Value, make_constant: ConstantMaker) -> Value:
    if node.op.startswith("nn.global"):
        count = np.full((1, 1), data.shape[2] * data.shape[3], np.float32)
    else:
        attrs = attrs_of(node, AvgPool2DAttributes)
        count = window_counts(attrs, data.shape, attrs.count_include_pad).astype(np.float32)
    if len(set(count.flat)) == 1:
        return Value(sums.shape, sums.dtype, lambda point: binary("div", sums.at(point), const(float(count.flat[0]), "float32")))
    counts = make_constant(count)

    def at(point: Point) -> Expr:
        return binary("div", sums.at(point), counts.at(point[2:]))

    return Value(sums.shape, sums.dtype, at)
