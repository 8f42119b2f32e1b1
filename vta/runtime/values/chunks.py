"""Many samples through a network, some at a time, on the cores of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.graph import Graph
from vta.ir.macs import macs_of
from vta.ir.transforms.batch import batch_size
from vta.runtime.values.batches import Tick, have_no_batch_axis, sample_count
from vta.support.dataclass import dataclass
from vta.support.on_cores import usable_cores

__all__ = ["RunSamples", "SampleChunks", "cores"]

Array = NDArray[Any]
RunSamples = Callable[[dict[str, Array], int], Sequence[Array]]
"""Takes inputs and gives outputs of so many runs, along an axis before those of one run."""

_CHUNK_MACS = 2 << 30
_CHUNK_BYTES = 32 << 20
_MOST_RUNS = 64
"""Of a chunk: enough that little is spent between runs, and so few that a command can be interrupted, and memory stays small."""
_MOST_CORES = 8


def cores() -> int:
    """Processors that this process may use, at most a few: each worker has memory of its own."""
    return min(_MOST_CORES, usable_cores())


@dataclass(frozen=True)
class _Chunk:
    inputs: dict[str, Array]
    runs: int
    samples: int
    """Of the last run some may be filled up with zeros."""


class SampleChunks:
    """The samples of some inputs, in chunks of several runs of a graph."""

    def __init__(self, graph: Graph, inputs: Mapping[str, Array]) -> None:
        """Raises `UsageError` if inputs hold different numbers of samples, or none."""
        self._inputs = inputs
        self._alone = have_no_batch_axis(graph, inputs)
        """Whether a run takes one sample, without an axis for more."""
        self._size = 1 if self._alone else batch_size(graph)
        self._total = sample_count(inputs)
        calls = graph.calls()
        macs, nbytes = sum(map(macs_of, calls)), max((node.type.nbytes for node in (*graph.inputs, *calls)), default=1)
        self._most = max(1, min(_MOST_RUNS, _CHUNK_MACS // max(1, macs), _CHUNK_BYTES // max(1, nbytes)))

    @property
    def count(self) -> int:
        """How many chunks there are."""
        return -(-self._total // (self._size * self._most))

    def map(self, workers: Sequence[RunSamples], tick: Tick | None = None) -> list[Array]:
        """Have workers, each a thread's own, run the chunks; returns the outputs of all samples in order.

        `tick` is called after each run with the number of samples done.
        """
        parts: list[list[Array]] = []
        done = 0
        for chunk, outputs in _mapped(workers, self._chunks()):
            parts.append([self._plain(output, chunk) for output in outputs])
            for run in range(chunk.runs):
                if tick:
                    tick(done + min((run + 1) * self._size, chunk.samples))
            done += chunk.samples
        return [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]

    def _chunks(self) -> Iterator[_Chunk]:
        step = self._size * self._most
        for start in range(0, self._total, step):
            samples = min(step, self._total - start)
            runs = -(-samples // self._size)
            yield _Chunk(
                {name: self._shaped(array[start : start + samples], runs) for name, array in self._inputs.items()}, runs, samples
            )

    def _shaped(self, array: Array, runs: int) -> Array:
        if self._alone:
            return array
        missing = runs * self._size - len(array)
        if missing:
            array = np.concatenate([array, np.zeros((missing, *array.shape[1:]), array.dtype)])
        return array.reshape(runs, self._size, *array.shape[1:])

    def _plain(self, output: Array, chunk: _Chunk) -> Array:
        """An output of a chunk with its samples along the first axis."""
        if self._alone:
            return output
        last = chunk.samples - (chunk.runs - 1) * self._size
        return np.concatenate([*output[:-1, : self._size], output[-1, :last]])


def _mapped(workers: Sequence[RunSamples], chunks: Iterator[_Chunk]) -> Iterator[tuple[_Chunk, Sequence[Array]]]:
    if len(workers) == 1:
        yield from ((chunk, workers[0](chunk.inputs, chunk.runs)) for chunk in chunks)
        return
    idle: SimpleQueue[RunSamples] = SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def run(chunk: _Chunk) -> tuple[_Chunk, Sequence[Array]]:
        worker = idle.get()
        try:
            return chunk, worker(chunk.inputs, chunk.runs)
        finally:
            idle.put(worker)

    pool = ThreadPoolExecutor(len(workers))
    try:
        yield from pool.map(run, chunks)
    finally:
        pool.shutdown(cancel_futures=True)
