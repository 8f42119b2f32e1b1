"""Recurrent layers written out step by step, for every importer that has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from vta.frontend._layers import Apply, like, sliced
from vta.ir import names as ops
from vta.ir.graph import Node, constant
from vta.support.dataclass import dataclass

__all__ = [
    "Activation",
    "Cell",
    "GruCell",
    "LstmCell",
    "RnnCell",
    "Sequence2D",
    "Stepping",
    "clipped",
    "split_columns",
    "unrolled",
    "zeros",
]

Activation = Callable[[Apply, Node], Node]
"""Applies a function to each value."""


@dataclass(frozen=True)
class Cell:
    """One step of a recurrent layer, on rows of samples. Weights are (gates * hidden, values), as dense layers have them."""

    apply: Apply
    recurrent: Node
    """What the hidden values of the step before are multiplied with."""
    activations: tuple[Activation, ...]
    clip: float | None
    """Bound of the magnitude of what goes into the activations."""

    def step(self, gates: Node, held: Sequence[Node]) -> list[Node]:
        """The states after a step, hidden values first. `gates` are the products with the step's input, biases added."""
        raise NotImplementedError

    def _active(self, which: int, value: Node) -> Node:
        return self.activations[which](self.apply, clipped(self.apply, value, self.clip))

    def _add(self, *values: Node) -> Node:
        first, *others = values
        for other in others:
            first = self.apply(ops.ADD, first, other)
        return first

    def _times(self, left: Node, right: Node) -> Node:
        return self.apply(ops.MULTIPLY, left, right)


@dataclass(frozen=True)
class RnnCell(Cell):
    """``h = f(x W + h R)``."""

    def step(self, gates: Node, held: Sequence[Node]) -> list[Node]:
        """See `Cell.step`."""
        return [self._active(0, self._add(gates, self.apply(ops.DENSE, held[0], self.recurrent)))]


@dataclass(frozen=True)
class GruCell(Cell):
    """Gates in the order update, reset, hidden."""

    recurrent_bias: Node | None
    """Of the hidden gate, (hidden,), where the reset gate is applied after the product; None: before it."""

    def step(self, gates: Node, held: Sequence[Node]) -> list[Node]:
        """See `Cell.step`."""
        (before,) = held
        update, reset, hidden = split_columns(self.apply, gates, 3)
        if self.recurrent_bias is None:
            size = 2 * before.shape[1]
            both, own = (sliced(self.apply, self.recurrent, {0: part}) for part in ((0, size, 1), (size, None, 1)))
            z, r = split_columns(self.apply, self.apply(ops.DENSE, before, both), 2)
            new_update, new_reset = self._active(0, self._add(update, z)), self._active(0, self._add(reset, r))
            inner = self.apply(ops.DENSE, self._times(new_reset, before), own)
        else:
            z, r, h = split_columns(self.apply, self.apply(ops.DENSE, before, self.recurrent), 3)
            new_update, new_reset = self._active(0, self._add(update, z)), self._active(0, self._add(reset, r))
            inner = self._times(new_reset, self._add(h, self.recurrent_bias))
        found = self._active(1, self._add(hidden, inner))
        rest = self.apply(ops.SUBTRACT, like(1.0, new_update), new_update)
        return [self._add(self._times(rest, found), self._times(new_update, before))]


