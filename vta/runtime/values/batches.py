"""Many samples through a network that takes a fixed number at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError, UsageError
from vta.ir.graph import Graph
from vta.ir.interpreter import evaluate
from vta.ir.transforms.batch import batch_size, with_batch
from vta.ir.transforms.wide import evaluate_alike, samples_at_once

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
    the graph allows it, and of those on floats the ones that round alike then (`vta.ir.transforms.wide`).
    Raises `GraphError` for wrong inputs.
    """
    if have_no_batch_axis(graph, inputs):
        return map_samples(lambda sample: evaluate(graph, sample), inputs, tick)
    wide = _widened(graph, inputs)
    return map_batches(lambda chunk: evaluate_alike(graph, wide, chunk), inputs, batch_size(wide), tick)


def interpret_widely(graph: Graph, inputs: Mapping[str, Array], tick: Tick | None = None) -> list[Array]:
    """Like `interpret_batches`, faster on float graphs, the last bits of whose values may differ."""
    if have_no_batch_axis(graph, inputs):
        return map_samples(lambda sample: evaluate(graph, sample), inputs, tick)
    wide = _widened(graph, inputs)
    return map_batches(lambda chunk: evaluate(wide, chunk), inputs, batch_size(wide), tick)


def _widened(graph: Graph, inputs: Mapping[str, Array]) -> Graph:
    try:
        own = batch_size(graph)
        return with_batch(graph, min(samples_at_once(graph), -(-sample_count(inputs) // own) * own))
    except GraphError:
        return graph


def _spans(total: int, size: int) -> Iterator[tuple[int, int]]:
    for start in range(0, total, size):
        yield start, min(size, total - start)


def _filled(array: Array, size: int) -> Array:
    if len(array) == size:
        return array
    return np.concatenate([array, np.zeros((size - len(array), *array.shape[1:]), array.dtype)])
