"""Operators that move elements without computing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vta.host.kernels.by_element.checked import counted_from_front
from vta.host.kernels.by_element.elementwise import real
from vta.host.kernels.by_element.pointwise import ConstantMaker, pointwise
from vta.host.kernels.values import Coordinate, Point, Value
from vta.host.loop.expression import Expr, binary, cast, const, index, select
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.matmul import GroupsAttributes
from vta.ir.ops.quantized.gates import GateAttributes
from vta.ir.ops.shape import (
    ConcatenateAttributes,
    PadAttributes,
    StridedSliceAttributes,
    TakeAttributes,
    TransposeAttributes,
    UpsamplingAttributes,
)

__all__ = ["all_of", "reshaped", "within"]


@pointwise(ops.TRANSPOSE, kind="move")
def _transpose(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    rank = len(node.shape)
    axes = [axis % rank for axis in attrs_of(node, TransposeAttributes).axes]
    return Value(node.shape, node.dtype, lambda point: inputs[0].at(tuple(point[axes.index(axis)] for axis in range(rank))))


@pointwise(ops.TRANSPOSE2D, kind="move")
def _transpose2d(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    groups, (batch, _, _, width) = attrs_of(node, GroupsAttributes).groups, inputs[0].shape
    channels = node.shape[3]
    apart = reshaped(inputs[0], (batch, groups, channels, width))
    turned = Value((batch, groups, width, channels), node.dtype, lambda point: apart.at((*point[:2], point[3], point[2])))
    return reshaped(turned, node.shape)


@pointwise(ops.RESHAPE, ops.BATCH_FLATTEN, ops.SQUEEZE, ops.EXPAND_DIMS, kind="move")
def _reshape(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    return reshaped(inputs[0], node.shape)


def reshaped(value: Value, shape: tuple[int, ...]) -> Value:
    """The same elements in another shape. Axes that both shapes have in the same place stay as they are."""
    groups = _matching(value.shape, shape)

    def at(point: Point) -> Expr:
        places: list[Coordinate] = []
        for ours, theirs in groups:
            if [value.shape[axis] for axis in ours] == [shape[axis] for axis in theirs]:
                places += [point[axis] for axis in theirs]
            else:
                flat = _flat([point[axis].whole for axis in theirs], [shape[axis] for axis in theirs])
                places += map(Coordinate, _unflat(flat, [value.shape[axis] for axis in ours]))
        return value.at(tuple(places))

    return Value(shape, value.dtype, at)


def _matching(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Axes of two shapes in groups of as many elements each."""
    if 0 in old:
        return [(list(range(len(old))), list(range(len(new))))]
    groups: list[tuple[list[int], list[int]]] = []
    ours: list[int] = []
    theirs: list[int] = []
    at, to, have, want = 0, 0, 1, 1
    while at < len(old) or to < len(new):
        if at < len(old) and (have <= want or to == len(new)):
            have *= old[at]
            ours.append(at)
            at += 1
        else:
            want *= new[to]
            theirs.append(to)
            to += 1
        if have == want and ours and theirs:
            groups.append((ours, theirs))
            ours, theirs, have, want = [], [], 1, 1
    if ours or theirs:
        groups.append((ours, theirs))
    return groups


def _flat(places: Sequence[Expr], shape: Sequence[int]) -> Expr:
    total: Expr = index(0)
    for place, size in zip(places, shape, strict=True):
        total = binary("add", binary("mul", total, index(size)), place)
    return total


def _unflat(flat: Expr, shape: Sequence[int]) -> list[Expr]:
    places: list[Expr] = []
    for size in reversed(shape):
        places.insert(0, binary("mod", flat, index(size)))
        flat = binary("floordiv", flat, index(size))
    return places


