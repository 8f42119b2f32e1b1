"""Operators that read windows or neighbouring channels without reducing them to sums of products."""

from __future__ import annotations

from collections.abc import Sequence

from vta.host.kernels.anchor import PlainAnchor, Site
from vta.host.kernels.by_element.elementwise import real
from vta.host.kernels.by_element.frames import Frame, framed
from vta.host.kernels.by_element.moves import all_of, within
from vta.host.kernels.by_element.pointwise import ConstantMaker, pointwise
from vta.host.kernels.values import Coordinate, Point, Value
from vta.host.loop.expression import Expr, binary, const, index, select
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn.norm import LRNAttributes
from vta.ir.ops.nn.windows import WindowsAttributes

__all__ = ["window_channels"]


def window_channels(node: Node, site: Site) -> PlainAnchor:
    """`nn.windows`: what lies under a window, as channels."""
    attrs = attrs_of(node, WindowsAttributes)
    data = site.value(0)
    channels, width = data.shape[1], attrs.kernel[1]
    source = framed(data, site.layout, Frame(attrs.padding), 1, False) if any(attrs.padding) else None
    value = data if source is None else source.value

    def at(point: Point) -> Expr:
        n, channel, *place = point
        position = binary("floordiv", channel.whole, index(channels))
        taps = (binary("floordiv", position, index(width)), binary("mod", position, index(width)))
        row, column = (
            Coordinate(binary("add", binary("mul", item.whole, index(stride)), binary("mul", tap, index(dilation))))
            for item, stride, tap, dilation in zip(place, attrs.strides, taps, attrs.dilation, strict=True)
        )
        return value.at((n, Coordinate(binary("mod", channel.whole, index(channels))), row, column))

    stages, steps = ((), ()) if source is None else (source.stages, source.steps)
    return PlainAnchor(stages, Value(node.shape, node.dtype, at), steps)


@pointwise(ops.LRN, kind="gather")
def _lrn(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    attrs = attrs_of(node, LRNAttributes)
    data = inputs[0]
    before, channels = (attrs.size - 1) // 2, data.shape[1]

    def square(point: Point, offset: int) -> Expr:
        channel = binary("add", point[1].whole, index(offset))
        value = data.at((point[0], Coordinate(channel), *point[2:]))
        conditions = within(channel, channels, below=offset < 0, above=offset > 0)
        product = binary("mul", value, value)
        return select(all_of(conditions), product, const(0, node.dtype)) if conditions else product

    def at(point: Point) -> Expr:
        total: Expr = const(0, node.dtype)
        for offset in range(-before, attrs.size - before):
            total = binary("add", total, square(point, offset))
        scaled = binary("mul", real(attrs.alpha / attrs.size, node.dtype), total)
        base = binary("add", real(attrs.bias, node.dtype), scaled)
        return binary("div", data.at(point), binary("pow", base, real(attrs.beta, node.dtype)))

    return Value(node.shape, node.dtype, at)
