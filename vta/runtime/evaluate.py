"""Top-1 accuracy of a network as trained, as quantised, and on a device, over the same samples."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import UsageError
from vta.ir.graph import Graph
from vta.runtime.batches import Tick, interpret_batches, interpret_widely
from vta.runtime.dataset import Dataset, Preprocessing, prepare
from vta.runtime.module import Module

__all__ = ["Evaluation", "Progress", "Top1", "evaluate_top1"]

Progress = Callable[[str, int, int], None]
"""Called as ``progress(stage, done, total)`` with the samples done so far."""


@dataclass(frozen=True)
class Top1:
    """Share of samples, 0 to 1, whose class is found."""

    float: float | None
    """The network as trained; None if there is no float graph."""
    interpreter: float
    """The integer graph by its NumPy references."""
    device: float


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate_top1` found."""

    n: int
    top1: Top1
    bit_exact: bool
    """Whether the device gave the interpreter's outputs, bit for bit, on all samples."""
    mismatches: tuple[int, ...]
    """Samples on which it did not."""
    predictions: NDArray[np.int64]
    """Class that the device found for each sample."""
    seconds: dict[str, float]
    """Wall time of each stage: float, interpreter, device."""
    device_runs: int


def evaluate_top1(
    module: Module,
    data: Dataset,
    options: Preprocessing | None = None,
    float_graph: Graph | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Evaluate `module`, the integer graph that it was compiled from, and `float_graph`, on all samples of `data`.

    Raises `UsageError` if the samples do not fit the network's input.
    """
    report = progress or (lambda stage, done, total: None)
    graph = module.compiled.graph
    inputs = _inputs(graph, data, options or Preprocessing())
    stages: dict[str, list[NDArray[Any]]] = {}
    seconds: dict[str, float] = {}
    runs: list[int] = []

    def staged(stage: str, work: Callable[[Tick], list[NDArray[Any]]]) -> None:
        start = time.perf_counter()
        stages[stage] = work(lambda done: report(stage, done, len(data.y)))
        seconds[stage] = time.perf_counter() - start

    def on_device(tick: Tick) -> list[NDArray[Any]]:
        batches = module.run_batches(inputs, tick)
        runs.append(batches.device_runs)
        return list(batches.outputs)

    if float_graph is not None:
        float_inputs = _inputs(float_graph, data, options or Preprocessing())
        staged("float", lambda tick: interpret_widely(float_graph, float_inputs, tick))
    staged("interpreter", lambda tick: interpret_batches(graph, inputs, tick))
    staged("device", on_device)
    classes = {stage: outputs[0].reshape(len(data.y), -1).argmax(axis=1) for stage, outputs in stages.items()}
    right = {stage: float(np.mean(found == data.y)) for stage, found in classes.items()}
    differing = _differing_samples(stages["interpreter"], stages["device"])
    return Evaluation(
        n=len(data.y),
        top1=Top1(right.get("float"), right["interpreter"], right["device"]),
        bit_exact=not len(differing),
        mismatches=tuple(differing.tolist()),
        predictions=classes["device"],
        seconds=seconds,
        device_runs=runs[0],
    )


def _inputs(graph: Graph, data: Dataset, options: Preprocessing) -> dict[str, NDArray[Any]]:
    if len(graph.inputs) != 1:
        names = ", ".join(node.name for node in graph.inputs)
        raise UsageError(f"evaluation feeds 'x' to one input; graph {graph.name!r} has {len(graph.inputs)}: {names}")
    node = graph.inputs[0]
    return {node.name: prepare(data.x, node, options)}


def _differing_samples(expected: list[NDArray[Any]], got: list[NDArray[Any]]) -> NDArray[np.intp]:
    """Samples for which any output differs in any bit."""
    differs = np.zeros(len(expected[0]), dtype=bool)
    for left, right in zip(expected, got, strict=True):
        rows = (np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1) for array in (left, right))
        differs |= (next(rows) != next(rows)).any(axis=1)
    return np.flatnonzero(differs)
