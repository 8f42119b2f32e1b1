"""A compiled module on a device: runs the regions there and the other operators on the host."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from types import TracebackType
from typing import Any

from numpy.typing import NDArray

from vta.codegen.region_program import MOVE_SUFFIX, CompiledModule, RegionProgram
from vta.devices.device import Counters, Device, DeviceState, RunOptions, RunResult
from vta.errors import DeviceError
from vta.ir.batch import batch_size
from vta.ir.graph import Graph, Node
from vta.ir.interpreter import check_inputs, evaluate_node, walk
from vta.runtime.artifact.compatibility import check_compatible
from vta.runtime.evaluation.batches import Tick, have_no_batch_axis, map_batches, map_samples
from vta.runtime.evaluation.compare import Mismatch, find_mismatch
from vta.runtime.host_options import HostOptions
from vta.runtime.loaded import LoadedRegion
from vta.runtime.plan import HostStep, Plan, RegionStep, make_plan

__all__ = ["BatchReport", "CheckReport", "Module", "RunReport", "StepTime", "make_report", "output_names"]

Array = NDArray[Any]
_OPTIONS = RunOptions()
_HOST_OPTIONS = HostOptions()


@dataclass(frozen=True)
class StepTime:
    """Wall time of one step of a run."""

    node: Node | None
    """What the host computed: the last of the operators that one kernel computes together. None: a device run."""
    seconds: float


@dataclass(frozen=True)
class RunReport:
    """What one run gave and cost."""

    outputs: tuple[Array, ...]
    """The graph's outputs, in order."""
    counters: Counters
    """Sum over all device runs."""
    operators: dict[str, Counters]
    """Of each VTA operator."""
    cycles: int | None
    """Clock cycles of all device runs, on devices that count them."""
    device_seconds: float
    """Wall time of device runs and of moving their tensors."""
    host_seconds: float
    """Wall time of everything else."""
    device_runs: int
    results: tuple[tuple[RegionProgram, RunResult], ...] = ()
    """Each device run and the region that it ran, in order."""
    steps: tuple[StepTime, ...] = ()
    """Each step of the run, in order; () where it ran on another machine, which does not send them."""

    @property
    def seconds(self) -> float:
        """Wall time of the run."""
        return self.device_seconds + self.host_seconds

    @property
    def move_macs(self) -> int:
        """Multiply-accumulates with identity matrices, which only bring a tensor into the accumulator."""
        return sum(counters.macs for name, counters in self.operators.items() if name.endswith(MOVE_SUFFIX))

    @property
    def macs(self) -> int:
        """Multiply-accumulates on the device that the network asks for, with the tails of blocks."""
        return self.counters.macs - self.move_macs


@dataclass(frozen=True)
class BatchReport:
    """What `Module.run_batches` gave."""

    outputs: tuple[Array, ...]
    """The graph's outputs, in order, for all samples."""
    device_runs: int
    seconds: float
    cycles: int | None = None
    """Clock cycles of all device runs, on devices that count them."""


@dataclass(frozen=True)
class CheckReport:
    """What `Module.check` found."""

    bit_exact: bool
    mismatch: Mismatch | None
    """The first tensor that differs."""
    compared: int
    """VTA operators whose output was compared."""
    run: RunReport
    """The whole run."""


