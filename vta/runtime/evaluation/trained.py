"""What a network gives as it was trained, computed by another process while the network is quantised and compiled."""

from __future__ import annotations

import importlib
import io
import os
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.files.forked_call import ForkedCall
from vta.ir.graph import Graph
from vta.runtime.evaluation.compute import compute_widely, is_worth_compiling
from vta.runtime.evaluation.dataset import Dataset, Preprocessing, input_samples
from vta.runtime.values.chunks import cores

__all__ = ["TrainedPass", "trained_pass"]

Array = NDArray[Any]
_NICE = 5
"""Steps of the scheduler that it comes after the first process, which goes on with it when all else is done."""
_LIMIT_SECONDS = 3600.0
"""Of the wait for what the other process computes; then this one does."""


def trained_pass(graph: Graph, data: Dataset, options: Preprocessing) -> TrainedPass | None:
    """Begin with a graph's outputs for all samples; None if there is no core to spare, or too little to do for kernels."""
    if not ForkedCall.possible() or not is_worth_compiling(graph, len(data.y)):
        return None
    # Both processes need them: what is imported before is imported once.
    importlib.import_module("vta.host.llvm.binding")
    importlib.import_module("vta.runtime.host_part.host_kernels")
    return TrainedPass(graph, data, options)


class TrainedPass:
    """A process that computes a graph's outputs; at the end of a ``with`` it ends, if it has not come to its own."""

    def __init__(self, graph: Graph, data: Dataset, options: Preprocessing) -> None:
        self._call = ForkedCall(lambda: _computed(graph, data, options))

    def __enter__(self) -> TrainedPass:
        return self

    def __exit__(self, *_: object) -> None:
        self._call.__exit__()

    def outputs(self) -> tuple[list[Array], float] | None:
        """Wait for the outputs of all samples, and the seconds that they took; None if the other process failed."""
        found = self._call.result(_LIMIT_SECONDS)
        if found is None:
            return None
        stream = io.BytesIO(found)
        seconds, count = np.load(stream, allow_pickle=False)
        return [np.load(stream, allow_pickle=False) for _ in range(int(count))], float(seconds)


def _computed(graph: Graph, data: Dataset, options: Preprocessing) -> bytes:
    os.nice(_NICE)
    start = time.perf_counter()
    outputs = compute_widely(graph, input_samples(graph, data, options), None, max(1, cores() - 1))
    stream = io.BytesIO()
    for array in (np.array([time.perf_counter() - start, len(outputs)]), *outputs):
        np.save(stream, array, allow_pickle=False)
    return stream.getvalue()
