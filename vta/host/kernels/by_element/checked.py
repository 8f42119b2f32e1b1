"""Operands that must lie within bounds, and are not known before the operator runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vta.host.kernels.values import Coordinate, Point, Value
from vta.host.loop.expression import Expr, binary, cast, index, select
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.indexed import AxisOfIndices, GatherNdAttributes, ScatterElementsAttributes
from vta.ir.ops.quantized.rescale import MOST_SHIFT
from vta.ir.ops.shape import TakeAttributes
from vta.support.dataclass import dataclass

__all__ = ["Bounds", "bounds_of", "counted_from_front", "is_checked"]

_SHIFTS = (ops.LEFT_SHIFT, ops.RIGHT_SHIFT)
_MOST_AMOUNT = 31
_RESCALE_SHIFT = 3
"""The operand."""


@dataclass(frozen=True)
class Bounds:
    """What an operand's values must lie within."""

    least: int
    most: int
    what: str
    """That is said of what is outside, up to what is allowed."""
    operand: int = 1
    coordinate: int | None = None
    """Which of the values along the last axis, where the others have bounds of their own."""

    def message(self) -> str:
        """What is said of a value that is outside, up to the value."""
        return f"{self.what} must be in {self.least}..{self.most}, got "

    def values(self, operand: Value) -> Value:
        """Those that the bounds are for, as int64 and of at least one axis."""
        shape = operand.shape

        def at(point: Point) -> Expr:
            if not shape:
                return cast(operand.at(()), "int64")
            last = () if self.coordinate is None else (Coordinate(index(self.coordinate)),)
            return cast(operand.at((*point[: len(shape) - len(last)], *last)), "int64")

        kept = shape if self.coordinate is None else shape[:-1]
        return Value(kept or (1,), "int64", at)

    def holds(self, values: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> bool:
        """Whether constants are within."""
        found = values if self.coordinate is None else values[..., self.coordinate]
        return bool(((found >= self.least) & (found <= self.most)).all())


def is_checked(node: Node) -> bool:
    """Whether a call has operands that must be looked at when it runs."""
    return bool(bounds_of(node))


def bounds_of(node: Node) -> tuple[Bounds, ...]:
    """What operands of a call must lie within; those left out that are known to."""

    def is_known(item: Bounds) -> bool:
        value = node.inputs[item.operand].value
        return value is not None and item.holds(np.asarray(value, np.int64))

    return tuple(item for item in _all_bounds(node) if not is_known(item))


def _all_bounds(node: Node) -> tuple[Bounds, ...]:
    match node.op:
        case op if op in _SHIFTS:
            return (Bounds(0, _MOST_AMOUNT, "shift amounts"),)
        case ops.TAKE:
            return _positions(_sizes_along(node, attrs_of(node, TakeAttributes).axis))
        case ops.GATHER_ELEMENTS:
            return _positions(_sizes_along(node, attrs_of(node, AxisOfIndices).axis))
        case ops.SCATTER_ELEMENTS:
            return _positions(_sizes_along(node, attrs_of(node, ScatterElementsAttributes).axis))
        case ops.GATHER_ND:
            first = attrs_of(node, GatherNdAttributes).batch_dims
            return _positions(node.inputs[0].shape[first : first + node.inputs[1].shape[-1]], apart=True)
        case ops.SCATTER_ND:
            return _positions(node.inputs[0].shape[: node.inputs[1].shape[-1]], apart=True)
        case ops.RESCALE:
            return (Bounds(-MOST_SHIFT, MOST_SHIFT, "shifts", _RESCALE_SHIFT),)
        case _:
            return ()


def _sizes_along(node: Node, axis: int) -> tuple[int]:
    return (node.inputs[0].shape[axis],)


def _positions(sizes: Sequence[int], apart: bool = False) -> tuple[Bounds, ...]:
    return tuple(Bounds(-size, size - 1, "positions", coordinate=at if apart else None) for at, size in enumerate(sizes))


def counted_from_front(place: Expr, size: int) -> Expr:
    """A position that may count from the end, as one that counts from the front; within the size, whatever it is."""
    place = cast(place, "int64")
    counted = select(binary("lt", place, index(0)), binary("add", place, index(size)), place)
    return binary("min", binary("max", counted, index(0)), index(size - 1))
