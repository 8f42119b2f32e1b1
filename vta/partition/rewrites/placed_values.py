"""Values of a graph where they lie, and how they come from there into the shape that the graph wants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Node, call, constant, with_inputs
from vta.passes.axis_moves import AxisMove
from vta.support.dataclass import dataclass

__all__ = ["Cut", "PlacedValue", "PlacedValues", "columns_padded", "spread"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Cut:
    """Channels that a group has in memory beyond those that count."""

    groups: int
    channels: int
    stored: int

    def widened(self, weights: Array) -> Array:
        """Weights (outputs, inputs) of what counts, with zeros for the other channels."""
        wide = np.zeros((len(weights), self.groups, self.stored), weights.dtype)
        wide[:, :, : self.channels] = weights.reshape(len(weights), self.groups, self.channels)
        return wide.reshape(len(weights), -1)


@dataclass(frozen=True, eq=False)
class PlacedValue:
    """A value as another one that is moved: `move` applied to `base`, of which a `cut` drops channels first."""

    base: Node
    move: AxisMove
    is_image: bool = False
    """Worth to go on from, rather than from the value itself."""
    on_device: bool = False
    """VTA stores the base."""
    cut: Cut | None = None

    @classmethod
    def of(cls, node: Node) -> PlacedValue:
        """A value as it is."""
        return cls(node, AxisMove.reshape(node.shape, node.shape))

    def moved(self, move: AxisMove) -> PlacedValue | None:
        """The value after another move; None where both have nothing in common."""
        both = self.move.then(move)
        return None if both is None else replace(self, move=both)

    def lies_like(self, other: PlacedValue) -> bool:
        """Whether both have the same layout."""
        return (self.base.shape, self.move, self.cut) == (other.base.shape, other.move, other.cut)


class PlacedValues:
    """Where the values of a graph lie; what is moved twice in the same way is one node."""

    def __init__(self) -> None:
        self._placed: dict[Node, PlacedValue] = {}
        self._made: dict[tuple[Node, AxisMove], Node] = {}
        self._uncut: dict[tuple[Node, Cut], Node] = {}

    def __getitem__(self, node: Node) -> PlacedValue:
        return self._placed[node]

    def place(self, node: Node, value: PlacedValue) -> None:
        """Say where the value of a node lies."""
        self._placed[node] = value

    def whole(self, node: Node) -> Node:
        """The value in its own shape."""
        held = self.uncut(self._placed[node])
        return self._moved(held.base, held.move, node.name)

    def at(self, node: Node, like: PlacedValue) -> Node | None:
        """The value where another one of its shape lies; None where it cannot be moved there."""
        held = self._placed[node]
        if held.lies_like(like):
            return held.base
        return None if like.cut is not None else self.moved_to(node, like.move.inverse)

    def moved_to(self, node: Node, move: AxisMove) -> Node | None:
        """The value after a move of its own; None where that does not go."""
        held = self.uncut(self._placed[node])
        both = held.move.then(move)
        return None if both is None else self._moved(held.base, both, node.name)

    def uncut(self, value: PlacedValue) -> PlacedValue:
        """The value without the channels that do not count."""
        cut = value.cut
        if cut is None:
            return value
        key = value.base, cut
        if key not in self._uncut:
            places = value.base.shape[3]
            apart = call(ops.RESHAPE, [value.base], value.base.name, newshape=(cut.groups, cut.stored, places))
            end = cut.groups, cut.channels, places
            kept = call(ops.STRIDED_SLICE, [apart], value.base.name, begin=(0, 0, 0), end=end, strides=(1, 1, 1))
            self._uncut[key] = kept
        return replace(value, base=self._uncut[key], cut=None, on_device=False)

    def _moved(self, base: Node, move: AxisMove, name: str) -> Node:
        if move.is_reshape and move.target == base.shape:
            return base
        if base.op == ops.CAST and base.inputs[0].dtype == "int8":
            # Bytes are moved rather than what they are widened to.
            return with_inputs(base, (self._moved(base.inputs[0], move, name),))
        key = base, move
        if key not in self._made:
            self._made[key] = move.moved(base, name)
        return self._made[key]


def columns_padded(image: Node, block: int) -> Node:
    """An image whose columns fill blocks; those that are new are zero."""
    missing = -image.shape[3] % block
    if not missing:
        return image
    return call(ops.PAD, [image], image.name, pad_width=((0, 0), (0, 0), (0, 0), (0, missing)), pad_value=0)


def spread(image: Node, groups: int, block: int) -> Node:
    """An int8 image whose groups of channels each fill blocks: a convolution puts zeros between them."""
    channels = image.shape[1] // groups
    if channels % block == 0:
        return image
    stored = channels + -channels % block
    weights = np.zeros((groups, stored, groups, channels, 1, 1), np.int8)
    group, channel = np.ix_(np.arange(groups), np.arange(channels))
    weights[group, channel, group, channel] = 1
    kernel = constant(weights.reshape(groups * stored, groups * channels, 1, 1), image.name)
    return call(ops.CAST, [call(ops.CONV2D, [image, kernel], image.name)], image.name, dtype="int8")
