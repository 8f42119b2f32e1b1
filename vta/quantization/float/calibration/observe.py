"""Runs calibration data through a graph and shows every value to those that want to see it, many batches at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.ir.transforms.batch import batch_size, with_batch
from vta.ir.transforms.wide import evaluate_alike, samples_at_once
from vta.quantization.float.calibration.chains import chains_of, value_of_chain
from vta.quantization.float.calibration.values import value_of
from vta.support.beside import Beside

__all__ = ["Observer", "observed_batches", "outputs_of_batches"]

Array = NDArray[Any]
_MOST_TOGETHER = 32


class Observer(Protocol):
    """Sees the values of nodes, on one thread or another. What it finds does not depend on how many batches come together."""

    def sees(self, node: Node) -> bool:
        """Whether it has a use for the values of a node; others need not be shown."""

    def asks_for(self, node: Node) -> bool:
        """Whether it has a use for them though all of them are finite."""

    def expect(self, order: Sequence[Node], batches: int) -> None:
        """Called before so many batches come, with the nodes in the order in which one batch has them."""

    def add(self, node: Node, value: Array, batches: int = 1) -> None:
        """Take in the values of a node in so many batches, which lie along the first axis."""


def observed_batches(
    graph: Graph, batches: Iterable[Mapping[str, Array]], observers: Sequence[Observer]
) -> Iterator[Sequence[Mapping[str, Array]]]:
    """Show `observers` the values of all nodes; yields the batches that were computed together, after each time.

    They see what each batch gives by itself, to the bit: each observer on a thread of its own, in order, and all of it by the end
    of the last batch. Raises `GraphError` for wrong inputs.
    """
    order = graph.nodes()
    wide = _Widened(graph)
    pending = iter(batches)
    chains = chains_of(graph, lambda node: any(observer.asks_for(node) for observer in observers))
    with ExitStack() as stack:
        shown = [(observer, stack.enter_context(Beside())) for observer in observers]
        while drawn := list(islice(pending, wide.most)):
            for together in wide.split(drawn):
                count = len(together)
                for observer, beside in shown:
                    beside.do(partial(observer.expect, order, count))
                show = partial(_show, shown, count)
                evaluate_alike(graph, wide.graph_of(count), _joined(together), show, value_of, chains, value_of_chain)
                yield together


def outputs_of_batches(graph: Graph, batches: Sequence[Mapping[str, Array]]) -> list[Array]:
    """The outputs of a graph for some batches, along an axis before those of one: the bits that each gives by itself."""
    wide = _Widened(graph)
    chains = chains_of(graph, lambda node: False)
    if wide.most < len(batches) or len(wide.split(batches)) > 1:
        found = [evaluate_alike(graph, graph, batch, None, value_of, chains, value_of_chain) for batch in batches]
        return [np.stack(values) for values in zip(*found, strict=True)]
    values = evaluate_alike(graph, wide.graph_of(len(batches)), _joined(batches), None, value_of, chains, value_of_chain)
    pairs = zip(graph.outputs, values, strict=True)
    return [_of_all(node, value, len(batches)).reshape(len(batches), *node.shape) for node, value in pairs]


def _joined(batches: Sequence[Mapping[str, Array]]) -> Mapping[str, Array]:
    if len(batches) == 1:
        return batches[0]
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


def _show(shown: Sequence[tuple[Observer, Beside]], batches: int, node: Node, value: Array) -> None:
    """Show what may be computed from while others look at it: no value changes."""
    for observer, beside in shown:
        if observer.sees(node):
            beside.do(partial(_add, observer, node, value, batches))


def _add(observer: Observer, node: Node, value: Array, batches: int) -> None:
    shown = value if node.op == ops.CONSTANT or batches == 1 else _of_all(node, value, batches)
    # Threads have states of their own.
    with np.errstate(all="ignore"):
        observer.add(node, shown, batches)


def _of_all(node: Node, value: Array, batches: int) -> Array:
    """The values of all batches; one that is the same for all stands there as often."""
    return np.broadcast_to(value, (batches, *value.shape)).reshape(-1, *value.shape[1:]) if value.shape == node.shape else value


class _Widened:
    """A graph for some of its batches at once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._made: dict[int, Graph] = {1: graph}
        self.most = self._most()
        """Batches that go together, if the graph takes them one by one."""

    def split(self, batches: Sequence[Mapping[str, Array]]) -> list[Sequence[Mapping[str, Array]]]:
        """At most that many batches: all of them together, or each for itself."""
        try:
            self.graph_of(len(batches))
        except GraphError:
            self.most = 1
            return [[batch] for batch in batches]
        return [batches]

    def graph_of(self, batches: int) -> Graph:
        """The graph that takes so many. Raises `GraphError` if it mixes them."""
        if batches not in self._made:
            self._made[batches] = with_batch(self.graph, batches * batch_size(self.graph))
        return self._made[batches]

    def _most(self) -> int:
        try:
            return min(samples_at_once(self.graph) // batch_size(self.graph), _MOST_TOGETHER)
        except GraphError:
            return 1
