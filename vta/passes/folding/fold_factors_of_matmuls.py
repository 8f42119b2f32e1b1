"""A number that a factor of a matrix product is multiplied by goes behind the product, where requantisation has room for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, with_inputs

__all__ = ["fold_factors_of_matmuls"]

_MOVES = (ops.RESHAPE, ops.SQUEEZE, ops.EXPAND_DIMS, ops.TRANSPOSE)


def fold_factors_of_matmuls(graph: Graph) -> Graph:
    """Multiply float32 products of two tensors rather than one of both, where nothing else reads that; also through moves."""
    if not any(map(_multiplies, graph.calls())):
        return graph
    outputs = set(graph.outputs)
    alone = {node for node, found in graph.users().items() if len(found) == 1 and node not in outputs}
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        inputs = [done[source] for source in node.inputs]
        factors = [_factor(source, alone) for source in node.inputs] if _multiplies(node) else []
        for at, factor in enumerate(factors):
            if factor is not None:
                inputs[at] = _without(node.inputs[at], factor, done)
        done[node] = _multiplied(with_inputs(node, tuple(inputs)), [factor for factor in factors if factor is not None])
    return graph.rebuilt(done)


def _multiplied(product: Node, factors: Sequence[Node]) -> Node:
    """A product with what its factors were multiplied by; what both were is one number, as one requantisation takes it."""
    if len(factors) == 2 and factors[0].op == factors[1].op:
        one, other = (factor.inputs[1].value for factor in factors)
        assert one is not None
        assert other is not None
        return call(factors[0].op, [product, constant(one.reshape(()) * other.reshape(()), factors[0].name)], factors[0].name)
    for factor in factors:
        product = call(factor.op, [product, factor.inputs[1]], factor.name)
    return product


def _multiplies(node: Node) -> bool:
    return node.op == ops.MATMUL and node.dtype == "float32" and all(source.value is None for source in node.inputs)


def _factor(node: Node, alone: Collection[Node]) -> Node | None:
    """The multiplication by one number that a value comes from, by moves alone; None if there is none."""
    while node in alone and node.op in _MOVES:
        node = node.inputs[0]
    if node not in alone or node.op not in (ops.MULTIPLY, ops.DIVIDE) or node.shape != node.inputs[0].shape:
        return None
    number = node.inputs[1].value
    return node if number is not None and number.size == 1 else None


def _without(node: Node, factor: Node, done: dict[Node, Node]) -> Node:
    """What `node` is, moved, without the multiplication."""
    if node is factor:
        return done[factor.inputs[0]]
    return with_inputs(node, (_without(node.inputs[0], factor, done),))