class Module:
    """A compiled module loaded onto a device; frees the device's memory on `close` or at the end of a ``with``.

    Threads may share a module, and modules a device: whole runs take turns (docs/threads.md). Once the module or its device is
    closed, whatever needs the device raises `DeviceError`.
    """

    def __init__(
        self, compiled: CompiledModule, device: Device, options: RunOptions = _OPTIONS, host: HostOptions = _HOST_OPTIONS
    ) -> None:
        """Load every region; `options` say how the device runs them, `host` how the rest is computed.

        Raises `ArtifactError` naming key and both values if the device is not what the module was compiled for, and
        `DeviceError` with the bytes needed and available if its memory is too small; nothing has run then.
        """
        check_compatible(compiled.hw, device.hw)
        self.compiled = compiled
        self.device = device
        self._plan = make_plan(compiled)
        self._host_plan = _with_kernels(self._plan, compiled.graph, host) if host.compiled else self._plan
        self._loaded: list[LoadedRegion] = []
        self._closed = False
        try:
            with device.exclusive():
                self._load(options)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Module:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Free the device's memory, after a run of another thread has ended; the module cannot run any more."""
        self._closed = True
        try:
            with self.device.exclusive():
                while self._loaded:
                    self._loaded.pop().free()
        except DeviceError:
            # The memory went with the device.
            if self.device.status().state is not DeviceState.CLOSED:
                raise

    def _check_open(self) -> None:
        if self._closed:
            raise DeviceError("the module is closed")

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """Have the device, and what is loaded there, for this thread alone."""
        self._check_open()
        with self.device.exclusive():
            self._check_open()
            yield

    def _load(self, options: RunOptions) -> None:
        try:
            for region in self.compiled.regions:
                self._loaded.append(LoadedRegion(region, self.device, options))
        except DeviceError as error:
            sizes = ", ".join(f"{entry.name} {entry.program.image_bytes}" for entry in self.compiled.regions)
            raise DeviceError(f"the images of the regions do not fit ({sizes} bytes): {error}") from None
        for loaded in self._loaded:
            loaded.write_constants()

    def output_names(self) -> tuple[str, ...]:
        """A distinct name for each output: the model's, or else its layer; numbered where they repeat."""
        return output_names(self.compiled.graph)

    def run(self, inputs: Mapping[str, Array], seed: int | None = None) -> RunReport:
        """Run once on `inputs`, arrays of the graph inputs' exact shapes and dtypes, by name.

        With `seed` the device's units interleave at random, as far as its tokens allow, where the device can do that.
        Raises `GraphError` for wrong inputs and `DeviceError` if the device fails.
        """
        with self._in_use():
            return self._run(self._host_plan, inputs, seed)

    def _run(self, plan: Plan, inputs: Mapping[str, Array], seed: int | None = None) -> RunReport:
        start = time.perf_counter()
        given = check_inputs(self.compiled.graph, inputs)
        values = list(plan.initial)
        for node, slot in zip(self.compiled.graph.inputs, plan.inputs, strict=True):
            values[slot] = given[node]
        tally = _Tally()
        for step in plan.steps:
            begun = time.perf_counter()
            if isinstance(step, HostStep):
                sources = [_present(values[slot]) for slot in step.sources]
                values[step.target] = evaluate_node(step.node, sources) if step.kernel is None else step.kernel(sources)
            else:
                self._run_region(step, values, seed, tally)
            tally.steps.append(StepTime(step.node if isinstance(step, HostStep) else None, time.perf_counter() - begun))
            for slot in step.dead:
                values[slot] = None
        outputs = tuple(_present(values[slot]) for slot in plan.outputs)
        host_seconds = time.perf_counter() - start - tally.seconds
        return replace(make_report(outputs, tally.results, tally.seconds, host_seconds), steps=tuple(tally.steps))

    def run_batches(self, inputs: Mapping[str, Array], tick: Tick | None = None) -> BatchReport:
        """Run on any number of samples, as many at a time as the module was compiled for.

        `tick` is called with the number of samples done. Raises like `run`, and `UsageError` if inputs hold different
        numbers of samples.
        """
        self._check_open()
        start = time.perf_counter()
        runs = 0
        cycles: list[int] = []

        def run(chunk: dict[str, Array]) -> tuple[Array, ...]:
            nonlocal runs
            report = self.run(chunk)
            runs += report.device_runs
            cycles.extend([] if report.cycles is None else [report.cycles])
            return report.outputs

        if have_no_batch_axis(self.compiled.graph, inputs):
            outputs = map_samples(run, inputs, tick)
        else:
            outputs = map_batches(run, inputs, batch_size(self.compiled.graph), tick)
        return BatchReport(tuple(outputs), runs, time.perf_counter() - start, sum(cycles) if cycles else None)

    def check(self, inputs: Mapping[str, Array]) -> CheckReport:
        """Compare every VTA operator, one after the other, and then a whole run, with the interpreter.

        The host part is computed by its references, whatever it runs by otherwise. Each region starts from the interpreter's
        values, so that a fault shows in the operator that causes it.
        """
        self._check_open()
        wanted = {binding.node for region in self.compiled.regions for binding in region.inputs}
        wanted |= {record.output.node for region in self.compiled.regions for record in region.operators}
        wanted |= set(self.compiled.graph.outputs)
        values = {node: value for node, value in walk(self.compiled.graph, inputs) if node in wanted}
        with self._in_use():
            mismatch, compared = self._check_regions(values)
            report = self._run(self._plan, inputs)
        for name, node, got in zip(self.output_names(), self.compiled.graph.outputs, report.outputs, strict=True):
            mismatch = mismatch or find_mismatch("output", name, values[node], got)
        return CheckReport(mismatch is None, mismatch, compared, report)

    def _check_regions(self, values: Mapping[Node, Array]) -> tuple[Mismatch | None, int]:
        compared = 0
        for step in self._plan.steps:
            if not isinstance(step, RegionStep):
                continue
            loaded = self._loaded[step.index]
            for binding in step.region.inputs:
                loaded.write(binding, values[binding.node])
            for record, got in loaded.run_stepwise():
                compared += 1
                layer = record.output.node.name
                mismatch = find_mismatch(record.name, layer, values[record.output.node], got)
                if mismatch:
                    return mismatch, compared
        return None, compared

    def _run_region(self, step: RegionStep, values: list[Array | None], seed: int | None, tally: _Tally) -> None:
        start = time.perf_counter()
        loaded = self._loaded[step.index]
        for binding, slot in zip(step.region.inputs, step.sources, strict=True):
            loaded.write(binding, _present(values[slot]))
        tally.results.append((step.region, loaded.run(seed)))
        for binding, slot in zip(step.region.outputs, step.targets, strict=True):
            values[slot] = loaded.read(binding)
        tally.seconds += time.perf_counter() - start


