"""Top-1 accuracy of a network as trained, as quantised, and on a device, over the same samples, and the noise of its outputs."""

from __future__ import annotations

import builtins
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.devices.device import SampleDevice
from vta.errors import UsageError
from vta.files.forked_call import ForkedCall
from vta.ir.arithmetic.decibels import decibels
from vta.ir.graph import Graph
from vta.runtime.compare import differing
from vta.runtime.evaluation.compute import compute_exactly, compute_widely, is_worth_compiling
from vta.runtime.evaluation.dataset import Dataset, Preprocessing, input_samples, load_dataset
from vta.runtime.evaluation.forked_outputs import ForkedOutputs
from vta.runtime.evaluation.trained import TrainedPass
from vta.runtime.loaded_module import LoadedModule
from vta.runtime.module import Module
from vta.runtime.reports import BatchReport
from vta.runtime.values.batches import Tick, have_no_batch_axis
from vta.runtime.values.chunks import cores
from vta.support.dataclass import dataclass
from vta.support.shorten import shown
from vta.support.table import Table, html_lines, make_table

__all__ = ["Evaluation", "OutputQuality", "Progress", "Top1", "evaluate_top1"]

Progress = Callable[[str, int, int], None]
"""Called as ``progress(stage, done, total)`` with the samples done so far."""


@dataclass(frozen=True)
class Top1:
    """Share of samples, 0 to 1, whose class is found."""

    float: builtins.float | None
    """By the network as trained; None if it was not given."""
    interpreter: builtins.float
    """By the integer graph and its NumPy references."""
    device: builtins.float


@dataclass(frozen=True)
class OutputQuality:
    """How far an output is from that of the network as trained."""

    output: str
    snr_db: builtins.float
    """Power of the trained network's values over power of the difference, in decibels; infinite if there is none."""


@dataclass(frozen=True, repr=False)
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
    """Wall time of each stage: float, interpreter, device. They may have run beside other work."""
    device_runs: int
    cycles: int | None = None
    """Clock cycles of all device runs, on devices that count them."""
    outputs: tuple[OutputQuality, ...] = ()
    """Every output against the network as trained, the noisiest first; none if that was not given."""

    def table(self) -> Table:
        """Accuracy by engine."""
        rows = [(name, f"{share:.2%}") for name, share in vars(self.top1).items() if share is not None]
        return make_table(("engine", f"top-1 of {self.n}"), rows)

    def __repr__(self) -> str:
        shares = ", ".join(f"{name} {share}" for name, share in self.table().rows)
        agree = "device and interpreter agree" if self.bit_exact else f"they differ on {len(self.mismatches)} samples"
        return f"Evaluation of {self.n} samples: {shares}; {agree}"

    def _repr_html_(self) -> str:
        return html_lines(self.table(), self.__repr__().rpartition("; ")[2])


def evaluate_top1(
    module: LoadedModule,
    data: Dataset | str | Path,
    options: Preprocessing | None = None,
    float_graph: Graph | None = None,
    progress: Progress | None = None,
    trained_pass: TrainedPass | None = None,
) -> Evaluation:
    """Evaluate `module`, the integer graph that it was compiled from, and `float_graph`, on all samples of `data`,
    or of the file at that path.

    `trained_pass` is that of `float_graph` on the same samples, if it has begun already.
    The class that a network finds is where its first output is largest, or that output itself where it is one integer a sample.
    Raises `UsageError` if the samples do not fit the network's input, or their classes its output.
    """
    options = options or Preprocessing()
    given = data if isinstance(data, Dataset) else load_dataset(data)
    stages = _Stages(len(given.y), progress)
    inputs = input_samples(module.compiled.graph, given, options)
    _check_classes(module, inputs, given)

    def compute_trained() -> list[NDArray[Any]]:
        if float_graph is None:
            return []
        float_inputs = input_samples(float_graph, given, options)
        return stages.run("float", lambda tick: compute_widely(float_graph, float_inputs, tick, winograd=True))

    trained = compute_trained() if trained_pass is None else []
    expected, batches = _exact_and_device(module, inputs, stages)
    if trained_pass is not None:
        stages.ticker("float")(0)
        # It had what cores were idle until now.
        found = trained_pass.outputs()
        if found is None:
            trained = compute_trained()
        else:
            trained, seconds = found
            stages.finish("float", trained, seconds)
    mismatches = _differing_samples(expected, list(batches.outputs))
    share = {stage: float(np.mean(classes == given.y)) for stage, classes in stages.classes.items()}
    return Evaluation(
        n=len(given.y),
        top1=Top1(share.get("float"), share["interpreter"], share["device"]),
        bit_exact=not len(mismatches),
        mismatches=tuple(mismatches.tolist()),
        predictions=stages.classes["device"],
        seconds=stages.seconds,
        device_runs=batches.device_runs,
        cycles=batches.cycles,
        outputs=_qualities(module.output_names(), trained, expected),
    )


