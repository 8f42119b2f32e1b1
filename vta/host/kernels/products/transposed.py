"""Transposed and grouped convolutions, as convolutions over data that are stretched and framed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.kernels.anchor import Anchor, AnyAnchor, Site
from vta.host.kernels.by_element.frames import Frame, framed
from vta.host.kernels.products.integers import Windows, integer_convolution, window_sums
from vta.host.kernels.products.packing import by_lanes, joined_groups
from vta.host.kernels.tiles import convolution_tiles
from vta.host.kernels.values import Coordinate, Point, Value, blocked_coordinate
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import axes_of
from vta.host.loop.expression import Expr, binary, index, load
from vta.ir.graph import Node
from vta.ir.ops.nn.conv import Conv2DTransposeAttributes, spread_phases, transposed_weight

__all__ = ["grouped_convolution", "transposed_convolution", "transposed_windows", "with_offsets"]

Array = NDArray[Any]
_WITHOUT_OFFSETS = 2
"""Operands."""


def grouped_convolution(node: Node, site: Site, weight: Array, windows: Windows) -> Anchor:
    """A float32 convolution with weights (O, C/groups, KH, KW) of any groups."""
    joined, groups = joined_groups(weight, windows.groups, site.lanes)
    inputs = joined.shape[1]
    block = site.lanes if groups == 1 else next(size for size in (site.lanes, 8, 4, 2, 1) if inputs % size == 0)
    source = framed(site.value(0), site.layout, windows.frame, block, False)
    packed = by_lanes(joined, site.lanes, block)
    buffer = Buffer("weight", packed.shape, "float32")
    outputs, in_blocks = len(weight) // groups, packed.shape[1]

    def product(point: Sequence[Expr], taps: Sequence[Expr], row: Coordinate, column: Coordinate) -> Expr:
        n, o, c = point
        ib, kh, kw, ic = taps
        first = binary("floordiv", binary("mul", o, index(site.lanes)), index(outputs)) if groups > 1 else index(0)
        place = blocked_coordinate(binary("add", binary("mul", first, index(in_blocks)), ib), ic, block)
        return binary("mul", source.value.at((Coordinate(n), place, row, column)), load(buffer, [o, ib, kh, kw, ic, c]))

    reduce = axes_of({"ib": in_blocks, "kh": windows.kernel[0], "kw": windows.kernel[1], "ic": block})
    depth = inputs * windows.kernel[0] * windows.kernel[1]
    tile = site.tile or convolution_tiles(node.shape[3], len(packed), depth, site.target)[0]
    return window_sums(node, site, source, windows, reduce, product, None, tile, ((buffer, packed),))


def transposed_convolution(node: Node, site: Site, attrs: Conv2DTransposeAttributes, zero_point: int) -> Anchor:
    """A transposed convolution, of float32 or of integers, without what is added to its phases."""
    weight = np.asarray(node.inputs[1].value)
    turned = transposed_weight(weight, attrs.groups)
    windows = transposed_windows(node, attrs, zero_point)
    if weight.dtype.kind == "f":
        return grouped_convolution(node, site, turned, windows)
    return integer_convolution(node, site, turned, windows, zero_point)


def transposed_windows(node: Node, attrs: Conv2DTransposeAttributes, zero_point: int) -> Windows:
    """The windows, of step 1 over data that are stretched, of a transposed convolution."""
    kernel = tuple(node.inputs[1].shape[2:])
    return Windows(kernel, (1, 1), attrs.dilation, attrs.groups, _frame(node, attrs, kernel, zero_point))


def _frame(node: Node, attrs: Conv2DTransposeAttributes, kernel: Sequence[int], zero_point: int) -> Frame:
    """So much around and between the data that windows of step 1 give the output."""
    before, after = [], []
    for axis in (0, 1):
        reach = (kernel[axis] - 1) * attrs.dilation[axis]
        stretched = (node.inputs[0].shape[2 + axis] - 1) * attrs.strides[axis] + 1
        before.append(reach - attrs.padding[axis])
        after.append(node.shape[2 + axis] + reach - stretched - before[axis])
    return Frame((*before, *after), attrs.strides, zero_point)


def with_offsets(node: Node, site: Site, attrs: Conv2DTransposeAttributes, anchor: AnyAnchor) -> AnyAnchor:
    """An anchor with what is added to the phases of a transposed convolution, if anything is."""
    if len(node.inputs) <= _WITHOUT_OFFSETS:
        return anchor
    value, known = anchor.value, node.inputs[2].value
    spread = None if known is None else spread_phases(np.asarray(known), attrs, node.shape[2:])
    offsets = site.value(2) if spread is None else site.make_constant(spread)

    def offset(channel: Coordinate, *places: Coordinate) -> Expr:
        if known is not None:
            return offsets.at((channel, *places))
        phases = (
            binary("mod", binary("add", place.whole, index(before)), index(stride))
            for place, before, stride in zip(places, attrs.padding, attrs.strides, strict=False)
        )
        return offsets.at((channel, *map(Coordinate, phases)))

    def at(point: Point) -> Expr:
        return binary("add", value.at(point), offset(*point[1:]))

    return replace(anchor, value=Value(value.shape, value.dtype, at))
