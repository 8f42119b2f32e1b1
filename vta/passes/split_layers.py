"""A dense layer of which slices are read, through reshapes and transpositions, becomes a layer for each slice.

Attention written out computes queries, keys and values as one layer and takes them apart in five dimensions. As three layers
they are what they are, and no slice has to be computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of, call, constant, with_inputs
from vta.ir.ops.shape import StridedSliceAttributes, TransposeAttributes
from vta.support.dataclass import dataclass

__all__ = ["split_layers"]

_RENAMING = (ops.RESHAPE, ops.SQUEEZE, ops.EXPAND_DIMS)
_DENSE_AXIS = 1


def split_layers(graph: Graph) -> Graph:
    """Split float32 dense layers that only slices of moved outputs read, apart from each other. Results do not change.

    A layer whose channels are sliced and stay as they are, such as the gates of a recurrent one, stays whole: VTA slices them for
    nothing.
    """
    layers = [
        node for node in graph.calls() if node.op == ops.DENSE and node.dtype == "float32" and node.inputs[1].value is not None
    ]
    if not layers:
        return graph
    users, outputs = graph.users(), set(graph.outputs)
    parts: dict[Node, _Part] = {}
    for layer in layers:
        parts |= _parts(layer, users, outputs)
    if not parts:
        return graph
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        part = parts.get(node)
        inputs = tuple(done[source] for source in node.inputs)
        done[node] = with_inputs(node, inputs) if part is None else part.made(done[part.chain[0].inputs[0]])
    return graph.rebuilt(done)


def _is_layer(node: Node) -> bool:
    return node.op == ops.DENSE and node.dtype == "float32" and node.inputs[1].value is not None


@dataclass(frozen=True, eq=False)
class _Part:
    """A slice, and what lies before it: the layer, its bias and moves."""

    chain: tuple[Node, ...]
    shapes: tuple[tuple[int, ...], ...]
    """What each of the chain gives if only the slice is computed."""
    first: int
    last: int
    """Outputs of the layer that are in the slice: from the first to before the last."""

    def made(self, data: Node) -> Node:
        """The slice, computed from what the layer reads."""
        value = data
        for node, shape in zip(self.chain, self.shapes, strict=True):
            if node.op in (ops.DENSE, ops.BIAS_ADD):
                held = node.inputs[1].value
                assert held is not None
                kept = constant(np.ascontiguousarray(held[self.first : self.last]), node.inputs[1].name)
                value = call(node.op, [value, kept], node.name, **vars(node.attrs))
            elif node.op == ops.TRANSPOSE:
                value = call(ops.TRANSPOSE, [value], node.name, **vars(node.attrs))
            else:
                value = call(ops.RESHAPE, [value], node.name, newshape=shape)
        return value


def _parts(layer: Node, users: dict[Node, list[Node]], outputs: set[Node]) -> dict[Node, _Part]:
    """The slices of a layer; none if something else reads it, or if they overlap."""
    chain = [layer]
    while chain[-1] not in outputs and len(users[chain[-1]]) == 1 and _goes_on(users[chain[-1]][0], chain[-1]):
        chain.append(users[chain[-1]][0])
    slices = users[chain[-1]]
    if (
        not (any(node.op == ops.TRANSPOSE for node in chain) or all(_is_moved(node, users) for node in slices))
        or chain[-1] in outputs
        or len(slices) < 2
        or any(node.op != ops.STRIDED_SLICE for node in slices)
    ):
        return {}
    found = {node: part for node in slices if (part := _part(node, chain)) is not None}
    ranges = sorted((part.first, part.last) for part in found.values())
    apart = all(before[1] <= after[0] for before, after in pairwise(ranges))
    return found if apart and len(found) == len(slices) else {}


def _is_moved(node: Node, users: dict[Node, list[Node]]) -> bool:
    """Whether what a node gives is only read in another order, as heads are of queries, keys and values."""
    while len(users[node]) == 1 and users[node][0].op in _RENAMING:
        node = users[node][0]
    return bool(users[node]) and all(user.op == ops.TRANSPOSE for user in users[node])


def _goes_on(node: Node, source: Node) -> bool:
    if node.op == ops.BIAS_ADD:
        return node.inputs[0] is source and node.inputs[1].value is not None and len(node.shape) == len(source.shape) == 2
    return node.op in (*_RENAMING, ops.TRANSPOSE)


def _part(node: Node, chain: Sequence[Node]) -> _Part | None:
    """A slice along one axis that comes from the outputs of the layer at the start of `chain`; None for others."""
    attrs, whole = attrs_of(node, StridedSliceAttributes), chain[-1].shape
    ranges = [slice(*given).indices(size) for *given, size in zip(attrs.begin, attrs.end, attrs.strides, whole, strict=True)]
    cut = [axis for axis, (size, found) in enumerate(zip(whole, ranges, strict=True)) if found != (0, size, 1)]
    if len(cut) != 1 or ranges[cut[0]][2] != 1:
        return None
    axis, (first, last, _) = cut[0], ranges[cut[0]]
    shapes = []
    for step in reversed(chain[1:]):
        shapes.append((*step.shape[:axis], last - first, *step.shape[axis + 1 :]))
        if step.op == ops.TRANSPOSE:
            axis = attrs_of(step, TransposeAttributes).axes[axis] % len(step.shape)
        elif step.op in _RENAMING:
            before = _first_factor(step.inputs[0].shape, step.shape, axis)
            if before is None:
                return None
            axis, times = before
            first, last = first * times, last * times
    if axis != _DENSE_AXIS:
        return None
    shapes.append((*chain[0].shape[:axis], last - first))
    return _Part(tuple(chain), tuple(reversed(shapes)), first, last)


def _first_factor(before: tuple[int, ...], after: tuple[int, ...], axis: int) -> tuple[int, int] | None:
    """The axis before a reshape that `axis` after it is the outermost part of, and how much one step along it is there."""
    lead = prod(after[:axis])
    for at, size in enumerate(before):
        if prod(before[:at]) == lead and size % after[axis] == 0 and size > 1:
            return at, size // after[axis]
    return None
