"""What a network gives as it was trained, computed on a core that is idle while the network is quantised and compiled."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import Any

from numpy.typing import NDArray

from vta.ir.graph import Graph
from vta.runtime.evaluation.compute import compute_widely, is_worth_compiling
from vta.runtime.evaluation.dataset import Dataset, Preprocessing, input_samples
from vta.runtime.values.chunks import cores

__all__ = ["TrainedPass", "trained_pass"]

Array = NDArray[Any]
_LIMIT_SECONDS = 60.0
"""Of the wait for a thread that is to stop, which it does after a few samples."""


def trained_pass(graph: Graph, data: Dataset, options: Preprocessing) -> TrainedPass | None:
    """Begin with a graph's outputs for all samples; None if there is no core to spare, or too little to do for kernels."""
    return TrainedPass(graph, data, options) if cores() > 1 and is_worth_compiling(graph, len(data.y)) else None


class TrainedPass:
    """A thread that computes a graph's outputs; at the end of a ``with`` it stops, if it has not come to its own."""

    def __init__(self, graph: Graph, data: Dataset, options: Preprocessing) -> None:
        self._given = graph, data, options
        self._stopped = threading.Event()
        self._found: Future[tuple[list[Array], float]] = Future()
        self._thread = threading.Thread(target=self._run, name="vta-trained", daemon=True)
        self._thread.start()

    def __enter__(self) -> TrainedPass:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stopped.set()
        # A process must not end while kernels are compiled.
        self._thread.join(_LIMIT_SECONDS)

    def outputs(self) -> tuple[list[Array], float]:
        """Wait for the outputs of all samples, and the seconds that they took. Raises as `evaluate_top1` does."""
        return self._found.result()

    def _run(self) -> None:
        graph, data, options = self._given
        start = time.perf_counter()
        try:
            outputs = compute_widely(graph, input_samples(graph, data, options), self._tick, max(1, cores() - 1))
        except BaseException as error:
            self._found.set_exception(error)
        else:
            self._found.set_result((outputs, time.perf_counter() - start))

    def _tick(self, done: int) -> None:
        if self._stopped.is_set():
            raise CancelledError(f"stopped after {done} samples")
