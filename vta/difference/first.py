"""Which value of two runs differs first."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from vta.difference.values import Array, LayerValue
from vta.runtime.compare import differing
from vta.support.dataclass import dataclass

__all__ = ["Comparison", "Different", "by_layer", "by_node", "compare"]

Key = Callable[[LayerValue], Hashable]


@dataclass(frozen=True, eq=False)
class Different:
    """Two values that should be one."""

    left: LayerValue
    right: LayerValue
    index: tuple[int, ...]
    """The first element that differs, in the layout of the graph (NCHW)."""
    differing: int
    total: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """What comparing two runs found."""

    compared: int
    first: Different | None


def by_node(value: LayerValue) -> Hashable:
    """Of two runs of one graph: its nodes have numbers."""
    return (value.number, value.tensor) if value.number >= 0 else value.layer


def by_layer(value: LayerValue) -> Hashable:
    """Of two graphs: layers have names."""
    return value.layer


def compare(left: Sequence[LayerValue], right: Iterable[LayerValue], key: Key) -> Comparison:
    """Compare what both have, in the order of `left`; values of different shapes or types are not the same thing, and left out.

    Where a key is there several times, the last value counts: it is what the layer gives.
    """
    others = {key(value): value for value in right}
    lasts = {key(value): value for value in left}
    compared = 0
    for value in left:
        other = others.get(key(value))
        if other is None or lasts[key(value)] is not value or not _comparable(value, other):
            continue
        compared += 1
        found = _difference(value, other)
        if found is not None:
            return Comparison(compared, found)
    return Comparison(compared, None)


def _comparable(left: LayerValue, right: LayerValue) -> bool:
    return (left.array.shape, left.array.dtype) == (right.array.shape, right.array.dtype)


def _difference(left: LayerValue, right: LayerValue) -> Different | None:
    ours, theirs = left.array, right.array
    if np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f"):
        return None
    differs = _unequal(ours, theirs)
    count = int(differs.sum())
    if not count:
        return None
    index = tuple(int(place) for place in np.unravel_index(int(differs.argmax()), differs.shape))
    return Different(left, right, index, count, differs.size)


def _unequal(left: Array, right: Array) -> Array:
    return differing(left, right) if left.ndim else np.asarray(left != right)