@pointwise(ops.STRIDED_SLICE, kind="move")
def _strided_slice(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    attrs = attrs_of(node, StridedSliceAttributes)
    ranges = [part.indices(size) for part, size in zip(attrs.slices(), inputs[0].shape, strict=True)]

    def at(point: Point) -> Expr:
        moved = [
            place if (begin, step) == (0, 1) else Coordinate(_stepped(place.whole, begin, step))
            for place, (begin, _, step) in zip(point, ranges, strict=True)
        ]
        return inputs[0].at(tuple(moved))

    return Value(node.shape, node.dtype, at)


def _stepped(place: Expr, begin: int, step: int) -> Expr:
    return binary("add", binary("mul", place, index(step)), index(begin))


@pointwise(ops.CONCATENATE, kind="gather")
def _concatenate(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    axis = attrs_of(node, ConcatenateAttributes).axis % len(node.shape)
    starts = np.cumsum([0, *(item.shape[axis] for item in inputs)]).tolist()
    parts = [(item, start) for item, start in zip(inputs, starts, strict=False) if item.shape[axis]]

    def at(point: Point) -> Expr:
        place = point[axis].whole
        chosen: Expr | None = None
        for item, start in reversed(parts):
            moved = (*point[:axis], Coordinate(binary("sub", place, index(start))), *point[axis + 1 :])
            value = item.at(moved)
            chosen = value if chosen is None else select(binary("lt", place, index(start + item.shape[axis])), value, chosen)
        return const(0, node.dtype) if chosen is None else chosen

    return Value(node.shape, node.dtype, at)


@pointwise(ops.BROADCAST_TO, kind="gather")
def _broadcast_to(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    return Value(node.shape, node.dtype, lambda point: inputs[0].broadcast(point, node.shape))


@pointwise(ops.UPSAMPLING, kind="gather")
def _upsampling(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    attrs = attrs_of(node, UpsamplingAttributes)
    scales = (attrs.scale_h, attrs.scale_w)

    def at(point: Point) -> Expr:
        nearest = [
            Coordinate(binary("floordiv", place.whole, index(scale))) for place, scale in zip(point[2:], scales, strict=True)
        ]
        return inputs[0].at((*point[:2], *nearest))

    return Value(node.shape, node.dtype, at)


@pointwise(ops.PAD, kind="gather")
def _pad(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    data, attrs = inputs[0], attrs_of(node, PadAttributes)
    fill = real(attrs.pad_value, node.dtype)

    def at(point: Point) -> Expr:
        moved: list[Coordinate] = []
        conditions: list[Expr] = []
        for place, (before, after), size in zip(point, attrs.pad_width, data.shape, strict=True):
            source = binary("sub", place.whole, index(before))
            moved.append(Coordinate(source) if before else place)
            conditions += within(source, size, below=before > 0, above=after > 0)
        value = data.at(tuple(moved))
        return select(all_of(conditions), value, fill) if conditions else value

    return Value(node.shape, node.dtype, at)


def within(place: Expr, size: int, below: bool = True, above: bool = True) -> list[Expr]:
    """Conditions under which a position lies in a range 0 .. size - 1, as far as it may be below or above."""
    conditions = [binary("le", index(0), place)] if below else []
    return [*conditions, binary("lt", place, index(size))] if above else conditions


def all_of(conditions: Sequence[Expr]) -> Expr:
    """Whether all of some conditions hold."""
    total = conditions[0]
    for condition in conditions[1:]:
        total = binary("and", total, condition)
    return total


@pointwise(ops.TAKE, kind="gather")
def _take(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    data, places = inputs
    axis = attrs_of(node, TakeAttributes).axis % len(data.shape)
    count = len(places.shape)

    def at(point: Point) -> Expr:
        place = counted_from_front(places.at(point[axis : axis + count]), data.shape[axis])
        return data.at((*point[:axis], Coordinate(place), *point[axis + count :]))

    return Value(node.shape, node.dtype, at)


@pointwise(ops.QNN_LOOKUP)
def _lookup(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    data, table = inputs

    def at(point: Point) -> Expr:
        return table.at((Coordinate(binary("add", cast(data.at(point), "int64"), index(128))),))

    return Value(node.shape, node.dtype, at)


@pointwise(ops.QNN_SIGMOID16, ops.QNN_TANH16)
def _gate(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    table = make_constant(attrs_of(node, GateAttributes).table(node.op))

    def at(point: Point) -> Expr:
        return table.at((Coordinate(binary("add", cast(inputs[0].at(point), "int64"), index(1 << 15))),))

    return Value(node.shape, node.dtype, at)
