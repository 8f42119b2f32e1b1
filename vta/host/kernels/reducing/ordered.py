"""The positions of the largest or smallest values, in order: each value counts those that come before it."""

from __future__ import annotations

from vta.host.kernels.anchor import PlainAnchor, Site
from vta.host.kernels.reducing.reductions import reduced_rows
from vta.host.kernels.values import Coordinate, Point, Value, plain_point
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage, axes_of
from vta.host.loop.expression import Expr, binary, cast, const, load, select
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.indexed import TopKAttributes

__all__ = ["MOST_ORDERED", "top_k"]

MOST_ORDERED = 1 << 12
"""Values along an axis: for more it takes less time to sort."""


def top_k(node: Node, site: Site) -> PlainAnchor:
    """`top_k`: of equal values the first comes first, and NaN last."""
    attrs = attrs_of(node, TopKAttributes)
    data = site.value(0)
    axis = attrs.axis % len(data.shape)
    (other,) = axes_of({"other": data.shape[axis]})
    axes = axes_of({f"a{at}": size for at, size in enumerate(data.shape)})
    place = axes[axis].var
    point = plain_point([item.var for item in axes])
    ours, theirs = data.at(point), data.at(_moved(point, axis, other.var))
    first = binary("lt", ours, theirs) if attrs.largest else binary("lt", theirs, ours)
    comes_before = _or(
        _or(first, _and(_is_number(theirs), _not(_is_number(ours)))),
        _and(_are_equal(ours, theirs), binary("lt", cast(other.var, "int32"), cast(place, "int32"))),
    )
    counted = select(comes_before, const(1, "int32"), const(0, "int32"))
    ranks = Stage(Buffer("ranks", data.shape, "int32"), axes, counted, (other,), "add", const(0, "int32"))

    (source,) = axes_of({"source": data.shape[axis]})
    wanted = axes_of({f"k{at}": size for at, size in enumerate(node.shape)})
    places = [item.var for item in wanted]
    rank = load(ranks.output, [source.var if at == axis else item for at, item in enumerate(places)])
    found = select(binary("eq", rank, cast(places[axis], "int32")), source.var, const(0, "int64"))
    picked = Stage(Buffer("places", node.shape, "int64"), wanted, found, (source,), "add", const(0, "int64"))
    value = Value(node.shape, "int64", lambda at: load(picked.output, [item.whole for item in at]))
    return PlainAnchor((ranks, picked), value, (*reduced_rows(ranks, site.lanes), *reduced_rows(picked, site.lanes)))


def _moved(point: Point, axis: int, place: Expr) -> Point:
    return (*point[:axis], Coordinate(place), *point[axis + 1 :])


def _is_number(value: Expr) -> Expr:
    return binary("eq", value, value)


def _are_equal(left: Expr, right: Expr) -> Expr:
    """Whether values are the same; what is no number is like what is none."""
    return _or(binary("eq", left, right), _and(_not(_is_number(left)), _not(_is_number(right))))


def _and(left: Expr, right: Expr) -> Expr:
    return binary("and", left, right)


def _or(left: Expr, right: Expr) -> Expr:
    return binary("or", left, right)


def _not(value: Expr) -> Expr:
    return binary("xor", value, const(True, "bool"))
