"""Constants that are added to the scores of an attention before its softmax, as numbers for rows: masks, and biases of places.

A softmax does not change where a number is added to a whole row, and what is far enough below the largest value of its row has no
share. So all constants between a product and its softmax, however they are written, are one number for each place of a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["MOST_PLANES", "MaskedScores", "masked_scores", "ranges_with_masks"]

Rows = NDArray[np.float32]

MOST_PLANES = 2
"""Bytes that a number takes which is added to a score."""
_LEAST = -(2.0**16)
"""A row all of which is below this is one whose scores float32 has rounded away: it is not that of the scores."""
_GONE = -1000.0
"""What is put in place of a score leaves nothing of it if it is no more."""
_NEVER = -1e4
"""What is so far below the largest number of its row is a mask: scores are not as far apart."""
_MOST_VALUES = 1 << 24
"""Of what is added."""
_VISIBLE = 2 * math.log(510)
"""By how much a value is below the largest of its row when the root of its exponential, of 8 bits, is 0."""
_FAR = 1 << 9
"""Steps below the largest value of a row that nothing comes back from: two scores are 255 apart, and 255 more are 0."""
_VIEWS = frozenset({ops.RESHAPE, ops.SQUEEZE, ops.EXPAND_DIMS})


@dataclass(frozen=True, eq=False)
class MaskedScores:
    """What a softmax along the last axis is of: scores, with numbers added to their rows one after the other, again and again."""

    scores: Node
    added: Rows
    """Shape (period, values of a row); the largest of each row is 0, and minus infinity is where nothing is left."""
    between: tuple[Node, ...]
    """The operators from the scores to the softmax."""

    @property
    def planes(self) -> int:
        """The most bytes that what is added to a score takes: none where it makes no difference, one where it only masks."""
        if not self.added.any():
            return 0
        return 1 if np.isneginf(self.added[self.added != 0]).all() else MOST_PLANES

    def levels(self, scale: float) -> NDArray[np.int16]:
        """What is added, in steps of the scores; 2^9 below the largest stands for all that is further."""
        steps = np.maximum(self.added.astype(np.float64) / scale, -_FAR)
        return np.rint(steps).astype(np.int16)

    def spread(self, largest: float) -> float:
        """How far apart numbers are that are added to one row, of those that leave something of scores of at most `largest`."""
        return float(-self.added[self.added > -_VISIBLE - 2 * largest].min())


def masked_scores(value: Node, is_scores: Callable[[Node], bool], stays: Callable[[Node], bool]) -> MaskedScores | None:
    """What a softmax of `value` along the last axis is of, back to what `is_scores`; None if more than constants come between.

    Nor does it go through what `stays` in float, nor where a row has nothing left, which the network's own arithmetic decides.
    """
    size, added, between = value.shape[-1], np.zeros((1, value.shape[-1]), np.float32), list[Node]()
    while not is_scores(value):
        found = None if stays(value) else _before(value)
        if found is None or found[0].shape[-1:] != (size,):
            return None
        between.append(value)
        value, more = found
        if more is not None:
            period = math.lcm(len(added), len(more))
            if period * size > _MOST_VALUES:
                return None
            with np.errstate(invalid="ignore", over="ignore"):
                added = _repeated(added, period) + _repeated(more, period)
    largest = added.max(axis=1, keepdims=True)
    if np.isnan(added).any() or not (largest > _LEAST).all() or np.isposinf(largest).any():
        return None
    added = added - largest
    return MaskedScores(value, np.where(added <= _NEVER, np.float32(-np.inf), added), tuple(between[::-1]))


def ranges_with_masks(ranges: Mapping[Node, float], masked: Mapping[Node, MaskedScores]) -> dict[Node, float]:
    """Ranges that let 255 steps of scores reach as far below the largest value of a row as exponentials are seen."""
    result = dict(ranges)
    for of in masked.values():
        known = result[of.scores]
        result[of.scores] = max(known, min(2 * known + of.spread(known), _VISIBLE) / 2)
    return result


def _before(node: Node) -> tuple[Node, Rows | None] | None:
    """What an operator changes by constants, and what it adds to the rows of that; None if it does something else."""
    if node.op in _VIEWS:
        return node.inputs[0], None
    varying = [source for source in node.inputs if source.value is None]
    if len(varying) != 1 or varying[0].shape != node.shape or node.dtype != "float32":
        return None
    if node.op == ops.ADD or (node.op == ops.SUBTRACT and node.inputs[0] is varying[0]):
        (value,) = (source.value for source in node.inputs if source.value is not None)
        return varying[0], _rows(value if node.op == ops.ADD else -value, node.shape)
    if node.op == ops.WHERE and node.inputs[0].value is not None:
        condition, first, second = node.inputs
        other = second if first is varying[0] else first
        assert other.value is not None
        assert condition.value is not None
        if not (other.value <= _GONE).all():
            return None
        goes = condition.value.astype(bool) ^ (other is second)
        return varying[0], _rows(np.where(goes, np.float32(-np.inf), np.float32(0)), node.shape)
    return None


def _rows(value: NDArray[np.generic], shape: tuple[int, ...]) -> Rows | None:
    """A constant that is broadcast to `shape` as rows that repeat along it."""
    padded = (1,) * (len(shape) - value.ndim) + value.shape
    leading = next((axis for axis, size in enumerate(padded[:-1]) if size != 1), len(shape) - 1)
    wide = np.broadcast_to(value.reshape(padded[leading:]), shape[leading:]).reshape(-1, shape[-1])
    return wide.astype(np.float32)


def _repeated(rows: Rows, period: int) -> Rows:
    return np.tile(rows, (period // len(rows), 1))
