"""Finds functions of one value: what a table of 256 entries computes once the value is int8, however many operators it takes."""

from __future__ import annotations

from collections.abc import Collection

from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.passes.folding.fold_lookups import COMPOSED
from vta.support.dataclass import dataclass

__all__ = ["Function", "functions_of"]

_BY_THEMSELVES = frozenset({ops.HARD_SWISH, ops.LEAKY_RELU, ops.PRELU})
"""Those that have integer operators of their own."""
_LINEAR = frozenset({ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE, ops.MAXIMUM, ops.MINIMUM, ops.RELU, ops.CLIP, ops.NEGATIVE})
"""With a constant these are steps of a layer, which need no table."""
_FARTHEST = 32


@dataclass(frozen=True, eq=False)
class Function:
    """A value that is computed from one other alone."""

    root: Node
    """The value that it is a function of."""
    result: Node
    nodes: frozenset[Node]
    """Everything between both, the result included."""
    swish: tuple[float, float] | None = None
    """Where it is a hard swish times a factor above 0, plus an offset: both."""


def functions_of(graph: Graph, excluded: Collection[Node]) -> dict[Node, Function]:
    """Return the functions of a float graph by their results, which something else than the function itself reads.

    Nodes in `excluded` belong to none, but may be what one is computed from. What only scales, shifts and cuts is none.
    """
    users, outputs = graph.users(), set(graph.outputs)
    swishes = {
        function.result: function
        for node in graph.calls()
        if node.op == ops.HARD_SWISH and node not in excluded
        for function in [_swish(node, users, outputs)]
    }
    inside = {node for function in swishes.values() for node in function.nodes}
    return {**swishes, **_tables(graph, users, {*excluded, *inside})}


def _swish(node: Node, users: dict[Node, list[Node]], outputs: Collection[Node]) -> Function:
    """A hard swish with the scalar factors and terms after it, which nothing reads on the way."""
    factor, offset, nodes = 1.0, 0.0, [node]
    while nodes[-1] not in outputs and len(users[nodes[-1]]) == 1:
        user = users[nodes[-1]][0]
        number = _number(user)
        if number is None or user.shape != node.shape:
            break
        if user.op == ops.MULTIPLY and number > 0:
            factor, offset = factor * number, offset * number
        elif user.op == ops.ADD:
            offset += number
        else:
            break
        nodes.append(user)
    return Function(node.inputs[0], nodes[-1], frozenset(nodes), (factor, offset))


def _number(node: Node) -> float | None:
    """The one number of the constant that an operator on two has."""
    values = [source.value for source in node.inputs if source.value is not None]
    return float(values[0].reshape(())) if len(node.inputs) == 2 and len(values) == 1 and values[0].size == 1 else None


def _tables(graph: Graph, users: dict[Node, list[Node]], excluded: Collection[Node]) -> dict[Node, Function]:
    root: dict[Node, Node] = {}
    above: dict[Node, tuple[Node, ...]] = {}
    curved: set[Node] = set()
    for node in graph.calls():
        tensors = _operands(node) if node not in excluded else []
        if not tensors:
            continue
        lineages = [(source, *above.get(source, ())) for source in tensors]
        common = [value for value in lineages[0] if all(value in other for other in lineages[1:])]
        if not common:
            continue
        root[node], above[node] = root.get(common[0], common[0]), tuple(common[:_FARTHEST])
        if len(tensors) > 1 or node.op not in _LINEAR or not curved.isdisjoint(tensors):
            curved.add(node)
    outputs = set(graph.outputs)
    return {
        node: Function(root[node], node, _between(root[node], node))
        for node in graph.nodes()
        if node in curved and (node in outputs or any(user not in root for user in users[node]))
    }


def _operands(node: Node) -> list[Node]:
    """The values that an operator computes each of its own from, one from one; none if it does not."""
    if node.op not in COMPOSED or node.op in _BY_THEMSELVES or node.dtype != "float32" or not node.shape:
        return []
    tensors = [source for source in node.inputs if source.value is None]
    alike = all(source.type == node.type for source in tensors)
    numbers = all(source.value.size == 1 for source in node.inputs if source.value is not None)
    return list(dict.fromkeys(tensors)) if alike and numbers else []


def _between(root: Node, result: Node) -> frozenset[Node]:
    found: set[Node] = set()
    pending = [result]
    while pending:
        node = pending.pop()
        if node is not root and node.is_call and node not in found:
            found.add(node)
            pending += node.inputs
    return frozenset(found)
