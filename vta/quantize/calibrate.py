"""Finds the ranges of activations by running calibration data through the float graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import UsageError
from vta.ir.graph import CONSTANT, Graph, Node
from vta.ir.interpreter import evaluate
from vta.quantize.config import QuantizeConfig
from vta.quantize.histogram import Histogram, threshold

__all__ = ["ChannelMeans", "Observer", "Progress", "batches_of", "calibrate"]

Array = NDArray[Any]
Progress = Callable[[int], None]
"""Called with the number of batches done so far."""
Observer = Callable[[Node, Array], None]
"""Called with each node and its value."""


def batches_of(graph: Graph, data: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    """Split samples (first axis) into batches of the size that each input of the graph has; the last one may repeat samples.

    Raises `UsageError` if an input is missing or inputs have different numbers of samples.
    """
    sizes = {}
    for node in graph.inputs:
        if node.name not in data:
            raise UsageError(f"the calibration data has no input {node.name!r}; it has: {', '.join(data) or 'none'}")
        batch, samples = node.shape[0] if node.shape else 1, len(data[node.name])
        if samples == 0:
            raise UsageError(f"the calibration data for input {node.name!r} is empty")
        sizes[node.name] = (batch, samples)
    counts = {-(-samples // batch) for batch, samples in sizes.values()}
    if len(counts) > 1:
        raise UsageError(f"the calibration data gives different numbers of batches: {sizes} (batch, samples)")
    for index in range(max(counts, default=0)):
        yield {
            name: np.take(data[name], np.arange(index * batch, (index + 1) * batch) % samples, axis=0)
            for name, (batch, samples) in sizes.items()
        }


class ChannelMeans:
    """The mean of each channel (axis 1) of some values, over all batches seen."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._sums: dict[Node, Array] = {node: np.zeros(node.shape[1]) for node in nodes}
        self._counts = dict.fromkeys(self._sums, 0)

    def add(self, node: Node, value: Array) -> None:
        """Take in the value of a node; one that is not observed is passed over."""
        if node in self._sums:
            axes = tuple(axis for axis in range(value.ndim) if axis != 1)
            self._sums[node] += value.sum(axis=axes, dtype=np.float64)
            self._counts[node] += value.size // value.shape[1]

    def values(self) -> dict[Node, Array]:
        """The means of the nodes that were seen, (C,) float64."""
        return {node: total / self._counts[node] for node, total in self._sums.items() if self._counts[node]}


def calibrate(
    graph: Graph,
    batches: Iterable[Mapping[str, Array]],
    config: QuantizeConfig,
    observed: Collection[Node] | None = None,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
) -> dict[Node, float]:
    """Return the range of each float value of the graph, or of those in `observed`: the magnitude that int8 should reach.

    `observers` see every value on the way.
    Only one batch and one histogram for each value are in memory at a time.
    """
    wanted = [n for n in graph.nodes() if n.op != CONSTANT and n.dtype == "float32"] if observed is None else list(observed)
    if config.calibration == "global_scale":
        return dict.fromkeys(wanted, config.global_scale)
    histograms = {node: Histogram() for node in wanted}

    def observe(node: Node, value: Array) -> None:
        if node in histograms:
            histograms[node].add(value)
        for see in observers:
            see(node, value)

    for done, batch in enumerate(batches, start=1):
        evaluate(graph, batch, observe)
        if progress is not None:
            progress(done)
    return {node: threshold(histogram, config) for node, histogram in histograms.items()}
