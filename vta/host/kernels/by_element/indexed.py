"""Gathers, and scatters by positions that are known."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.host.kernels.by_element.checked import counted_from_front
from vta.host.kernels.by_element.pointwise import ConstantMaker, pointwise
from vta.host.kernels.values import Coordinate, Point, Value
from vta.host.loop.expression import Expr, binary, index, select
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.operator import lookup
from vta.ir.ops.indexed import AxisOfIndices, GatherNdAttributes

__all__: list[str] = []


def _numbered(shape: Sequence[int], first: int = 0) -> NDArray[np.int64]:
    """An array whose elements are their own places, row by row."""
    return np.arange(first, first + int(np.prod(shape)), dtype=np.int64).reshape(tuple(shape))


def _sources(node: Node) -> NDArray[np.int64]:
    """For each element of the result its place among all elements of the operands that are moved, one after the other.

    The reference says so itself: it moves the places. Raises `GraphError` where a position is outside.
    """
    data, indices, *updates = node.inputs
    moved = [_numbered(data.shape), *(_numbered(item.shape, int(np.prod(data.shape))) for item in updates)]
    assert indices.value is not None
    return np.asarray(lookup(node.op).reference(node.attrs, moved[0], indices.value, *moved[1:]), np.int64)


def _has_known_sources(node: Node) -> bool:
    if node.inputs[1].value is None or getattr(node.attrs, "reduction", "none") != "none":
        return False
    try:
        _sources(node)
    except GraphError:
        return False
    return True


def _element(value: Value, place: Expr) -> Expr:
    """An element by its place, row by row."""
    places: list[Coordinate] = []
    for size in reversed(value.shape):
        places.insert(0, Coordinate(binary("mod", place, index(size))))
        place = binary("floordiv", place, index(size))
    return value.at(tuple(places))


@pointwise(ops.GATHER_ELEMENTS, ops.GATHER_ND, kind="gather")
def _gather(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    if not _has_known_sources(node):
        return (_gathered_elements if node.op == ops.GATHER_ELEMENTS else _gathered_slices)(node, *inputs)
    sources = make_constant(_sources(node))
    return Value(node.shape, node.dtype, lambda point: _element(inputs[0], sources.at(point)))


def _gathered_elements(node: Node, data: Value, places: Value) -> Value:
    axis = attrs_of(node, AxisOfIndices).axis % len(data.shape)

    def at(point: Point) -> Expr:
        place = counted_from_front(places.at(point), data.shape[axis])
        return data.at((*point[:axis], Coordinate(place), *point[axis + 1 :]))

    return Value(node.shape, node.dtype, at)


def _gathered_slices(node: Node, data: Value, places: Value) -> Value:
    shared = attrs_of(node, GatherNdAttributes).batch_dims
    *rows, depth = places.shape

    def at(point: Point) -> Expr:
        row, inner = point[: len(rows)], point[len(rows) :]
        found = (
            counted_from_front(places.at((*row, Coordinate(index(axis)))), data.shape[shared + axis]) for axis in range(depth)
        )
        return data.at((*row[:shared], *map(Coordinate, found), *inner))

    return Value(node.shape, node.dtype, at)


@pointwise(ops.SCATTER_ELEMENTS, ops.SCATTER_ND, kind="gather", when=_has_known_sources)
def _scatter(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    """A gather from the data and the updates, since it is known which of them each element is."""
    sources = make_constant(_sources(node))
    data, _, updates = inputs
    size = int(np.prod(data.shape))
    return Value(node.shape, node.dtype, partial(_chosen, data, updates, sources, size))


def _chosen(data: Value, updates: Value, sources: Value, size: int, point: Point) -> Expr:
    """Both are loaded, so both places must be there."""
    source = sources.at(point)
    moved = binary("max", binary("sub", source, index(size)), index(0))
    return select(binary("lt", source, index(size)), data.at(point), _element(updates, moved))
