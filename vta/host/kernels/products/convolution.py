"""Convolutions and dense layers: sums over windows and channels, a tile of them in registers at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.kernels.anchor import Anchor
from vta.host.kernels.products.border import names, prepared
from vta.host.kernels.products.convolution_shape import convolution_shape
from vta.host.kernels.products.packing import in_lines
from vta.host.kernels.products.sums import chunked_sums, tile_sums
from vta.host.kernels.tiles import Tile, dense_tile
from vta.host.kernels.values import Coordinate, Layout, Point, Value, blocked_coordinate, plain_point
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage, axes_of
from vta.host.loop.expression import Expr, binary, const, index, load
from vta.host.loop.steps import Reorder, Unroll, Vectorize
from vta.host.processors import CpuTarget
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn.conv import Conv2DAttributes

__all__ = ["convolution", "dense", "sums_value"]

Array = NDArray[Any]


def convolution(node: Node, data: Value, layout: Layout, weight: Array, target: CpuTarget, tile: Tile | None = None) -> Anchor:
    """A float32 convolution of data that lies in memory as `layout` says. `tile` overrules the model's choice."""
    attrs = attrs_of(node, Conv2DAttributes)
    lanes = target.lanes(4)
    batch, _, rows, columns = node.shape
    _, in_channels, *kernel = weight.shape
    shape = convolution_shape(node, layout, target)
    chosen = tile or shape.default_tile(target)
    depthwise, blocks = shape.depthwise, shape.blocks
    source, stages, steps = prepared(data, layout, attrs.padding, lanes, shape.in_blocks > 0, by_rows=depthwise)
    axes = axes_of({"n": batch, "o": blocks, "y": rows, "x": columns, "c": lanes})
    taps = axes_of({"kh": kernel[0], "kw": kernel[1]})
    (n, o, y, x, c), (kh, kw) = ([axis.var for axis in group] for group in (axes, taps))
    row, column = (
        Coordinate(binary("add", binary("mul", at, index(attrs.strides[axis])), binary("mul", tap, index(attrs.dilation[axis]))))
        for axis, (at, tap) in enumerate(((y, kh), (x, kw)))
    )
    if depthwise:
        packed = _packed_depthwise(weight, lanes)
        reduce, channel, places = taps, blocked_coordinate(o, c, lanes), [o, kh, kw, c]
    elif shape.in_blocks:
        packed = _packed(weight, lanes, shape.in_blocks * lanes)
        ib, ic = axes_of({"ib": shape.in_blocks, "ic": lanes})
        reduce, channel, places = (ib, *taps, ic), blocked_coordinate(ib.var, ic.var, lanes), [o, ib.var, kh, kw, ic.var, c]
    else:
        packed = _packed(weight, lanes, 0)
        (ic,) = axes_of({"ic": in_channels})
        reduce, channel, places = (ic, *taps), Coordinate(ic.var), [o, ic.var, kh, kw, c]
    buffer = Buffer("weight", packed.shape, "float32")
    product = binary("mul", source.at((Coordinate(n), channel, row, column)), load(buffer, places))
    sums = (chunked_sums if chosen.chunk else tile_sums)(axes, product, reduce, chosen)
    steps += (*sums.steps, *(Unroll(sums.products, tap) for tap in ("kw", "kh")[: chosen.unrolled]))
    by_rows = (*(names(stages) if depthwise else ()), *sums.by_rows)
    value = sums_value(node, sums.buffer, lanes)
    return Anchor((*stages, *sums.stages), value, steps, chosen, ((buffer, packed),), by_rows)


def sums_value(node: Node, sums: Buffer, lanes: int) -> Value:
    """The sums in blocks as a value of an operator."""

    def at(point: Point) -> Expr:
        channel = point[1]
        assert channel.block is not None
        assert channel.lane is not None
        assert channel.size == lanes
        return load(sums, [point[0].whole, channel.block, *(item.whole for item in point[2:]), channel.lane])

    return Value(node.shape, sums.dtype, at)


def _packed(weight: Array, lanes: int, in_blocks: int) -> Array:
    """Weights (O, I, KH, KW) as output blocks, input channels, kernel, lanes.

    Where `in_blocks` is not 0, input channels are filled up to so many, and in blocks, of which the lanes come after the kernel.
    """
    blocks = -(-weight.shape[0] // lanes)
    full = np.zeros((blocks * lanes, in_blocks or weight.shape[1], *weight.shape[2:]), weight.dtype)
    full[: len(weight), : weight.shape[1]] = weight
    parted = full.reshape(blocks, lanes, *full.shape[1:])
    if not in_blocks:
        return in_lines(parted.transpose(0, 2, 3, 4, 1))
    split = parted.reshape(blocks, lanes, in_blocks // lanes, lanes, *weight.shape[2:])
    return in_lines(split.transpose(0, 2, 4, 5, 3, 1))


def _packed_depthwise(weight: Array, lanes: int) -> Array:
    """Weights (C, 1, KH, KW) as blocks, kernel, lanes."""
    blocks = -(-weight.shape[0] // lanes)
    full = np.zeros((blocks * lanes, *weight.shape[2:]), weight.dtype)
    full[: len(weight)] = weight[:, 0]
    return in_lines(full.reshape(blocks, lanes, *weight.shape[2:]).transpose(0, 2, 3, 1))


def _packed_dense(weight: Array, lanes: int, together: int) -> Array:
    """Weights (O, I) as groups of output blocks, blocks, input channels, lanes.

    A group is read as so many streams side by side: what fetches ahead ends each of them at a page, but not all at once.
    """
    groups = -(-len(weight) // (lanes * together))
    full = np.zeros((groups * together * lanes, weight.shape[1]), weight.dtype)
    full[: len(weight)] = weight
    return in_lines(full.reshape(groups, together, lanes, -1).transpose(0, 1, 3, 2))


def dense(node: Node, data: Value, weight: Array, target: CpuTarget, tile: Tile | None = None) -> Anchor:
    """A float32 dense layer, data (N, K) times weight (M, K)."""
    lanes = target.lanes(4)
    batch = node.shape[0]
    blocks = -(-len(weight) // lanes)
    chosen = tile or dense_tile(blocks, target)
    together = index(chosen.blocks)
    packed = _packed_dense(weight, lanes, chosen.blocks)
    axes = axes_of({"n": batch, "o": blocks, "c": lanes})
    n, o, c = (axis.var for axis in axes)
    (depth,) = axes_of({"k": weight.shape[1]})
    buffer = Buffer("weight", packed.shape, "float32")
    sums = Buffer("sums", tuple(axis.extent for axis in axes), "float32")
    places = [binary("floordiv", o, together), binary("mod", o, together), depth.var, c]
    product = binary("mul", data.at(plain_point([n, depth.var])), load(buffer, places))
    stage = Stage(sums, axes, product, (depth,), "add", const(0, "float32"))
    steps = (Reorder("sums", ("k", "n", "o", "c")), Unroll("sums", "o"), Vectorize("sums", "c"))

    def at(point: Point) -> Expr:
        channel = point[1]
        assert channel.block is not None
        assert channel.lane is not None
        return load(sums, [point[0].whole, channel.block, channel.lane])

    return Anchor((stage,), Value(node.shape, "float32", at), steps, chosen, ((buffer, packed),))
