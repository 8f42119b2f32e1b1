"""Which int8 tensors share one scale and zero point, and what these are."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence

from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.ir.state import state_nodes
from vta.quantization.float.plan.quant_groups import LAYOUT_OPS, RECTIFIERS, Plan
from vta.quantization.float.scales import activation_scale

__all__ = ["ScaleGroups", "alike"]

_KEEPS_SCALE = LAYOUT_OPS | RECTIFIERS | {ops.MAX_POOL2D, ops.GLOBAL_MAX_POOL2D, ops.PAD, ops.RELU, ops.CLIP}


_LOWEST = -128


def alike(graph: Graph, plan: Plan) -> Iterator[tuple[Node, Node]]:
    """Yield pairs of values of which the int8 tensors have one scale and zero point."""
    for node in graph.calls():
        if node.op == ops.CONCATENATE and node in plan.integer_use:
            for source in node.inputs:
                yield source, node
                yield _producer(source, plan), node
    for held, after in state_nodes(graph):
        if held in plan.integer_use:
            yield after, held
            yield _producer(after, plan), held


class ScaleGroups:
    """The scales of int8 tensors. What a concatenation joins has one scale, so that joining costs nothing. A state has one."""

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        ranges: dict[Node, float],
        kind: str,
        unsigned: Collection[Node] = frozenset(),
        late: Callable[[], dict[Node, float]] = dict,
    ) -> None:
        """`late` gives those ranges that are hardly ever asked for, and not among `ranges`."""
        self._leader: dict[Node, Node] = {}
        self._graph, self._given, self._late = graph, ranges, late
        self._ranges = _of_any_values(graph, ranges)
        self._kind = kind
        self._unsigned = unsigned
        self._settled: dict[Node, float] = {}
        for node, other in alike(graph, plan):
            self._join(node, other)

    def _find(self, node: Node) -> Node:
        while node in self._leader:
            node = self._leader[node]
        return node

    def _join(self, node: Node, other: Node) -> None:
        first, second = self._find(node), self._find(other)
        if first is not second:
            self._leader[first] = second
            self._ranges[second] = max(self._ranges.get(first, 0.0), self._ranges.get(second, 0.0))

    def settled(self, node: Node) -> float | None:
        """The scale that the tensor has to have, if another of its group has one already."""
        return self._settled.get(self._find(node))

    def finest(self, node: Node) -> float:
        """The settled scale, or the finest that covers the calibrated range of the group."""
        leader = self._find(node)
        known = self._settled.get(leader)
        if known is not None:
            return known
        if leader not in self._ranges:
            more = self._late()
            found = _of_any_values(self._graph, self._given | more)
            self._ranges |= {other: found[other] for other in more}
        return activation_scale(self._ranges[leader], self._kind, unsigned=node in self._unsigned)

    def zero_point(self, node: Node) -> int:
        """The level that stands for zero."""
        return _LOWEST if node in self._unsigned else 0

    def settle(self, node: Node, scale: float) -> float:
        """Fix the scale of the tensor's group, unless it is; returns the scale that holds."""
        return self._settled.setdefault(self._find(node), scale)


def _of_any_values(graph: Graph, ranges: dict[Node, float]) -> dict[Node, float]:
    """Ranges with a guess for values that were nothing but zero: what they are computed from reaches, or else what reads them.

    Whatever they will be then, the ratio of their scale to those beside it is no odd one.
    """
    if all(ranges.values()):
        return dict(ranges)
    nodes = graph.nodes()
    reached = {node: value for node, value in ranges.items() if 0 < value < math.inf}
    for node in nodes:
        _guess(reached, node, node.inputs)
    users = graph.users()
    for node in reversed(nodes):
        _guess(reached, node, users[node])
    return {node: value or reached.get(node, value) for node, value in ranges.items()}


def _guess(reached: dict[Node, float], node: Node, beside: Sequence[Node]) -> None:
    known = [reached[other] for other in beside if other in reached]
    if known:
        reached.setdefault(node, max(known))


def _producer(node: Node, plan: Plan) -> Node:
    """The node whose operator decides the scale of `node`."""
    while node.op in _KEEPS_SCALE and node not in plan.members:
        node = node.inputs[0]
    return node
