"""Convolutions and dense layers of integers, to the bit: dot products of bytes, or products of 32 bits.

Dot products take unsigned bytes by signed ones, so that the data are stored 128 more. What that adds, and what a zero point does,
is the same for every place, as borders are filled with the zero point: the sums start from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.kernels.anchor import SUMS, Anchor, Site
from vta.host.kernels.by_element.frames import Frame, Framed, flat_bytes, framed
from vta.host.kernels.products.convolution import sums_value
from vta.host.kernels.products.packing import (
    by_lanes,
    by_rows_of_bytes,
    byte_parts,
    bytes_by_fours,
    channel_rows,
    in_lines,
    joined_groups,
)
from vta.host.kernels.tiles import Tile, convolution_tiles
from vta.host.kernels.values import Coordinate, Point, Value, blocked_coordinate
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Axis, Stage, axes_of
from vta.host.loop.expression import Expr, binary, cast, const, index, load
from vta.host.loop.steps import Dot, Reorder, Step, Unroll, Vectorize
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["Windows", "integer_convolution", "integer_dense", "window_sums"]

Array = NDArray[Any]
_OFFSET = 128
_DENSE_BLOCKS = 8
_LONGEST_ROW = 14
_DEPTHWISE_COLUMNS = 4
"""Products of 32 bits take long themselves, so that few sums hide their latency."""


@dataclass(frozen=True)
class Windows:
    """Which places of the data an output meets."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    frame: Frame


