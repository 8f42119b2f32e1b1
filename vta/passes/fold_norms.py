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
from vta.ir.ops.qnn_rows import NormalizeAttributes
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
_MOST_PARTS = 32
_ROWS = 2
_SAMPLES = 3
_CLOSE = 1e-3


@dataclass(frozen=True, eq=False)
class _Norm:
    """A norm of a value over the last axis of the result, times `scale` plus `bias`, (C,) each."""

    source: Node
    result: Node
    attrs: NormalizeAttributes
    scale: Array
    bias: Array


def fold_norms(graph: Graph, accepts: Callable[[Node], bool]) -> Graph:
    """Return the graph with each norm over the last axis as `nn.normalize` and a dense layer, which those that follow take in.

    `accepts` says of the result of a norm whether it is to be one.
    """
    users = graph.users()
    found = [norm for node in graph.calls() if node.op == ops.SQRT for norm in _norms(node, users)]
    norms = {norm.result: norm for norm in found if accepts(norm.result)}
    done: dict[Node, Node] = {}
    normalized: dict[Node, Node] = {}
    for node in graph.nodes() if norms else ():
        norm = norms.get(node)
        if norm is not None:
            normalized[node] = _normalized(norm, done[norm.source])
            done[node] = _affine(norm, normalized[node])
        elif (read := _norm_before(node, norms)) is not None:
            done[node] = _dense(node, read, normalized[read.result])
        else:
            done[node] = with_inputs(node, tuple(done[source] for source in node.inputs))
    return graph.rebuilt(done) if norms else graph


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
        ready = [node for node in pending if node not in derived and _is_derived(node, derived)]
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


def _is_derived(node: Node, derived: set[Node]) -> bool:
    return node.op in _PARTS and all(source in derived or source.value is not None for source in node.inputs)


def _as_norm(source: Node, result: Node, epsilon: float) -> _Norm | None:
    """The norm that `result` is of `source`, by what it gives for random values; None if it is none."""
    channels = result.shape[-1]
    values = np.random.default_rng(0).standard_normal((_SAMPLES, *source.shape)).astype(np.float32) * 1.5 + 0.3
    graph = _isolated(source, result)
    got = [evaluate(graph, {"x": value})[0].astype(np.float64) for value in values]
    for center in (True, False):
        attrs = NormalizeAttributes(epsilon=epsilon, center=center)
        plain = [lookup(ops.NORMALIZE).reference(attrs, value.reshape(result.shape).astype(np.float64)) for value in values]
        first, second, _ = (value.reshape(-1, channels)[0] for value in plain)
        of_first, of_second, _ = (value.reshape(-1, channels)[0] for value in got)
        scale = (of_first - of_second) / np.where(first == second, 1.0, first - second)
        bias = of_first - scale * first
        largest = max(float(np.abs(value).max()) for value in got)
        wanted = [value * scale + bias for value in plain]
        errors = [np.abs(value.reshape(-1) - real.reshape(-1)).max() for value, real in zip(wanted, got, strict=True)]
        if max(errors) <= _CLOSE * largest:
            return _Norm(source, result, attrs, scale, bias)
    return None


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
    return norms.get(data)


def _normalized(norm: _Norm, source: Node) -> Node:
    """The norm without scale and bias, as rows."""
    name, shape = norm.result.name, norm.result.shape
    source = source if source.shape == shape else call(ops.RESHAPE, [source], name, newshape=shape)
    made = call(ops.NORMALIZE, [source], name, **vars(norm.attrs))
    return made if len(shape) == 2 else call(ops.RESHAPE, [made], name, newshape=(prod(shape[:-1]), shape[-1]))


def _affine(norm: _Norm, rows: Node) -> Node:
    """Scale and bias as a dense layer of one product for each channel."""
    name, shape = norm.result.name, norm.result.shape
    made = call(ops.DENSE, [rows, constant(np.diag(norm.scale).astype(np.float32), name)], name)
    made = call(ops.BIAS_ADD, [made, constant(norm.bias.astype(np.float32), name)], name)
    return made if len(shape) == 2 else call(ops.RESHAPE, [made], name, newshape=shape)


def _dense(node: Node, norm: _Norm, rows: Node) -> Node:
    """A dense layer that takes in scale and bias of the norm that it reads."""
    weights = node.inputs[1].value
    assert weights is not None
    scaled = constant((weights * norm.scale).astype(np.float32), node.inputs[1].name)
    made = call(ops.DENSE, [rows, scaled], node.name)
    return call(ops.BIAS_ADD, [made, constant((weights @ norm.bias).astype(np.float32), node.name)], node.name)
