"""Depthwise convolutions of images that come and go row by row: vectors along rows, so that nothing is turned into blocks.

Some rows of the sums of a vector's columns stay in registers together, so that vectors of data that they share are loaded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.kernels.anchor import SUMS, RowsAnchor, Site
from vta.host.kernels.products.border import names, prepared
from vta.host.kernels.products.convolution_shape import is_depthwise
from vta.host.kernels.values import Coordinate, Point, Value
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage, axes_of
from vta.host.loop.expression import Expr, binary, const, index, load
from vta.host.loop.steps import Reorder, Unroll, Vectorize
from vta.host.processors import CpuTarget
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn.conv import Conv2DAttributes

__all__ = ["computes_rows", "depthwise_rows"]

Array = NDArray[Any]
_LONGEST_STEP = 2
"""Columns from one output to the next: two vectors hold those of every second one."""
_MOST_TAPS = 25
_LONGEST_WRITTEN = 16
"""Vectors of a row that is copied without a loop, so that it is known of each whether it lies in the border."""
_LATENCY_SUMS = 6
"""Sums that hide most of a product's latency."""
_ROW_BYTES = 32 * 1024
"""Of the rows that wait in the nearest cache."""
_ITEM_BYTES = 4


def computes_rows(node: Node, site: Site) -> bool:
    """Whether a convolution is one of these, with a window that can be written out."""
    if not site.plain_result or site.layout.block or site.tile is not None or node.op != ops.CONV2D or not is_depthwise(node):
        return False
    height, width = node.inputs[1].shape[2:]
    return attrs_of(node, Conv2DAttributes).strides[1] <= _LONGEST_STEP and height * width <= _MOST_TAPS


def depthwise_rows(node: Node, site: Site, weight: Array) -> RowsAnchor:
    """A float32 convolution for which `computes_rows` holds."""
    attrs = attrs_of(node, Conv2DAttributes)
    lanes = site.lanes
    batch, channels, rows, columns = node.shape
    height, width = weight.shape[2:]
    blocks = -(-columns // lanes)
    top, left, bottom, right = attrs.padding
    more = max(0, (blocks * lanes - columns) * attrs.strides[1])
    data, stages, steps = prepared(
        site.value(0), site.layout, (top, left, bottom, right + more), lanes, in_blocks=False, by_rows=True
    )
    axes = axes_of({"n": batch, "o": channels, "y": rows, "b": blocks, "l": lanes})
    n, o, y, b, lane = (axis.var for axis in axes)
    taps = axes_of({"kw": width, "kh": height})
    kw, kh = (axis.var for axis in taps)
    x = binary("add", binary("mul", b, index(lanes)), lane)
    row, column = (
        Coordinate(binary("add", binary("mul", at, index(stride)), binary("mul", tap, index(dilation))))
        for at, tap, stride, dilation in zip((y, x), (kh, kw), attrs.strides, attrs.dilation, strict=True)
    )
    packed = np.ascontiguousarray(weight[:, 0])
    buffer = Buffer("weight", packed.shape, "float32")
    product = binary("mul", data.at((Coordinate(n), Coordinate(o), row, column)), load(buffer, [o, kh, kw]))
    sums = Buffer(SUMS, tuple(axis.extent for axis in axes), "float32")
    stage = Stage(sums, axes, product, taps, "add", const(0, "float32"))
    together = _rows_together(rows, site.target)
    row_bytes = (blocks * lanes * attrs.strides[1] + width) * _ITEM_BYTES
    most = max(1, (_ROW_BYTES // row_bytes - height) // (attrs.strides[0] * together)) * together
    if stages and stages[0].axes[-1].extent <= _LONGEST_WRITTEN * lanes:
        steps += (Unroll(stages[0].name, "wo"),)
    steps += (
        Reorder(SUMS, ("kw", "kh", "n", "o", "b", "y", "l")),
        *(Unroll(SUMS, loop) for loop in ("kw", "kh", "y")),
        Vectorize(SUMS, "l", whole=True),
    )

    def at(point: Point) -> Expr:
        *outer, last = (item.whole for item in point)
        return load(sums, [*outer, *(binary(how, last, index(lanes)) for how in ("floordiv", "mod"))])

    return RowsAnchor(
        stages=(*stages, stage),
        value=Value(node.shape, "float32", at),
        steps=steps,
        constants=((buffer, packed),),
        together=together,
        rows=_multiple(rows, together, most),
        by_rows=names(stages),
    )


def _rows_together(rows: int, target: CpuTarget) -> int:
    """Rows whose sums stay in registers, beside as many vectors of data: such that none is left, if that are enough."""
    most = min(rows, max(1, target.vector_registers // 2 - 4))
    return next((count for count in range(most, _LATENCY_SUMS - 1, -1) if rows % count == 0), most)


def _multiple(rows: int, together: int, most: int) -> int:
    """So many rows, whole tiles of them, as leave no rest; else as many as are allowed."""
    counts = range(min(most, rows // together * together), 0, -together)
    return next((count for count in counts if rows % count == 0), counts[0])
