"""Random inputs that a network can run on: what looks something up in a table lies inside of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of, topological
from vta.ir.interpreter import evaluate
from vta.ir.ops.shape import TakeAttributes
from vta.ir.transforms.functions import inline_functions

__all__ = ["Draw", "any_value", "random_frames", "random_inputs"]

Array = NDArray[Any]
Draw = Callable[[np.random.Generator, Node], Array]
"""Values for one input."""

_TAKE = "take"


def random_inputs(graph: Graph, seed: int, draw: Draw) -> dict[str, Array]:
    """Return values of the inputs, by name, the same for the same `seed`; indices are legal ones, the rest is as `draw` says."""
    plain = inline_functions(graph, lambda attributes: True)
    return _drawn(graph, plain, _index_limits(plain), seed, draw)


def random_frames(graph: Graph, count: int, seed: int, draw: Draw) -> dict[str, Array]:
    """As `random_inputs` for the arguments of `count` frames, which lie along a first axis."""
    plain = inline_functions(graph, lambda attributes: True)
    limits = _index_limits(plain)
    frames = [_drawn(graph, plain, limits, seed + at, draw) for at in range(count)]
    return {node.name: np.stack([frame[node.name] for frame in frames]) for node in graph.arguments}


def _drawn(graph: Graph, plain: Graph, limits: dict[Node, int], seed: int, draw: Draw) -> dict[str, Array]:
    while True:
        rng = np.random.default_rng(seed)
        values = {
            node.name: rng.integers(0, limits[node], node.shape).astype(node.dtype) if node in limits else draw(rng, node)
            for node in graph.inputs
        }
        if max(limits.values(), default=1) == 1 or _are_legal(plain, values):
            return values
        limits = {node: (limit + 1) // 2 for node, limit in limits.items()}


def any_value(rng: np.random.Generator, node: Node) -> Array:
    """Values of a normal distribution for floats, of the whole type for others."""
    if node.dtype.startswith("float"):
        return rng.standard_normal(node.shape).astype(node.dtype)
    if node.dtype == "bool":
        return rng.integers(0, 2, node.shape).astype(bool)
    info = np.iinfo(node.dtype)
    return rng.integers(info.min, info.max, node.shape, node.dtype, endpoint=True)


def _index_limits(graph: Graph) -> dict[Node, int]:
    """For each input that is looked up in a table, as it is or after integer operators, the length of the shortest one."""
    limits: dict[Node, int] = {}
    for take in _takes(graph):
        data, indices = take.inputs
        length = max(1, data.shape[attrs_of(take, TakeAttributes).axis])
        for node in _integers_before(indices):
            if node.op == ops.INPUT:
                # The type of the input may not reach as far as the table.
                most = 2 if node.dtype == "bool" else np.iinfo(node.dtype).max + 1
                limits[node] = min(length, most, limits.get(node, length))
    return limits


def _takes(graph: Graph) -> list[Node]:
    return [node for node in graph.calls() if node.op == _TAKE]


def _integers_before(node: Node) -> Iterator[Node]:
    """The node and what its value comes from, without what only says where in a table it lies, or was rounded from floats."""
    waiting, seen = [node], {node}
    while waiting:
        node = waiting.pop()
        if node.dtype.startswith("float"):
            continue
        yield node
        sources = [source for source in (node.inputs[:1] if node.op == _TAKE else node.inputs) if source not in seen]
        seen.update(sources)
        waiting += sources


def _are_legal(graph: Graph, values: Mapping[str, Array]) -> bool:
    """Whether each look-up finds something, of those whose indices follow from integers alone."""
    takes = [take for take in _takes(graph) if not _needs_floats(take.inputs[1])]
    try:
        found = evaluate(Graph(graph.inputs, tuple(take.inputs[1] for take in takes)), values)
    except GraphError:
        return False
    lengths = [take.inputs[0].shape[attrs_of(take, TakeAttributes).axis] for take in takes]
    return all(np.all((indices >= -length) & (indices < length)) for indices, length in zip(found, lengths, strict=True))


def _needs_floats(node: Node) -> bool:
    return any(source.dtype.startswith("float") for source in topological([node]))