@dataclass
class _Tally:
    """The device runs of one run of a module, and their time."""

    results: list[tuple[RegionProgram, RunResult]] = field(default_factory=list)
    seconds: float = 0.0
    steps: list[StepTime] = field(default_factory=list)


def make_report(
    outputs: tuple[Array, ...], results: Sequence[tuple[RegionProgram, RunResult]], device_seconds: float, host_seconds: float
) -> RunReport:
    """Sum over the device runs of one run of a module."""
    counters = Counters()
    operators: dict[str, Counters] = {}
    cycles: int | None = None
    for region, result in results:
        counters += result.counters
        for name, found in zip(region.program.operators, result.operators, strict=False):
            operators[name] = operators[name] + found if name in operators else found
        if result.cycles is not None:
            cycles = (cycles or 0) + result.cycles
    return RunReport(outputs, counters, operators, cycles, device_seconds, host_seconds, len(results), tuple(results))


def output_names(graph: Graph) -> tuple[str, ...]:
    """A distinct name for each output of a graph: the model's, or else its layer; numbered where they repeat."""
    names: dict[str, None] = {}
    for name in graph.output_names or [node.name for node in graph.outputs]:
        tries = (f"{name}:{number}" if number else name for number in count())
        names[next(found for found in tries if found not in names)] = None
    return tuple(names)


def _with_kernels(plan: Plan, graph: Graph, host: HostOptions) -> Plan:
    try:
        from vta.runtime.host_kernels import with_kernels
    except ImportError as error:
        raise DeviceError(
            f"kernels of the host are compiled by llvmlite, which is missing: pip install llvmlite ({error})"
        ) from None
    return with_kernels(plan, graph, host)


def _present(value: Array | None) -> Array:
    assert value is not None, "a step reads a slot that no step before it fills"
    return value
