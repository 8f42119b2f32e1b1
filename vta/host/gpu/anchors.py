"""Convolutions and matrix products as sums that blocks of threads can tile; other anchors are those of processors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.gpu.schedule import are_few
from vta.host.gpu.tiling import TiledSums
from vta.host.kernels.anchor import SUMS, AnyAnchor, PlainAnchor, Site
from vta.host.kernels.anchors import build_anchor
from vta.host.kernels.by_element.moves import all_of, within
from vta.host.kernels.values import Coordinate, Value, plain_point
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage, axes_of
from vta.host.loop.expression import Expr, binary, cast, const, index, load, select
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.ir.ops.quantized.qnn import ProductAttributes, base_attributes
from vta.support.dataclass import dataclass

__all__ = ["DATA", "WEIGHT", "TiledAnchor", "gpu_anchor"]

Array = NDArray[Any]
DATA, WEIGHT = "data_tile", "weight_tile"
"""Stages of what sums read."""
_FOUR = 4
_BATCH = 8
"""Rows of a dense layer from which on its sums are worth to be of dot products of bytes."""


@dataclass(frozen=True)
class TiledAnchor(PlainAnchor):
    """Sums that can be tiled."""

    tiled: TiledSums | None = None


def gpu_anchor(node: Node, site: Site) -> AnyAnchor:
    """The stages of an anchor."""
    constant = len(node.inputs) > 1 and all(item.value is not None for item in node.inputs[1:])
    if node.op in (ops.CONV2D, ops.QNN_CONV2D) and constant:
        attrs = base_attributes(Conv2DAttributes, node.attrs)
        if attrs.groups == 1:
            return _convolution(node, site, attrs)
        if attrs.groups == node.inputs[0].shape[1] == node.shape[1]:
            return _depthwise(node, site, attrs)
    if node.op in (ops.DENSE, ops.QNN_DENSE) and constant:
        return _dense(node, site)
    return build_anchor(node, site)


def _zero_point(node: Node) -> int:
    return attrs_of(node, ProductAttributes).input_zero_point if node.op.startswith("qnn.") else 0


def _bordered(
    data: Value, places: Sequence[Expr], padding: Sequence[int], size: Sequence[int], fill: float, more: Sequence[Expr] = ()
) -> Expr:
    """The data at a place counted from the corner of its border (n, c, h, w)."""
    n, c, *rest = places
    conditions = list(more)
    inner: list[Expr] = []
    for at, before, after, extent in zip(rest, padding[:2], padding[2:], size, strict=True):
        place = binary("sub", at, index(before))
        conditions += within(place, extent, below=before > 0, above=after > 0)
        inner.append(place)
    value = data.at(plain_point([n, c, *inner]))
    return select(all_of(conditions), value, const(fill, data.dtype)) if conditions else value


def _windows(attrs: Conv2DAttributes, y: Expr, x: Expr, kh: Expr, kw: Expr) -> list[Expr]:
    return [
        binary("add", binary("mul", at, index(stride)), binary("mul", tap, index(dilation)))
        for at, tap, stride, dilation in zip((y, x), (kh, kw), attrs.strides, attrs.dilation, strict=True)
    ]


def _extents(node: Node, attrs: Conv2DAttributes) -> tuple[int, int]:
    """Height and width of the data inside their border."""
    height, width = node.inputs[0].shape[2:]
    top, left, bottom, right = attrs.padding
    return height + top + bottom, width + left + right


def _start(site: Site, node: Node, weight: Array, zero_point: int) -> Value | None:
    """What sums of integers start from, for a zero point that is not 0."""
    if weight.dtype.kind == "f" or not zero_point:
        return None
    totals = weight.reshape(len(weight), -1).sum(axis=1, dtype=np.int64)
    return site.make_constant((-zero_point * totals).astype(np.int32))


def _sums(
    node: Node,
    channel: Expr,
    axes: dict[str, int],
    product: Expr,
    reduce: dict[str, int],
    start: Value | None,
) -> Stage:
    dtype = product.dtype
    first = const(0, dtype) if start is None else start.at((Coordinate(channel),))
    return Stage(Buffer(SUMS, node.shape, dtype), axes_of(axes), product, axes_of(reduce), "add", first)


def _anchor(
    node: Node, sums: Stage, fetched: tuple[Stage, ...], constants: Any, dot: str = "", vectors: bool = False
) -> TiledAnchor:
    value = Value(node.shape, sums.output.dtype, lambda point: load(sums.output, [item.whole for item in point]))
    tiled = TiledSums(sums, fetched, dot, (WEIGHT,) if vectors else (), (WEIGHT,) if dot else ())
    return TiledAnchor((*fetched, sums), value, constants=constants, tiled=tiled)


def _product(left: Expr, right: Expr, dtype: str) -> Expr:
    return binary("mul", cast(left, dtype), cast(right, dtype))


def _convolution(node: Node, site: Site, attrs: Conv2DAttributes) -> TiledAnchor:
    weight = np.asarray(node.inputs[1].value)
    zero_point = _zero_point(node)
    if weight.dtype == np.int8:
        return _byte_convolution(node, site, attrs, weight, zero_point)
    data = site.value(0)
    outputs, inputs, *kernel = weight.shape
    high, wide = _extents(node, attrs)
    shape = (node.shape[0], inputs, high, wide)
    held = axes_of(dict(zip("nchw", shape, strict=True)))
    tile = Stage(
        Buffer(DATA, shape, data.dtype),
        held,
        _bordered(data, [axis.var for axis in held], attrs.padding, data.shape[2:], zero_point),
    )
    packed = np.ascontiguousarray(weight.transpose(1, 2, 3, 0))
    buffer = Buffer("weight", packed.shape, packed.dtype.name)
    copied = _copy(WEIGHT, buffer)
    axes = dict(zip(("n", "f", "y", "x"), node.shape, strict=True))
    n, f, y, x = (axis.var for axis in axes_of(axes))
    reduce = {"rc": inputs, "ry": kernel[0], "rx": kernel[1]}
    rc, ry, rx = (axis.var for axis in axes_of(reduce))
    dtype = "float32" if weight.dtype.kind == "f" else "int32"
    product = _product(load(tile.output, [n, rc, *_windows(attrs, y, x, ry, rx)]), load(copied.output, [rc, ry, rx, f]), dtype)
    sums = _sums(node, f, axes, product, reduce, _start(site, node, weight, zero_point))
    constants = ((buffer, packed),)
    return _anchor(node, sums, (tile, copied), constants, vectors=packed.dtype == np.float32 and outputs % _FOUR == 0)


def _copy(name: str, buffer: Buffer) -> Stage:
    axes = axes_of({f"w{at}": extent for at, extent in enumerate(buffer.shape)})
    return Stage(Buffer(name, buffer.shape, buffer.dtype), axes, load(buffer, [axis.var for axis in axes]))


def _byte_convolution(node: Node, site: Site, attrs: Conv2DAttributes, weight: Array, zero_point: int) -> TiledAnchor:
    """Channels by fours, for dot products of bytes."""
    data = site.value(0)
    outputs, inputs, *kernel = weight.shape
    fours = -(-inputs // _FOUR)
    high, wide = _extents(node, attrs)
    shape = (node.shape[0], fours, high, wide, _FOUR)
    held = axes_of(dict(zip("nchwi", shape, strict=True)))
    n, c, h, w, i = (axis.var for axis in held)
    channel = binary("add", binary("mul", c, index(_FOUR)), i)
    more = [binary("lt", channel, index(inputs))] if inputs % _FOUR else []
    value = _bordered(data, [n, channel, h, w], attrs.padding, data.shape[2:], zero_point, more)
    tile = Stage(Buffer(DATA, shape, data.dtype), held, value)
    full = np.zeros((outputs, fours * _FOUR, *kernel), np.int8)
    full[:, :inputs] = weight
    packed = np.ascontiguousarray(full.reshape(outputs, fours, _FOUR, *kernel).transpose(1, 3, 4, 0, 2))
    buffer = Buffer("weight", packed.shape, "int8")
    copied = _copy(WEIGHT, buffer)
    axes = dict(zip(("n", "f", "y", "x"), node.shape, strict=True))
    n, f, y, x = (axis.var for axis in axes_of(axes))
    reduce = {"rc": fours, "ry": kernel[0], "rx": kernel[1], "ri": _FOUR}
    rc, ry, rx, ri = (axis.var for axis in axes_of(reduce))
    product = _product(
        load(tile.output, [n, rc, *_windows(attrs, y, x, ry, rx), ri]), load(copied.output, [rc, ry, rx, f, ri]), "int32"
    )
    sums = _sums(node, f, axes, product, reduce, _start(site, node, weight, zero_point))
    return _anchor(node, sums, (tile, copied), ((buffer, packed),), dot="ri")


def _depthwise(node: Node, site: Site, attrs: Conv2DAttributes) -> TiledAnchor:
    weight = np.asarray(node.inputs[1].value)
    zero_point = _zero_point(node)
    data = site.value(0)
    high, wide = _extents(node, attrs)
    shape = (*node.inputs[0].shape[:2], high, wide)
    held = axes_of(dict(zip("nchw", shape, strict=True)))
    tile = Stage(
        Buffer(DATA, shape, data.dtype),
        held,
        _bordered(data, [axis.var for axis in held], attrs.padding, data.shape[2:], zero_point),
    )
    packed = np.ascontiguousarray(weight[:, 0])
    buffer = Buffer("weight", packed.shape, packed.dtype.name)
    copied = _copy(WEIGHT, buffer)
    axes = dict(zip(("n", "f", "y", "x"), node.shape, strict=True))
    n, f, y, x = (axis.var for axis in axes_of(axes))
    reduce = {"ry": packed.shape[1], "rx": packed.shape[2]}
    ry, rx = (axis.var for axis in axes_of(reduce))
    dtype = "float32" if weight.dtype.kind == "f" else "int32"
    product = _product(load(tile.output, [n, f, *_windows(attrs, y, x, ry, rx)]), load(copied.output, [f, ry, rx]), dtype)
    sums = _sums(node, f, axes, product, reduce, _start(site, node, weight, zero_point))
    return _anchor(node, sums, (tile, copied), ((buffer, packed),))


def _dense(node: Node, site: Site) -> TiledAnchor:
    weight = np.asarray(node.inputs[1].value)
    zero_point = _zero_point(node)
    if weight.dtype == np.int8 and not weight.shape[1] % _FOUR and node.shape[0] >= _BATCH and not _has_few(node, weight):
        return _byte_dense(node, site, weight, zero_point)
    data = site.value(0)
    held = axes_of({"n": data.shape[0], "k": data.shape[1]})
    tile = Stage(Buffer(DATA, data.shape, data.dtype), held, data.at(plain_point([axis.var for axis in held])))
    packed = np.ascontiguousarray(weight.T)
    buffer = Buffer("weight", packed.shape, packed.dtype.name)
    copied = _copy(WEIGHT, buffer)
    axes, reduce = {"n": node.shape[0], "m": node.shape[1]}, {"k": weight.shape[1]}
    n, m, k = (Coordinate(axis.var).whole for axis in axes_of({**axes, **reduce}))
    dtype = "float32" if weight.dtype.kind == "f" else "int32"
    product = _product(load(tile.output, [n, k]), load(copied.output, [k, m]), dtype)
    sums = _sums(node, m, axes, product, reduce, _start(site, node, weight, zero_point))
    return _anchor(
        node, sums, (tile, copied), ((buffer, packed),), vectors=packed.dtype == np.float32 and len(weight) % _FOUR == 0
    )


def _has_few(node: Node, weight: Array) -> bool:
    return are_few(prod(node.shape), weight.shape[1])


def _byte_dense(node: Node, site: Site, weight: Array, zero_point: int) -> TiledAnchor:
    """Inputs by fours, for dot products of bytes."""
    data = site.value(0)
    rows, fours = data.shape[0], weight.shape[1] // _FOUR
    held = axes_of({"n": rows, "k": fours, "i": _FOUR})
    n, k, i = (axis.var for axis in held)
    place = binary("add", binary("mul", k, index(_FOUR)), i)
    tile = Stage(Buffer(DATA, (rows, fours, _FOUR), data.dtype), held, data.at(plain_point([n, place])))
    packed = np.ascontiguousarray(weight.reshape(len(weight), fours, _FOUR).transpose(1, 0, 2))
    buffer = Buffer("weight", packed.shape, "int8")
    copied = _copy(WEIGHT, buffer)
    axes, reduce = {"n": node.shape[0], "m": node.shape[1]}, {"k": fours, "ki": _FOUR}
    n, m, k, i = (axis.var for axis in axes_of({**axes, **reduce}))
    product = _product(load(tile.output, [n, k, i]), load(copied.output, [k, m, i]), "int32")
    sums = _sums(node, m, axes, product, reduce, _start(site, node, weight, zero_point))
    return _anchor(node, sums, (tile, copied), ((buffer, packed),), dot="ki")