@dataclass(frozen=True)
class LstmCell(Cell):
    """Gates in the order input, output, forget, cell; states hidden and cell."""

    peepholes: tuple[Node, Node, Node] | None = None
    """(hidden,) each: what the cell is multiplied with for the input, output and forget gates."""
    coupled: bool = False
    """The forget gate is what the input gate leaves."""
    projection: Callable[[Node], Node] | None = None
    """What makes the hidden values of the gated cell."""
    cell_clip: float | None = None
    """Bound of the magnitude of the cell after a step."""
    normalized: Callable[[int, Node], Node] | None = None
    """What makes of the sums of a gate, by its place, those that go into its activation."""

    def step(self, gates: Node, held: Sequence[Node]) -> list[Node]:
        """See `Cell.step`."""
        hidden, cell = held
        products = self._add(gates, self.apply(ops.DENSE, hidden, self.recurrent))
        into, out, forget, new = split_columns(self.apply, products, 4)
        opened = self._active(0, self._peeked(into, cell, 0))
        kept = self.apply(ops.SUBTRACT, like(1.0, opened), opened) if self.coupled else None
        kept = self._active(0, self._peeked(forget, cell, 2)) if kept is None else kept
        found = self._active(1, new if self.normalized is None else self.normalized(3, new))
        summed = self._add(self._times(kept, cell), self._times(opened, found))
        after = clipped(self.apply, summed, self.cell_clip)
        shown = self._active(0, self._peeked(out, after, 1))
        made = self._times(shown, self.activations[2](self.apply, after))
        return [made if self.projection is None else self.projection(made), after]

    def _peeked(self, gate: Node, cell: Node, which: int) -> Node:
        if self.peepholes is not None:
            gate = self._add(gate, self._times(cell, self.peepholes[which]))
        return gate if self.normalized is None else self.normalized(which, gate)


def clipped(apply: Apply, value: Node, bound: float | None) -> Node:
    """Values within `bound` of zero; None: as they are."""
    return value if bound is None else apply(ops.CLIP, value, a_min=-bound, a_max=bound)


def split_columns(apply: Apply, value: Node, parts: int) -> list[Node]:
    """The columns of a matrix in equal parts."""
    size = value.shape[1] // parts
    return [sliced(apply, value, {1: (at * size, (at + 1) * size, 1)}) for at in range(parts)]


@dataclass(frozen=True)
class Sequence2D:
    """A sequence of rows of samples, one matrix a step."""

    steps: tuple[Node, ...]
    """(samples, values) each."""

    @classmethod
    def of(cls, apply: Apply, data: Node) -> Sequence2D:
        """The steps of `data`, (steps, samples, values)."""
        steps, samples, values = data.shape
        flat = apply(ops.RESHAPE, data, newshape=(steps * samples, values))
        return cls(tuple(sliced(apply, flat, {0: (at * samples, (at + 1) * samples, 1)}) for at in range(steps)))

    def dense(self, apply: Apply, weight: Node, bias: Node | None) -> Sequence2D:
        """Each step by a dense layer, which takes all at once."""

        def product(rows: Node) -> Node:
            made = apply(ops.DENSE, rows, weight)
            return made if bias is None else apply(ops.ADD, made, bias)

        return self.mapped(apply, product)

    def mapped(self, apply: Apply, layer: Callable[[Node], Node]) -> Sequence2D:
        """Each step by a layer of rows, which takes all at once."""
        samples = self.steps[0].shape[0]
        made = layer(self.steps[0] if len(self.steps) == 1 else apply(ops.CONCATENATE, *self.steps, axis=0))
        if len(self.steps) == 1:
            return Sequence2D((made,))
        return Sequence2D(tuple(sliced(apply, made, {0: (at * samples, (at + 1) * samples, 1)}) for at in range(len(self.steps))))

    def stacked(self, apply: Apply) -> Node:
        """The steps as (steps, samples, values)."""
        joined = self.steps[0] if len(self.steps) == 1 else apply(ops.CONCATENATE, *self.steps, axis=0)
        return apply(ops.RESHAPE, joined, newshape=(len(self.steps), *self.steps[0].shape))


class Stepping(Protocol):
    """What makes the states after a step of those before it."""

    def step(self, gates: Node, held: Sequence[Node]) -> list[Node]:
        """See `Cell.step`."""


def unrolled(cell: Stepping, gates: Sequence2D, held: Sequence[Node], backward: bool) -> tuple[Sequence2D, list[Node]]:
    """The hidden values of each step, in the order of the steps, and the states after the last one that is made."""
    states = list(held)
    hidden: list[Node] = []
    for at in reversed(gates.steps) if backward else gates.steps:
        states = cell.step(at, states)
        hidden.append(states[0])
    return Sequence2D(tuple(reversed(hidden) if backward else hidden)), states


def zeros(shape: tuple[int, ...], name: str) -> Node:
    """A constant of zeros."""
    return constant(np.zeros(shape, np.float32), name)
