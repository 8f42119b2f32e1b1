"""Finds the ranges of activations by running calibration data through the float graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import CompileError, UsageError
from vta.ir import names as ops
from vta.ir.arithmetic.not_finite import first_where
from vta.ir.graph import Graph, Node
from vta.ir.interpreter import evaluate, walk
from vta.ir.state import initial_values, split_outputs
from vta.native import ffi, lib
from vta.quantization.config import QuantizeConfig
from vta.quantization.float.calibration.histogram import Histogram, largest_magnitude, threshold
from vta.quantization.float.calibration.observe import Observer, observed_batches
from vta.quantization.float.calibration.values import floats_of
from vta.quantization.float.scales import SIGNED_LEVELS, UNSIGNED_LEVELS

__all__ = ["ChannelMeans", "Progress", "batches_of", "calibrate"]

Array = NDArray[Any]
Progress = Callable[[int], None]
"""Called with the number of batches done so far."""


def batches_of(graph: Graph, data: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    """Split samples into batches of the size that each input of the graph has; the last one may repeat samples.

    Samples lie along the first axis, or, of inputs without a batch axis, along one that is put before those of the input. An
    array that is one batch goes with all batches of the others. Those of a graph with states are frames of one stream: each gets
    the states that the one before left.
    Raises `UsageError` if an input is missing, samples do not fit it or are not numbers, or inputs have different numbers of
    batches.
    """
    values = {node.name: _batched(node, _given(node, data)) for node in graph.arguments}
    counts = {name: len(batches) for name, batches in values.items()}
    total = max(counts.values(), default=0)
    if set(counts.values()) - {1, total}:
        raise UsageError(f"the calibration data gives different numbers of batches: {counts}")
    held = initial_values(graph)
    for index in range(total):
        batch = {name: batches[index if len(batches) > 1 else 0] for name, batches in values.items()} | held
        yield batch
        if graph.states:
            held = split_outputs(graph, evaluate(graph, batch))[1]


def _given(node: Node, data: Mapping[str, Array]) -> Array:
    if node.name not in data:
        raise UsageError(f"the calibration data has no input {node.name!r}; it has: {', '.join(data) or 'none'}")
    array = np.asarray(data[node.name])
    if array.size == 0:
        raise UsageError(f"the calibration data for input {node.name!r} is empty")
    if array.dtype.kind == "f" and np.isnan(array).any():
        where = first_where(np.isnan(array))
        raise UsageError(f"the calibration data for input {node.name!r} is nan at {list(where)}; expected numbers")
    return array


class _Batches(Sequence[Array]):
    """The batches of one input; only the one asked for is copied, if any is."""

    def __init__(self, samples: Array, size: int) -> None:
        self._samples, self._size = samples, size

    def __len__(self) -> int:
        return (len(self._samples) + self._size - 1) // self._size

    def __getitem__(self, index: Any) -> Any:
        start, stop = index * self._size, (index + 1) * self._size
        if stop <= len(self._samples):
            return np.ascontiguousarray(self._samples[start:stop])
        return np.take(self._samples, np.arange(start, stop) % len(self._samples), axis=0)


def _batched(node: Node, array: Array) -> Sequence[Array]:
    if array.shape[1:] == node.shape and array.ndim > len(node.shape):
        return list(array)
    if not node.shape and array.ndim == 0:
        return [array]
    if not array.ndim or array.shape[1:] != node.shape[1:] or array.ndim != len(node.shape):
        raise UsageError(f"the calibration data for input {node.name!r} has shape {array.shape}, no samples of {node.type}")
    return _Batches(array, node.shape[0])


class ChannelMeans:
    """The mean of each channel (axis 1) of some values, over all batches seen."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._sums: dict[Node, Array] = {node: np.zeros(node.shape[1]) for node in nodes}
        self._counts = dict.fromkeys(self._sums, 0)

    def sees(self, node: Node) -> bool:
        """Whether the means of a node are wanted."""
        return node in self._sums

    def asks_for(self, node: Node) -> bool:
        """The same."""
        return node in self._sums

    def expect(self, order: Sequence[Node], batches: int) -> None:
        """Means do not depend on what comes together."""

    def add(self, node: Node, value: Array, batches: int = 1) -> None:
        """Take in the values of a node in so many batches; one that is not observed is passed over."""
        if node not in self._sums:
            return
        sums, channels = self._sums[node], value.shape[1]
        self._counts[node] += value.size // channels
        if value.dtype == np.float32:
            places = value.size // max(len(value) * channels, 1)
            lib.vta_channel_sums(floats_of(value), len(value), channels, places, ffi.from_buffer("double[]", sums))
            return
        split = value.reshape(batches, -1, *value.shape[1:])
        for total in split.sum(axis=(1, *range(3, split.ndim)), dtype=np.float64):
            sums += total

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
    unsigned: Collection[Node] = frozenset(),
    inner: Collection[Node] = frozenset(),
) -> dict[Node, float]:
    """Return the range of each float value of the graph, or of those in `observed`: the magnitude that int8 should reach.

    Of those that are `unsigned` the lowest level is zero. The range of a value that is infinite somewhere, as masks are, is
    infinite; those that are `inner` have none otherwise. `observers` see what they ask for on the way.
    Beside the batches some values and one histogram for each are in memory at a time. Raises `CompileError` naming the layer of
    an observed value that is not a number.
    """
    wanted = [n for n in graph.nodes() if n.op != ops.CONSTANT and n.dtype == "float32"] if observed is None else list(observed)
    if config.calibration == "global_scale":
        return dict.fromkeys(wanted, config.global_scale)
    seen = _Ranges(wanted, inner)
    done: list[Mapping[str, Array]] = []
    with np.errstate(all="ignore"):
        for together in observed_batches(graph, batches, [seen, *observers]):
            for batch in together:
                done.append(batch)
                if progress is not None:
                    progress(len(done))
            if seen.no_numbers:
                break
        seen.check(graph, done)
    return seen.values(config, unsigned)