def _check_classes(module: LoadedModule, inputs: Mapping[str, NDArray[Any]], data: Dataset) -> None:
    """Raise `UsageError` if a sample's class is none that the network can give."""
    graph = module.compiled.graph
    output = graph.outputs[0]
    count = prod(output.shape) // (1 if have_no_batch_axis(graph, inputs) else graph.inputs[0].shape[0])
    if not len(data.y) or _is_class(output.dtype, count):
        return
    least, most = int(data.y.min()), int(data.y.max())
    if least < 0 or most >= count:
        raise UsageError(
            f"'y' holds classes from {least} to {most}; the network has classes from 0 to {count - 1}, as many as its output "
            f"{shown(module.output_names()[0])} has values for a sample"
        )


def _is_class(dtype: str, count: int) -> bool:
    """Whether an output is the number of a class already, as where a network ends in an ArgMax."""
    return count == 1 and dtype in ("int32", "int64")


def _exact_and_device(
    module: LoadedModule, inputs: Mapping[str, NDArray[Any]], stages: _Stages
) -> tuple[list[NDArray[Any]], BatchReport]:
    """What the integer graph gives, and the device: one beside the other where there is a core for it."""
    if cores() == 1:
        expected = stages.run("interpreter", lambda tick: compute_exactly(module.compiled, module.host, inputs, tick))
        batches = module.run_batches(inputs, tick=stages.ticker("device"))
    else:
        stages.ticker("interpreter")(0)
        both = _by_two_processes if _may_split(module, stages.total) else _by_two_threads
        expected, seconds, batches = both(module, inputs, stages.ticker("device"))
        stages.finish("interpreter", expected, seconds)
    stages.finish("device", list(batches.outputs), batches.seconds)
    return expected, batches


def _may_split(module: LoadedModule, samples: int) -> bool:
    """Whether a copy of this process may compute what a module must give, and has enough to do."""
    local = isinstance(module, Module) and isinstance(module.device, SampleDevice) and module.device.runs_samples
    plain = module.host.gpu is None and not module.host.onnxruntime
    return local and plain and ForkedCall.possible() and is_worth_compiling(module.compiled.graph, samples)


def _by_two_processes(
    module: LoadedModule, inputs: Mapping[str, NDArray[Any]], tick: Tick
) -> tuple[list[NDArray[Any]], float, BatchReport]:
    """They have a Python each to load their kernels."""
    with ForkedOutputs(lambda: compute_exactly(module.compiled, module.host, inputs, None)) as computed:
        batches = module.run_batches(inputs, tick=tick)
        found = computed.outputs()
    if found is None:
        start = time.perf_counter()
        return compute_exactly(module.compiled, module.host, inputs, None), time.perf_counter() - start, batches
    return *found, batches


def _by_two_threads(
    module: LoadedModule, inputs: Mapping[str, NDArray[Any]], device_tick: Tick
) -> tuple[list[NDArray[Any]], float, BatchReport]:
    stopped = threading.Event()

    def tick(done: int) -> None:
        if stopped.is_set():
            raise CancelledError(f"stopped after {done} samples")

    def compute() -> tuple[list[NDArray[Any]], float]:
        start = time.perf_counter()
        return compute_exactly(module.compiled, module.host, inputs, tick), time.perf_counter() - start

    with ThreadPoolExecutor(1, thread_name_prefix="vta-exact") as pool:
        computed = pool.submit(compute)
        try:
            batches = module.run_batches(inputs, tick=device_tick)
            return *computed.result(), batches
        except BaseException:
            stopped.set()
            raise


def _qualities(names: Sequence[str], trained: list[NDArray[Any]], got: list[NDArray[Any]]) -> tuple[OutputQuality, ...]:
    pairs = [(name, want, value) for name, want, value in zip(names, trained, got, strict=False) if want.shape == value.shape]
    rows = [OutputQuality(name, decibels(want, value)) for name, want, value in pairs]
    return tuple(sorted(rows, key=lambda row: row.snr_db))


class _Stages:
    """Times the stages and keeps the classes that each finds."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.total = total
        self._progress = progress
        self.seconds: dict[str, float] = {}
        self.classes: dict[str, NDArray[np.int64]] = {}

    def ticker(self, stage: str) -> Tick:
        return lambda done: self._progress(stage, done, self.total) if self._progress else None

    def run(self, stage: str, work: Callable[[Tick], list[NDArray[Any]]]) -> list[NDArray[Any]]:
        start = time.perf_counter()
        outputs = work(self.ticker(stage))
        self.finish(stage, outputs, time.perf_counter() - start)
        return outputs

    def finish(self, stage: str, outputs: list[NDArray[Any]], seconds: float) -> None:
        self.seconds[stage] = seconds
        found = outputs[0].reshape(self.total, -1)
        self.classes[stage] = found[:, 0] if _is_class(found.dtype.name, found.shape[1]) else found.argmax(axis=1)


def _differing_samples(expected: list[NDArray[Any]], got: list[NDArray[Any]]) -> NDArray[np.intp]:
    """Samples for which any output differs in any bit."""
    differs = np.zeros(len(expected[0]), dtype=bool)
    for left, right in zip(expected, got, strict=True):
        differs |= differing(left, right).reshape(len(left), -1).any(axis=1)
    return np.flatnonzero(differs)
