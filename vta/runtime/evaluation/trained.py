"""What a network gives as it was trained, computed by another process while the network is quantised and compiled."""

from __future__ import annotations

import importlib

from vta.files.forked_call import ForkedCall
from vta.ir.graph import Graph
from vta.runtime.evaluation.compute import compute_widely, is_worth_compiling
from vta.runtime.evaluation.dataset import Dataset, Preprocessing, input_samples
from vta.runtime.evaluation.forked_outputs import ForkedOutputs
from vta.runtime.values.chunks import cores

__all__ = ["TrainedPass", "trained_pass"]

_NICE = 12
"""Steps of the scheduler that it comes after the first process, whose turn is longer: it has what cores are idle."""


def trained_pass(graph: Graph, data: Dataset, options: Preprocessing) -> TrainedPass | None:
    """Begin with a graph's outputs for all samples; None if there is no core to spare, or too little to do for kernels."""
    if not ForkedCall.possible() or not is_worth_compiling(graph, len(data.y)):
        return None
    # Both processes need it: what is imported before is imported once.
    importlib.import_module("vta.runtime.host_part.host_kernels")
    return TrainedPass(graph, data, options)


class TrainedPass(ForkedOutputs):
    """A process that computes a graph's outputs, after others."""

    def __init__(self, graph: Graph, data: Dataset, options: Preprocessing) -> None:
        super().__init__(
            lambda: compute_widely(graph, input_samples(graph, data, options), None, max(1, cores() - 1), winograd=True), _NICE
        )

    def __enter__(self) -> TrainedPass:
        return self
