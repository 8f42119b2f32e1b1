"""A softmax between two transpositions that undo each other goes along another axis, without them.

What has four dimensions in TFLite is taken as an image, channels last, so that scores of an attention are turned before a mask is
added to them, and back behind the softmax.
"""

from __future__ import annotations

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of, call, constant, with_inputs
from vta.ir.ops.nn.norm import SoftmaxAttributes
from vta.ir.ops.shape import TransposeAttributes
from vta.support.dataclass import dataclass

__all__ = ["fold_softmax_moves"]

_BY_ELEMENT = frozenset({ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE, ops.WHERE})


@dataclass(frozen=True, eq=False)
class _Turned:
    """A softmax with what comes before it, element by element, between two transpositions."""

    first: Node
    """The transposition."""
    chain: tuple[Node, ...]
    """The operators behind it, with constants; the softmax is the last one."""


def fold_softmax_moves(graph: Graph) -> Graph:
    """Return the graph without transpositions around its softmaxes, where the second one is all that reads the softmax."""
    users, outputs = graph.users(), set(graph.outputs)
    found: dict[Node, _Turned] = {}
    for node in graph.calls():
        if node.op == ops.TRANSPOSE and node.inputs[0].op == ops.SOFTMAX:
            turned = _turned(node, users, outputs)
            if turned is not None:
                found[node] = turned
    if not found:
        return graph
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        if node in found:
            done[node] = _straight(found[node], done[found[node].first.inputs[0]])
        else:
            done[node] = with_inputs(node, tuple(done[source] for source in node.inputs))
    return graph.rebuilt(done)


def _turned(last: Node, users: dict[Node, list[Node]], outputs: set[Node]) -> _Turned | None:
    value, reader, chain = last.inputs[0], last, list[Node]()
    while value.op != ops.TRANSPOSE:
        source = _source(value)
        if source is None or value in outputs or users[value] != [reader]:
            return None
        chain.append(value)
        value, reader = source, value
    axes, back = _axes(value), _axes(last)
    undone = [axes[axis] for axis in back] == list(range(len(axes)))
    return _Turned(value, tuple(chain[::-1])) if undone and len(chain) > 0 else None


def _source(node: Node) -> Node | None:
    """The value that an operator changes element by element, by constants, or along an axis; None for other operators."""
    if node.op == ops.SOFTMAX:
        return node.inputs[0]
    varying = [source for source in node.inputs if source.value is None]
    return varying[0] if node.op in _BY_ELEMENT and len(varying) == 1 and varying[0].shape == node.shape else None


def _straight(turned: _Turned, value: Node) -> Node:
    axes = _axes(turned.first)
    inverse = tuple(int(at) for at in np.argsort(axes))
    for node in turned.chain:
        if node.op == ops.SOFTMAX:
            attrs = attrs_of(node, SoftmaxAttributes)
            value = call(ops.SOFTMAX, [value], node.name, **{**vars(attrs), "axis": axes[attrs.axis]})
        else:
            inputs = [value if source.value is None else _constant(source, inverse) for source in node.inputs]
            value = call(node.op, inputs, node.name, **vars(node.attrs))
    return value


def _constant(source: Node, axes: tuple[int, ...]) -> Node:
    """A constant that is broadcast to turned values, for those that are not."""
    held = source.value
    assert held is not None
    if held.size == 1:
        return source
    padded = held.reshape((1,) * (len(axes) - held.ndim) + held.shape)
    return constant(np.ascontiguousarray(padded.transpose(axes)), source.name)


def _axes(node: Node) -> tuple[int, ...]:
    return tuple(axis % len(node.shape) for axis in attrs_of(node, TransposeAttributes).axes)
