"""Many samples through a network that takes a fixed number at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError, UsageError
from vta.ir import names as ops
from vta.ir.batch import batch_size, with_batch
from vta.ir.graph import Graph, Node
from vta.ir.interpreter import check_inputs, evaluate, evaluate_node

__all__ = [
    "Tick",
    "have_no_batch_axis",
    "interpret_batches",
    "interpret_widely",
    "map_batches",
    "map_samples",
    "sample_count",
]

Array = NDArray[Any]
Tick = Callable[[int], None]
"""Called with the number of samples done so far."""

_WORKING_BYTES = 8 << 20
_MOST_BATCHES = 256


def sample_count(inputs: Mapping[str, Array]) -> int:
    """Samples that all of `inputs` hold along their leading dimension.

    Raises `UsageError` if they differ, or there are none.
    """
    counts = {name: array.shape[0] if array.ndim else 0 for name, array in inputs.items()}
    total = min(counts.values(), default=0)
    if total == 0 or any(count != total for count in counts.values()):
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise UsageError(f"inputs must hold one or more samples, each as many as the others; got {listed or 'no inputs'}")
    return total


def map_batches(
    run: Callable[[dict[str, Array]], Sequence[Array]], inputs: Mapping[str, Array], size: int, tick: Tick | None = None
) -> list[Array]:
    """Call `run` on `size` samples at a time, the last call filled up with zeros, and join what it returns."""
    total = sample_count(inputs)
    parts: list[list[Array]] = []
    for start, count in _spans(total, size):
        chunk = {name: _filled(array[start : start + count], size) for name, array in inputs.items()}
        parts.append([output[:count] for output in run(chunk)])
        if tick:
            tick(start + count)
    return [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]


def have_no_batch_axis(graph: Graph, inputs: Mapping[str, Array]) -> bool:
    """Whether samples of `inputs` lie along an axis that inputs of `graph` have not got."""
    return any(node.name in inputs and inputs[node.name].ndim > len(node.shape) for node in graph.inputs)


def map_samples(
    run: Callable[[dict[str, Array]], Sequence[Array]], inputs: Mapping[str, Array], tick: Tick | None = None
) -> list[Array]:
    """Call `run` on each sample of a network without a batch axis, and stack what it returns."""
    parts: list[Sequence[Array]] = []
    for index in range(sample_count(inputs)):
        parts.append(run({name: np.asarray(array[index]) for name, array in inputs.items()}))
        if tick:
            tick(index + 1)
    return [np.stack(pieces) for pieces in zip(*parts, strict=True)]


def interpret_batches(graph: Graph, inputs: Mapping[str, Array], tick: Tick | None = None) -> list[Array]:
    """Interpret `graph` for any number of samples, with the bits that one graph batch at a time gives.

    `inputs` have the graph's shapes but for the leading dimension. Integer operators take many samples at once where
    the graph allows it. Operators on floats do not: how a matrix product rounds depends on how many rows it has.
    Raises `GraphError` for wrong inputs.
    """
    if have_no_batch_axis(graph, inputs):
        return map_samples(lambda sample: evaluate(graph, sample), inputs, tick)
    wide = _widened(graph, inputs)
    return map_batches(lambda chunk: _evaluate_alike(graph, wide, chunk), inputs, batch_size(wide), tick)


def interpret_widely(graph: Graph, inputs: Mapping[str, Array], tick: Tick | None = None) -> list[Array]:
    """Like `interpret_batches`, faster on float graphs, the last bits of whose values may differ."""
    if have_no_batch_axis(graph, inputs):
        return map_samples(lambda sample: evaluate(graph, sample), inputs, tick)
    wide = _widened(graph, inputs)
    return map_batches(lambda chunk: evaluate(wide, chunk), inputs, batch_size(wide), tick)


def _widened(graph: Graph, inputs: Mapping[str, Array]) -> Graph:
    try:
        own = batch_size(graph)
        return with_batch(graph, min(_samples_at_once(graph), -(-sample_count(inputs) // own) * own))
    except GraphError:
        return graph


def _evaluate_alike(graph: Graph, wide: Graph, inputs: Mapping[str, Array]) -> list[Array]:
    """Evaluate `wide`, made of `graph` by `with_batch`; operators on floats run with the batch of `graph`."""
    given = check_inputs(wide, inputs)
    pairs = list(zip(graph.nodes(), wide.nodes(), strict=True))
    last_use = {source: index for index, (_, node) in enumerate(pairs) for source in node.inputs}
    last_use |= dict.fromkeys(wide.outputs, len(pairs))
    values: dict[Node, Array] = {}
    for index, (narrow, node) in enumerate(pairs):
        if node.op == ops.INPUT:
            values[node] = given[node]
        elif node.op == ops.CONSTANT:
            assert node.value is not None
            values[node] = node.value
        elif node is narrow or not _touches_floats(node):
            values[node] = evaluate_node(node, [values[source] for source in node.inputs])
        else:
            values[node] = _evaluate_in_parts(narrow, node, values)
        for source in node.inputs:
            if last_use[source] == index:
                values.pop(source, None)
    return [values[output] for output in wide.outputs]


def _touches_floats(node: Node) -> bool:
    return any(value.dtype.startswith("float") for value in (node, *node.inputs))


def _evaluate_in_parts(narrow: Node, node: Node, values: Mapping[Node, Array]) -> Array:
    size, total = narrow.shape[0], node.shape[0]
    parts = []
    for start in range(0, total, size):
        arrays = [
            values[wide_source][start : start + size] if wide_source is not source else values[wide_source]
            for source, wide_source in zip(narrow.inputs, node.inputs, strict=True)
        ]
        parts.append(evaluate_node(narrow, arrays))
    return np.concatenate(parts)


def _samples_at_once(graph: Graph) -> int:
    """As many samples as keep the largest layer's working memory small, allowing for its unrolled windows."""
    largest = max((node.type.nbytes for node in graph.calls()), default=1)
    return max(1, min(_MOST_BATCHES, _WORKING_BYTES // (9 * largest))) * batch_size(graph)


def _spans(total: int, size: int) -> Iterator[tuple[int, int]]:
    for start in range(0, total, size):
        yield start, min(size, total - start)


def _filled(array: Array, size: int) -> Array:
    if len(array) == size:
        return array
    return np.concatenate([array, np.zeros((size - len(array), *array.shape[1:]), array.dtype)])
