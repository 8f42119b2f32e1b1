"""Chains of reshapes and transpositions as one rearrangement of axes: joined, undone, and written again as few operators."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of, call
from vta.ir.ops.shape import TransposeAttributes
from vta.support.dataclass import dataclass

__all__ = ["AxisMove", "move_of"]

Array = NDArray[Any]
Shape = tuple[int, ...]

_RENAMING = (ops.RESHAPE, ops.BATCH_FLATTEN, ops.SQUEEZE, ops.EXPAND_DIMS)


@dataclass(frozen=True)
class AxisMove:
    """Values of one shape as those of another: cut into factors, whose axes are put in an order."""

    source: Shape
    factors: Shape
    """Its product is that of `source`; none is 1."""
    order: tuple[int, ...]
    """The factor at each place of the result."""
    target: Shape

    @classmethod
    def reshape(cls, source: Shape, target: Shape) -> AxisMove:
        """The move that only renames."""
        return cls(source, *_merged((prod(source),), (0,)), target)

    @classmethod
    def transposed(cls, source: Shape, axes: Sequence[int]) -> AxisMove:
        """The move that a transposition makes."""
        kept = [axis for axis, size in enumerate(source) if size != 1]
        order = tuple(kept.index(axis % len(source)) for axis in axes if source[axis % len(source)] != 1)
        factors, order = _merged(tuple(source[axis] for axis in kept), order)
        return cls(source, factors, order, tuple(source[axis % len(source)] for axis in axes))

    @property
    def is_reshape(self) -> bool:
        """Whether the values keep their order."""
        return len(self.order) < 2

    def then(self, other: AxisMove) -> AxisMove | None:
        """This move and another one after it; None where the axes of one cut across those of the other."""
        placed = tuple(self.factors[at] for at in self.order)
        common = _refined(placed, other.factors)
        if common is None:
            return None
        mine, theirs = _groups(placed, common), _groups(other.factors, common)
        by_source = [at for place in np.argsort(self.order).tolist() for at in mine[place]]
        by_target = [at for place in other.order for at in theirs[place]]
        position = {at: place for place, at in enumerate(by_source)}
        factors, order = _merged(tuple(common[at] for at in by_source), tuple(position[at] for at in by_target))
        return AxisMove(self.source, factors, order, other.target)

    @property
    def inverse(self) -> AxisMove:
        """The move back."""
        placed = tuple(self.factors[at] for at in self.order)
        return AxisMove(self.target, placed, tuple(np.argsort(self.order).tolist()), self.source)

    def applied(self, values: Array) -> Array:
        """An array moved."""
        return values.reshape(self.factors).transpose(self.order).reshape(self.target)

    def moved(self, node: Node, name: str) -> Node:
        """The node moved, by at most three operators; what swaps two axes of a rank-4 value does it in images of one row."""
        if self.is_reshape:
            return _reshaped(node, self.target, name)
        factors, order = self.factors, self.order
        if order == (1, 0):
            factors, order = (1, factors[0], 1, factors[1]), (0, 3, 2, 1)
        elif order == (0, 2, 1):
            factors, order = (factors[0], factors[1], 1, factors[2]), (0, 3, 2, 1)
        turned = call(ops.TRANSPOSE, [_reshaped(node, factors, name)], name, axes=order)
        return _reshaped(turned, self.target, name)


def move_of(node: Node) -> AxisMove | None:
    """The move that an operator makes of its input; None for other operators."""
    if node.op in _RENAMING:
        return AxisMove.reshape(node.inputs[0].shape, node.shape)
    if node.op == ops.TRANSPOSE:
        return AxisMove.transposed(node.inputs[0].shape, attrs_of(node, TransposeAttributes).axes)
    return None


def _reshaped(node: Node, shape: Shape, name: str) -> Node:
    return node if node.shape == shape else call(ops.RESHAPE, [node], name, newshape=shape)


def _merged(factors: Shape, order: tuple[int, ...]) -> tuple[Shape, tuple[int, ...]]:
    """The same with axes that stay beside each other as one, and without those of one element."""
    kept = [at for at, size in enumerate(factors) if size != 1]
    order = tuple(kept.index(at) for at in order if factors[at] != 1)
    factors = tuple(factors[at] for at in kept)
    if not factors:
        return (), ()
    starts = [at for place, at in enumerate(order) if place == 0 or order[place - 1] + 1 != at]
    first = sorted(starts)
    sizes = tuple(prod(factors[start:end]) for start, end in pairwise([*first, len(factors)]))
    return sizes, tuple(first.index(start) for start in starts)


def _refined(first: Shape, second: Shape) -> Shape | None:
    """The factors that both are made of, in order; None if there are none such."""
    cuts = sorted({cut for factors in (first, second) for cut in accumulate(reversed(factors), mul, initial=1)})
    if any(after % before for before, after in pairwise(cuts)):
        return None
    return tuple(after // before for before, after in pairwise(cuts))[::-1]


def _groups(factors: Shape, parts: Shape) -> list[list[int]]:
    """Which of `parts` make up each of `factors`."""
    groups, at = [], 0
    for size in factors:
        group: list[int] = []
        while prod(parts[part] for part in group) < size:
            group.append(at)
            at += 1
        groups.append(group)
    return groups