class _Ranges:
    """Histograms of values; of those that are `inner`, which nobody scales, whether they are finite."""

    def __init__(self, nodes: Iterable[Node], inner: Collection[Node]) -> None:
        self._inner = frozenset(inner)
        self._histograms = {node: Histogram() for node in nodes if node not in self._inner}
        self._unbounded: set[Node] = set()
        self.no_numbers: list[Node] = []
        """Those of which a value was none."""

    def sees(self, node: Node) -> bool:
        """Whether anything about a node is wanted."""
        return node in self._histograms or node in self._inner

    def asks_for(self, node: Node) -> bool:
        """Whether its range is."""
        return node in self._histograms

    def expect(self, order: Sequence[Node], batches: int) -> None:
        """Counts do not depend on what comes together."""

    def add(self, node: Node, value: Array, batches: int = 1) -> None:
        """Count the values of a node in so many batches; one that is not observed is passed over."""
        if not self.sees(node):
            return
        histogram = self._histograms.get(node)
        largest = largest_magnitude(value) if histogram is None else histogram.add(value, batches)
        if np.isnan(largest):
            self.no_numbers.append(node)
        elif np.isinf(largest):
            self._unbounded.add(node)

    def check(self, graph: Graph, batches: Sequence[Mapping[str, Array]]) -> None:
        """Raise `CompileError` naming the first value of the first of some batches that is not a number, if one was added."""
        for batch in batches if self.no_numbers else ():
            for node, value in walk(graph, batch):
                if self.sees(node) and np.isnan(value).any():
                    raise CompileError(f"layer {node.name!r}: {node.op} gives nan on the calibration data{_infinities(batch)}")

    def values(self, config: QuantizeConfig, unsigned: Collection[Node]) -> dict[Node, float]:
        """The range of each node."""
        ranges = dict.fromkeys(self._unbounded, np.inf)
        for node, seen in self._histograms.items():
            if node not in ranges:
                ranges[node] = threshold(seen, config, UNSIGNED_LEVELS if node in unsigned else SIGNED_LEVELS)
        return ranges


def _infinities(batch: Mapping[str, Array]) -> str:
    """Where inputs are infinite, as part of a message."""
    found = ((name, value, np.isinf(value)) for name, value in batch.items() if value.dtype.kind == "f")
    places = [f"{name!r} is {value[(at := first_where(bad))]:g} at {list(at)}" for name, value, bad in found if bad.any()]
    return f"; its input {', '.join(places)}" if places else ""
