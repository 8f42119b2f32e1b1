"""Values of nodes by the NumPy references, for one set of inputs: what several graphs have in common is computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from vta.difference.values import Array
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, topological
from vta.ir.interpreter import check_inputs, evaluate_node

__all__ = ["KnownValues"]


class KnownValues:
    """Of nodes that are computed in the same way from `inputs`, whatever graph they are in.

    Values of one byte an element are kept: between them lie few operators, and those of four bytes are most of what a network
    computes.
    """

    def __init__(self, inputs: Mapping[str, Array]) -> None:
        self._inputs = inputs
        self._numbers: dict[Hashable, int] = {}
        """Of each way to compute a value."""
        self._constants: list[Array] = []
        """Keeps those that are told apart by where they lie."""
        self._kept: dict[int, Array] = {}

    def of(self, graph: Graph, nodes: Sequence[Node]) -> dict[Node, Array]:
        """The values of some nodes of a graph; nothing else is computed than what they need. Raises `GraphError`."""
        given = check_inputs(graph, self._inputs)
        order = topological(nodes)
        numbers = self._numbered(order)
        missing = self._missing(order, nodes, numbers)
        values = {node: self._kept[numbers[node]] for node in order if node not in missing and numbers[node] in self._kept}
        uses = Counter(source for node in missing for source in node.inputs) + Counter(nodes)
        for node in missing:
            values[node] = value = _value(node, given, values)
            if value.itemsize == 1:
                self._kept[numbers[node]] = value
            for source in node.inputs:
                uses[source] -= 1
                if not uses[source]:
                    del values[source]
        return {node: values[node] for node in nodes}

    def _numbered(self, order: Sequence[Node]) -> dict[Node, int]:
        """What stands for the way in which each node is computed."""
        found: dict[Node, int] = {}
        for node in order:
            way: Hashable = node.op, node.attrs, tuple(found[source] for source in node.inputs)
            if node.op == ops.INPUT:
                way = node.op, node.name
            elif node.value is not None:
                way = node.op, id(node.value)
                if way not in self._numbers:
                    self._constants.append(node.value)
            found[node] = self._numbers.setdefault(way, len(self._numbers))
        return found

    def _missing(self, order: Sequence[Node], nodes: Sequence[Node], numbers: Mapping[Node, int]) -> dict[Node, None]:
        """What has to be computed, in order."""
        needed = set(nodes)
        for node in reversed(order):
            if node in needed and numbers[node] not in self._kept:
                needed.update(node.inputs)
        return {node: None for node in order if node in needed and numbers[node] not in self._kept}


def _value(node: Node, given: Mapping[Node, Array], values: Mapping[Node, Array]) -> Array:
    if node.op == ops.INPUT:
        return given[node]
    return node.value if node.value is not None else evaluate_node(node, [values[source] for source in node.inputs])
