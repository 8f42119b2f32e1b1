"""Images that grow by a whole factor, linearly, as transposed convolutions of each channel: exact, and what accelerators have.

Resizing weighs the elements of an axis by a matrix. Where the image grows by a whole factor all elements are weighed alike, but
for those at the ends, which stand for what would lie beyond them. With the ends repeated first, it is a transposed convolution.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, with_inputs
from vta.support.dataclass import dataclass

__all__ = ["SAME_AXIS", "Growth", "growth_of", "grown_weight", "resizes_as_convolutions", "with_edges"]

Array = NDArray[np.float64]

_LAYERS = (ops.CONV2D, ops.CONV2D_TRANSPOSE, ops.DENSE)
_ROWS, _COLUMNS = 2, 3
_TOLERANCE = 1e-6
"""Of weights, which are in single precision."""


@dataclass(frozen=True)
class Growth:
    """How one axis grows: each element, and those repeated at the ends, adds itself times `kernel`, `factor` apart."""

    factor: int
    kernel: tuple[float, ...]
    cut: tuple[int, int]
    """What is cut off before and after."""
    repeated: tuple[int, int]
    """How often the first and the last element are repeated."""


SAME_AXIS = Growth(1, (1.0,), (0, 0), (0, 0))
"""Of an axis that stays."""


def growth_of(matrix: Array, tolerance: float = 0.0) -> Growth | None:
    """How an axis of K elements grows that a matrix (M, K) weighs; None if it does not grow by a whole factor, evenly."""
    after, before = matrix.shape
    factor, rest = divmod(after, before)
    column = np.flatnonzero(matrix[:, 1]) if before > 2 else np.zeros(0, np.int64)
    if rest or factor < 2 or not len(column):
        return None
    first, last = int(column[0]), int(column[-1])
    kernel = matrix[first : last + 1, 1]
    # With one element repeated at either end the second of the matrix is the third.
    start = 2 * factor - first
    end = (before + 1) * factor + len(kernel) - start - after
    if min(start, end) < 0 or np.abs(_matrix(kernel, factor, start, before, after) - matrix).max() > tolerance:
        return None
    # What adds to no element that is kept is not repeated.
    left, right = int(len(kernel) > start), int(len(kernel) > end)
    return Growth(factor, tuple(map(float, kernel)), (start - factor * (1 - left), end - factor * (1 - right)), (left, right))


def _matrix(kernel: Array, factor: int, start: int, before: int, after: int) -> Array:
    """The matrix of an axis whose ends are repeated once."""
    matrix = np.zeros((after, before))
    for at in range(before + 2):
        for tap, weight in enumerate(kernel):
            place = at * factor + tap - start
            if 0 <= place < after:
                matrix[place, min(max(at - 1, 0), before - 1)] += weight
    return matrix


def with_edges(value: Node, rows: Growth, columns: Growth, name: str) -> Node:
    """An image with its first and last rows and columns repeated as both axes want it."""
    for axis, growth in ((_ROWS, rows), (_COLUMNS, columns)):
        first, last = growth.repeated
        size = value.shape[axis]
        parts = [*[_element(value, axis, 0, name)] * first, value, *[_element(value, axis, size - 1, name)] * last]
        value = value if len(parts) == 1 else call(ops.CONCATENATE, parts, name, axis=axis)
    return value


def _element(value: Node, axis: int, at: int, name: str) -> Node:
    begin, end = [0] * len(value.shape), list(value.shape)
    begin[axis], end[axis] = at, at + 1
    return call(ops.STRIDED_SLICE, [value], name, begin=tuple(begin), end=tuple(end), strides=(1,) * len(begin))


def grown_weight(rows: Growth, columns: Growth, channels: int) -> tuple[Array, dict[str, Any]]:
    """The weight (C, 1, KH, KW) of the transposed convolution of each channel, and its attributes."""
    kernel = np.multiply.outer(np.array(rows.kernel), np.array(columns.kernel))
    weight = np.ascontiguousarray(np.broadcast_to(kernel, (channels, 1, *kernel.shape)))
    (top, bottom), (left, right) = rows.cut, columns.cut
    padding, strides = (top, left, bottom, right), (rows.factor, columns.factor)
    return weight, {"groups": channels, "strides": strides, "padding": padding}


def resizes_as_convolutions(graph: Graph, kept: Collection[str] = ()) -> Graph:
    """Return a float graph with transposed convolutions for images that grow evenly between two layers with weights.

    Results change by rounding only. Operators with a name among `kept` stay as they are.
    """
    steps = {node: step for node in _between_layers(graph) if node.name not in kept and (step := _step(node)) is not None}
    if not steps:
        return graph
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        inputs = tuple([done[source] for source in node.inputs])
        done[node] = _convolution(node, steps, done) if node in steps else with_inputs(node, inputs)
    return graph.rebuilt(done)


@dataclass(frozen=True)
class _Step:
    """One axis that grows."""

    source: Node
    axis: int
    growth: Growth


def _step(node: Node) -> _Step | None:
    """What a product of an image and a matrix grows."""
    if node.op != ops.MATMUL or len(node.shape) != 4 or node.dtype != "float32":
        return None
    left, right = node.inputs
    axis = _ROWS if left.value is not None else _COLUMNS
    matrix, source = (left.value, right) if axis == _ROWS else (right.value, left)
    if matrix is None or matrix.ndim != 2 or len(source.shape) != 4:
        return None
    growth = growth_of((matrix if axis == _ROWS else matrix.T).astype(np.float64), _TOLERANCE)
    return None if growth is None else _Step(source, axis, growth)


def _convolution(node: Node, steps: Mapping[Node, _Step], done: Mapping[Node, Node]) -> Node:
    """The transposed convolution for a step, and for the one of the other axis before it."""
    step = steps[node]
    before = steps.get(step.source)
    growths, source = {step.axis: step.growth}, step.source
    if before is not None and before.axis != step.axis:
        growths[before.axis], source = before.growth, before.source
    rows, columns = (growths.get(axis, SAME_AXIS) for axis in (_ROWS, _COLUMNS))
    weight, geometry = grown_weight(rows, columns, node.shape[1])
    given = constant(weight.astype(np.float32), node.name)
    return call(ops.CONV2D_TRANSPOSE, [with_edges(done[source], rows, columns, node.name), given], node.name, **geometry)


def _between_layers(graph: Graph) -> list[Node]:
    """The operators that a layer with weights comes before and one comes after."""
    nodes = graph.calls()
    users = graph.users()
    before: set[Node] = set()
    after: set[Node] = set()
    for node in nodes:
        if any(source in before or source.op in _LAYERS for source in node.inputs):
            before.add(node)
    for node in reversed(nodes):
        if any(user in after or user.op in _LAYERS for user in users[node]):
            after.add(node)
    return [node for node in nodes if node in before and node in after]
