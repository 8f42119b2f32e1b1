"""Layer norms and RMS norms that are written out in float, as one operator; what scales them joins the layers that read them.

Norms are written in many ways: by means or sums, around the mean or by the mean of squares less the square of the mean, with the
scale before or after the division. So they are told by what they compute on random values, rather than by their operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, graph_input, with_inputs
from vta.ir.interpreter import evaluate
from vta.ir.operator import lookup
from vta.ir.ops.quantized.rows import NormalizeAttributes
from vta.support.dataclass import dataclass

__all__ = ["fold_norms"]

Array = NDArray[Any]

_RENAMING = frozenset({ops.RESHAPE, ops.SQUEEZE, ops.EXPAND_DIMS, ops.BROADCAST_TO})
_REDUCING = frozenset({ops.SUM, ops.MEAN})
_PARTS = (
    frozenset({ops.ADD, ops.SUBTRACT, ops.MULTIPLY, ops.DIVIDE, ops.POWER, ops.SQRT, ops.MAXIMUM, ops.CLIP, ops.RELU})
    | _RENAMING
    | _REDUCING
)
"""What norms are made of."""
_BOUNDING = frozenset({ops.MAXIMUM, ops.CLIP, ops.RELU})
"""They may bound a variance; of the values themselves, random ones would not show a bound that is far away."""
_MOST_PARTS = 32
_ROWS = 2
_SAMPLES = 3
_CLOSE = 1e-3


@dataclass(frozen=True, eq=False)
class _Norm:
    """A norm of a value over an axis of the result, times `scale` plus `bias`, (C,) each, which go along that axis."""

    source: Node
    result: Node
    turned: bool
    """The axis is the last but one, and the last one that of rows; else the last."""
    attrs: NormalizeAttributes
    scale: Array
    bias: Array


def fold_norms(graph: Graph, accepts: Callable[[Node, int], bool]) -> Graph:
    """Return the graph with each norm as `nn.normalize` of rows and a dense layer, which those that follow take in.

    `accepts` says of the result of a norm, and the values that it is over, whether it is to be one.
    """
    roots = [node for node in graph.calls() if node.op == ops.SQRT]
    if not roots:
        return graph
    users = graph.users()
    found = [norm for root in roots for norm in _norms(root, users)]
    norms = {norm.result: norm for norm in found if accepts(norm.result, len(norm.scale))}
    if not norms:
        return graph
    done: dict[Node, Node] = {}
    normalized: dict[Node, Node] = {}
    for node in graph.nodes():
        norm = norms.get(node)
        if norm is not None:
            normalized[node] = _normalized(norm, done[norm.source])
            done[node] = _affine(norm, normalized[node])
        elif (read := _norm_before(node, norms)) is not None:
            done[node] = _dense(node, read, normalized[read.result])
        else:
            done[node] = with_inputs(node, tuple(done[source] for source in node.inputs))
    return graph.rebuilt(done)


def _norms(root: Node, users: Mapping[Node, list[Node]]) -> Iterator[_Norm]:
    """The norm of which a square root is part: the farthest value from it that is one."""
    source = _source(root)
    if source is None or source.dtype != "float32":
        return
    norm = None
    for result in _following(source, root, users):
        norm = _as_norm(source, result, _epsilon(root)) or norm
    if norm is not None:
        yield norm


def _source(root: Node) -> Node | None:
    """The one value whose sums, or those of whose squares, are under a square root."""
    sources: set[Node] = set()
    pending, seen = [root.inputs[0]], 0
    while pending and (seen := seen + 1) < _MOST_PARTS:
        node = pending.pop()
        if node.op in _REDUCING:
            sources.add(_unsquared(_renamed(node.inputs[0])))
        elif node.op in _PARTS:
            pending += node.inputs
        elif node.value is None:
            return None
    centered = {node for node in sources if node.op == ops.SUBTRACT}
    sources = {_renamed(node.inputs[0]) if node in centered else node for node in sources}
    return sources.pop() if len(sources) == 1 and not pending else None


def _renamed(node: Node) -> Node:
    while node.op in _RENAMING and prod(node.shape) == prod(node.inputs[0].shape):
        node = node.inputs[0]
    return node


def _unsquared(node: Node) -> Node:
    """What a square is of; another value itself."""
    if node.op == ops.MULTIPLY and node.inputs[0] is node.inputs[1]:
        return _renamed(node.inputs[0])
    exponent = node.inputs[1].value if node.op == ops.POWER else None
    return _renamed(node.inputs[0]) if exponent is not None and exponent.size == 1 and exponent.item() == 2 else node


def _epsilon(root: Node) -> float:
    """What is added right before a square root."""
    added = [source.value for source in root.inputs[0].inputs if source.value is not None] if root.inputs[0].op == ops.ADD else []
    return float(added[0].item()) if added and added[0].size == 1 else 0.0


def _following(source: Node, root: Node, users: Mapping[Node, list[Node]]) -> Iterator[Node]:
    """The values of as many elements as `source` that are computed from it alone, by way of `root`, nearest first."""
    derived, through = {source}, {root}
    pending = [*users[source]]
    for _ in range(2 * _MOST_PARTS):
        ready = [node for node in pending if node not in derived and _is_derived(node, derived, prod(source.shape))]
        if not ready:
            return
        for node in ready:
            derived.add(node)
            if node is root or not through.isdisjoint(node.inputs):
                through.add(node)
                whole = prod(node.shape) == prod(source.shape) and len(node.shape) >= _ROWS
                if whole and node.op not in _RENAMING:
                    yield node
        pending += [user for node in ready for user in users[node]]


def _is_derived(node: Node, derived: set[Node], elements: int) -> bool:
    """Whether a value is computed from derived ones alone, by what is part of a norm of that many elements."""
    if node.op in _BOUNDING and prod(node.shape) == elements:
        return False
    return node.op in _PARTS and all(source in derived or source.value is not None for source in node.inputs)


def _as_norm(source: Node, result: Node, epsilon: float) -> _Norm | None:
    """The norm that `result` is of `source`, by what it gives for random values; None if it is none."""
    values = np.random.default_rng(0).standard_normal((_SAMPLES, *source.shape)).astype(np.float32) * 1.5 + 0.3
    graph = _isolated(source, result)
    with np.errstate(all="ignore"):
        got = np.stack([evaluate(graph, {"x": value})[0].astype(np.float64) for value in values])
    given = values.reshape(got.shape).astype(np.float64)
    for turned in (False, True)[: 1 + _is_matrix(result)]:
        wanted, rows = (_rows(each, turned) for each in (got, given))
        for center in (True, False):
            attrs = NormalizeAttributes(epsilon=epsilon, center=center)
            found = _line(lookup(ops.NORMALIZE).reference(attrs, rows), wanted)
            if found is not None:
                return _Norm(source, result, turned, attrs, *found)
    return None


def _is_matrix(node: Node) -> bool:
    """Whether a value has two axes, besides those of one in front."""
    return all(extent == 1 for extent in node.shape[:-_ROWS])


def _rows(values: Array, turned: bool) -> Array:
    """Values (samples, ..., rows, C), or (samples, ..., C, rows) if `turned`, as (samples, rows, C)."""
    if turned:
        return values.reshape(len(values), *values.shape[-_ROWS:]).swapaxes(1, 2)
    return values.reshape(len(values), -1, values.shape[-1])


def _line(plain: Array, wanted: Array) -> tuple[Array, Array] | None:
    """Scale and bias of each of the last axis that make `wanted` of `plain`; None where there are none."""
    change = plain[0, 0] - plain[1, 0]
    scale = (wanted[0, 0] - wanted[1, 0]) / np.where(change == 0, 1.0, change)
    bias = wanted[0, 0] - scale * plain[0, 0]
    error = np.abs(plain * scale + bias - wanted).max()
    return (scale, bias) if error <= _CLOSE * np.abs(wanted).max() else None


def _isolated(source: Node, result: Node) -> Graph:
    """What computes `result` from `source`, as a graph."""
    x = graph_input("x", source.shape)
    done = {source: x}

    def made(node: Node) -> Node:
        if node not in done:
            done[node] = with_inputs(node, tuple(made(operand) for operand in node.inputs))
        return done[node]

    return Graph((x,), (made(result),))


def _norm_before(node: Node, norms: Mapping[Node, _Norm]) -> _Norm | None:
    """The norm that a dense layer with constant weights reads."""
    if node.op != ops.DENSE or node.inputs[1].value is None:
        return None
    data = node.inputs[0]
    while data not in norms and data.op in _RENAMING and data.shape[-1:] == data.inputs[0].shape[-1:]:
        data = data.inputs[0]
    norm = norms.get(data)
    return None if norm is None or norm.turned else norm


def _normalized(norm: _Norm, source: Node) -> Node:
    """The norm without scale and bias, as rows (rows, C)."""
    name, shape = norm.result.name, norm.result.shape
    if norm.turned:
        turned = call(ops.TRANSPOSE, [_reshaped(source, shape[-_ROWS:], name)], name, axes=(1, 0))
        return call(ops.NORMALIZE, [turned], name, **vars(norm.attrs))
    made = call(ops.NORMALIZE, [_reshaped(source, shape, name)], name, **vars(norm.attrs))
    return _reshaped(made, (prod(shape[:-1]), shape[-1]), name)


def _affine(norm: _Norm, rows: Node) -> Node:
    """Scale and bias as a dense layer of one product for each channel."""
    name = norm.result.name
    made = call(ops.DENSE, [rows, constant(np.diag(norm.scale).astype(np.float32), name)], name)
    made = call(ops.BIAS_ADD, [made, constant(norm.bias.astype(np.float32), name)], name)
    made = call(ops.TRANSPOSE, [made], name, axes=(1, 0)) if norm.turned else made
    return _reshaped(made, norm.result.shape, name)


def _reshaped(node: Node, shape: tuple[int, ...], name: str) -> Node:
    return node if node.shape == shape else call(ops.RESHAPE, [node], name, newshape=shape)


def _dense(node: Node, norm: _Norm, rows: Node) -> Node:
    """A dense layer that takes in scale and bias of the norm that it reads."""
    weights = node.inputs[1].value
    assert weights is not None
    scaled = constant((weights * norm.scale).astype(np.float32), node.inputs[1].name)
    made = call(ops.DENSE, [rows, scaled], node.name)
    return call(ops.BIAS_ADD, [made, constant((weights @ norm.bias).astype(np.float32), node.name)], node.name)