def integer_convolution(node: Node, site: Site, weight: Array, windows: Windows, zero_point: int) -> Anchor:
    """A convolution of int8 data with int8 or int16 weights (O, C/groups, KH, KW) of any groups."""
    data = site.value(0)
    if windows.groups == len(weight) == data.shape[1] and weight.shape[1] == 1 and len(weight) > 1:
        return _depthwise(node, site, weight, windows, zero_point)
    windows = _subsampled(windows)
    joined, groups = joined_groups(weight, windows.groups, site.lanes)
    inputs = joined.shape[1]
    block = _byte_block(inputs, groups, site)
    parts = byte_parts(joined) if block % 4 == 0 else []
    in_bytes = bool(parts)
    source = framed(data, site.layout, windows.frame, block, in_bytes)
    packed = bytes_by_fours(parts, site.lanes, block) if in_bytes else by_lanes(joined, site.lanes, block)
    buffer = Buffer("weight", packed.shape, packed.dtype.name)
    outputs = len(weight) // groups
    start = _start(weight, zero_point, in_bytes, site.lanes)

    def product(point: Sequence[Expr], taps: Sequence[Expr], row: Coordinate, column: Coordinate) -> Expr:
        n, o, c = point
        ib, kh, kw, *inner = taps
        first = binary("floordiv", binary("mul", o, index(site.lanes)), index(outputs)) if groups > 1 else index(0)
        place = binary("add", binary("mul", first, index(-(-inputs // block))), ib)
        if in_bytes:
            iq, part, i4 = inner
            lane = _in_fours(iq, i4)
            value = _raw(source.value, (Coordinate(n), blocked_coordinate(place, lane, block), row, column))
            return _product(value, load(buffer, [o, ib, kh, kw, iq, part, c, i4]))
        value = source.value.at((Coordinate(n), blocked_coordinate(place, inner[0], block), row, column))
        return _product(value, load(buffer, [o, ib, kh, kw, inner[0], c]))

    reduce = {"ib": -(-inputs // block), "kh": windows.kernel[0], "kw": windows.kernel[1]}
    reduce |= {"iq": block // 4, "part": len(parts), "i4": 4} if in_bytes else {"ic": block}
    blocks = -(-len(weight) // site.lanes)
    depth = (
        inputs * windows.kernel[0] * windows.kernel[1] * len(parts) // 4
        if in_bytes
        else inputs * windows.kernel[0] * windows.kernel[1]
    )
    tile = site.tile or convolution_tiles(node.shape[3], blocks, max(depth, 1), site.target, of_bytes=in_bytes)[0]
    constants = ((buffer, packed), start)
    return window_sums(node, site, source, windows, axes_of(reduce), product, start[0], tile, constants, dot=in_bytes)


def _subsampled(windows: Windows) -> Windows:
    """Of windows of one place each, the frame holds no more than these places."""
    if tuple(windows.kernel) != (1, 1) or tuple(windows.strides) == (1, 1) or tuple(windows.frame.stretch) != (1, 1):
        return windows
    return replace(windows, strides=(1, 1), frame=replace(windows.frame, every=windows.strides))


def _byte_block(inputs: int, groups: int, site: Site) -> int:
    """Input channels in a block of the frame: those of the data's own blocks, or as few as the channels fill."""
    if groups > 1:
        return next(size for size in (site.lanes, 8, 4, 2, 1) if inputs % size == 0)
    return site.lanes if inputs > site.lanes or site.layout.block == site.lanes else -(-inputs // 4) * 4


def _in_fours(four: Expr, place: Expr) -> Expr:
    """A position from which four it is in, and the place there."""
    return binary("add", binary("mul", four, index(4)), place)


def _raw(value: Value, point: Point) -> Expr:
    assert value.raw is not None
    return value.raw(point)


def _product(left: Expr, right: Expr) -> Expr:
    return binary("mul", cast(left, "int32"), cast(right, "int32"))


def _start(weight: Array, zero_point: int, in_bytes: bool, lanes: int) -> tuple[Buffer, Array]:
    """What the sums of each channel start from."""
    sums = weight.reshape(len(weight), -1).sum(axis=1, dtype=np.int64)
    taken = (zero_point + (_OFFSET if in_bytes else 0)) * sums
    values = channel_rows((-taken).astype(np.int32), lanes)
    return Buffer("start", values.shape, "int32"), values


def window_sums(
    node: Node,
    site: Site,
    source: Framed,
    windows: Windows,
    reduce: Sequence[Axis],
    product: Any,
    start: Buffer | None,
    tile: Tile,
    constants: tuple[tuple[Buffer, Array], ...],
    dot: bool = False,
) -> Anchor:
    """Sums of products over windows, a tile of columns and blocks at a time.

    `product` makes the expression of one product from the output's batch, block and lane, the positions of `reduce`, and the row
    and column of the frame.
    """
    dtype = "float32" if start is None else "int32"
    batch, channels, rows, columns = node.shape
    axes = axes_of({"n": batch, "o": -(-channels // site.lanes), "y": rows, "x": columns, "c": site.lanes})
    n, o, y, x, c = (axis.var for axis in axes)
    named = {axis.name: axis.var for axis in reduce}
    kw = named["kw"] if "kw" in named else _in_fours(named["kq"], named["i4"])
    row, column = (
        Coordinate(binary("add", binary("mul", at, index(stride)), binary("mul", tap, index(dilation))))
        for at, stride, tap, dilation in zip((y, x), windows.strides, (named["kh"], kw), windows.dilation, strict=True)
    )
    sums = Buffer(SUMS, tuple(axis.extent for axis in axes), dtype)
    first = const(0, dtype) if start is None else load(start, [o, c])
    value = product((n, o, c), [axis.var for axis in reduce], row, column)
    stage = Stage(sums, axes, value, tuple(reduce), "add", first)
    outer = [axis.name for axis in reduce if axis.name != "i4"]
    order = (*outer, "n", "y", "x", "o", "c", *(("i4",) if dot else ()))
    steps: tuple[Step, ...] = (Reorder(SUMS, order), Unroll(SUMS, "x"), Unroll(SUMS, "o"), Vectorize(SUMS, "c"))
    steps += (Dot(SUMS, "i4"),) if dot else ()
    return Anchor((*source.stages, stage), sums_value(node, sums, site.lanes), (*source.steps, *steps), tile, constants)


def _depthwise(node: Node, site: Site, weight: Array, windows: Windows, zero_point: int) -> Anchor:
    parts = byte_parts(weight[:, 0])
    if site.target.has_vnni and windows.dilation[1] == 1 and parts:
        return _depthwise_by_fours(node, site, weight, parts, windows, zero_point)
    source = framed(site.value(0), site.layout, windows.frame, site.lanes, True)
    packed = channel_rows(weight[:, 0].astype(np.int32), site.lanes)
    buffer = Buffer("weight", packed.shape, "int32")
    start = _start(weight, zero_point, True, site.lanes)

    def product(point: Sequence[Expr], taps: Sequence[Expr], row: Coordinate, column: Coordinate) -> Expr:
        n, o, c = point
        value = _raw(source.value, (Coordinate(n), blocked_coordinate(o, c, site.lanes), row, column))
        return binary("mul", cast(value, "int32"), load(buffer, [o, *taps, c]))

    kernel = windows.kernel
    tile = site.tile or Tile(min(node.shape[3], _DEPTHWISE_COLUMNS), 1)
    reduce = axes_of({"kh": kernel[0], "kw": kernel[1]})
    return window_sums(node, site, source, windows, reduce, product, start[0], tile, ((buffer, packed), start))


def _depthwise_by_fours(
    node: Node, site: Site, weight: Array, parts: Sequence[Array], windows: Windows, zero_point: int
) -> Anchor:
    """Four columns of a window at a time, the last ones filled up by weights of zero."""
    height, width = windows.kernel
    fours = -(-width // 4)
    top, left, bottom, right = windows.frame.padding
    frame = replace(windows.frame, padding=(top, left, bottom, right + 4 * fours - width))
    source = framed(site.value(0), site.layout, frame, site.lanes, True)
    full = np.zeros((len(parts), len(weight), height, 4 * fours), np.int8)
    full[..., :width] = parts
    rows = channel_rows(np.moveaxis(full, 0, -1), site.lanes).reshape(-1, height, fours, 4, len(parts), site.lanes)
    packed = in_lines(rows.transpose(0, 1, 2, 4, 5, 3))
    buffer = Buffer("weight", packed.shape, "int8")
    start = _start(weight, zero_point, True, site.lanes)

    def product(point: Sequence[Expr], taps: Sequence[Expr], row: Coordinate, column: Coordinate) -> Expr:
        n, o, c = point
        kh, kq, part, i4 = taps
        value = _raw(source.value, (Coordinate(n), blocked_coordinate(o, c, site.lanes), row, column))
        return _product(value, load(buffer, [o, kh, kq, part, c, i4]))

    tile = site.tile or Tile(min(node.shape[3], _LONGEST_ROW), 1)
    reduce = axes_of({"kh": height, "kq": fours, "part": len(parts), "i4": 4})
    return window_sums(node, site, source, windows, reduce, product, start[0], tile, ((buffer, packed), start), dot=True)


def integer_dense(node: Node, site: Site, weight: Array, zero_point: int) -> Anchor:
    """A dense layer of int8 data (N, K) with int8 or int16 weights (M, K)."""
    parts = byte_parts(weight)
    in_bytes = bool(parts)
    data = site.value(0)
    depth = -(-weight.shape[1] // 4) * 4 if in_bytes else weight.shape[1]
    source = flat_bytes(data, depth) if in_bytes else Framed(data)
    rows = weight[:, :, None, None]
    packed = by_rows_of_bytes(parts, site.lanes) if in_bytes else by_lanes(rows, site.lanes, depth)[:, 0, 0, 0]
    buffer, start = Buffer("weight", packed.shape, packed.dtype.name), _start(weight, zero_point, in_bytes, site.lanes)
    axes = axes_of({"n": node.shape[0], "o": len(packed), "c": site.lanes})
    n, o, c = (axis.var for axis in axes)
    reduce = axes_of({"k": depth // 4, "part": len(parts), "i4": 4} if in_bytes else {"k": depth})
    places = [axis.var for axis in reduce]
    if in_bytes:
        k, part, i4 = places
        place = _in_fours(k, i4)
        product = _product(_raw(source.value, (Coordinate(n), Coordinate(place))), load(buffer, [o, k, part, c, i4]))
    else:
        product = _product(source.value.at((Coordinate(n), Coordinate(places[0]))), load(buffer, [o, places[0], c]))
    sums = Buffer(SUMS, tuple(axis.extent for axis in axes), "int32")
    stage = Stage(sums, axes, product, reduce, "add", load(start[0], [o, c]))
    order = ("k", *(("part",) if in_bytes else ()), "n", "o", "c", *(("i4",) if in_bytes else ()))
    steps = (Reorder(SUMS, order), Unroll(SUMS, "o"), Vectorize(SUMS, "c"), *((Dot(SUMS, "i4"),) if in_bytes else ()))

    def at(point: Point) -> Expr:
        channel = point[1]
        assert channel.block is not None
        assert channel.lane is not None
        return load(sums, [point[0].whole, channel.block, channel.lane])

    tile = site.tile or Tile(1, _divisor(len(packed), _DENSE_BLOCKS))
    value = Value(node.shape, "int32", at)
    return Anchor((*source.stages, stage), value, (*source.steps, *steps), tile, ((buffer, packed), start))


def _divisor(whole: int, limit: int) -> int:
    return max(count for count in range(1, min(whole, limit) + 1) if whole % count == 0)
