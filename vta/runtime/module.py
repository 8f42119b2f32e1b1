"""A compiled module on a device of this machine: runs the regions there and the other operators on the host."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.codegen.region_program import RegionProgram
from vta.devices.device import Device, DeviceState, RunOptions, RunResult, SampleDevice
from vta.errors import DeviceError, GraphError
from vta.ir.graph import Node
from vta.ir.interpreter import check_inputs, quantizes, walk
from vta.ir.state import initial_values
from vta.runtime.artifact.compatibility import check_compatible
from vta.runtime.compare import Mismatch, find_mismatch
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_part.gpu_check import check_kernels, nodes_of_kernels
from vta.runtime.host_part.host_options import HostOptions, require_compiler, require_onnxruntime
from vta.runtime.host_part.host_steps import present, run_on_host
from vta.runtime.host_part.plan import Plan, RegionStep, make_plan
from vta.runtime.host_part.resident_states import ResidentState, resident_states
from vta.runtime.host_part.sample_steps import (
    checked_samples,
    constant_slots,
    have_sample_runs,
    results_of_samples,
    run_samples_on_host,
)
from vta.runtime.loaded_module import DEFAULT_SETTINGS, LoadedModule, RunSettings
from vta.runtime.loaded_region import LoadedRegion
from vta.runtime.reports import CheckReport, RunReport, StepTime
from vta.runtime.values.batches import Tick
from vta.runtime.values.chunks import SampleChunks, cores
from vta.runtime.values.inputs import InputTypes
from vta.runtime.values.outputs import Outputs, output_names
from vta.support.dataclass import dataclass

__all__ = ["Module"]

Array = NDArray[Any]
_OPTIONS = RunOptions()
_HOST_OPTIONS = HostOptions()


class Module(LoadedModule):
    """A compiled module on a device of this machine. Modules may share a device."""

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
        self._options = options
        self._plan = make_plan(compiled.graph, compiled.regions)
        self.host = _host_of(compiled, host)
        self._kernel_plan = _library_plan(compiled, host) if host.compiled and self.host.gpu is None else None
        if host.compiled and self.host.gpu is None and self._kernel_plan is None:
            require_compiler()
        if self.host.onnxruntime:
            require_onnxruntime()
        self._loaded: list[LoadedRegion] = []
        self._closed = False
        self._quantizes = quantizes(compiled.graph)
        self._types = InputTypes(compiled.graph.inputs)
        self._resident = {
            name: _OnDevice(self, name, state) for name, state in resident_states(compiled.graph, self._plan).items()
        }
        self._places = {entry.state.held.node: entry for entry in self._resident.values()}
        self._left = {entry.state.after.node for entry in self._resident.values()}
        self._output_names = output_names(compiled.graph)
        try:
            with device.exclusive():
                self._load()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """See `LoadedModule.close`."""
        self._closed = True
        try:
            with self.device.exclusive():
                while self._loaded:
                    self._loaded.pop().free()
        except DeviceError:
            # The memory went with the device.
            if self.device.status().state is not DeviceState.CLOSED:
                raise

    def check_open(self) -> None:
        """See `LoadedModule.check_open`."""
        if self._closed:
            raise DeviceError("the module is closed")

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """Have the device, and what is loaded there, for this thread alone."""
        self.check_open()
        with self.device.exclusive():
            self.check_open()
            yield

    def _load(self) -> None:
        try:
            for region in self.compiled.regions:
                self._loaded.append(LoadedRegion(region, self.device))
        except DeviceError as error:
            sizes = ", ".join(f"{entry.name} {entry.program.image_bytes}" for entry in self.compiled.regions)
            raise DeviceError(f"the images of the regions do not fit ({sizes} bytes): {error}") from None
        for loaded in self._loaded:
            loaded.write_constants()

    def run_values(self, inputs: Mapping[str, Array], settings: RunSettings) -> RunReport:
        """See `LoadedModule.run_values`."""
        self.check_open()
        with self.device.exclusive():
            if self._closed:
                self.check_open()
            return self._run(self._host_plan(), inputs, self._run_options(settings), by_operator=settings.times)

    def _run_all(self, samples: Mapping[str, Array], tick: Tick | None) -> tuple[list[Array], int, int | None]:
        own = self.device
        if not isinstance(own, SampleDevice) or not own.runs_samples:
            return super()._run_all(samples, tick)
        chunks = SampleChunks(self.compiled.graph, samples)
        runs = 0

        def counted(done: int) -> None:
            nonlocal runs
            runs += len(self.compiled.regions)
            if tick:
                tick(done)

        with ExitStack() as twins:
            workers = [self]
            for _ in range(min(cores(), chunks.count) - 1 if self._is_shared() else 0):
                try:
                    device = own.twin()
                except MemoryError:
                    break
                twins.callback(device.close)
                workers.append(twins.enter_context(self._loaded_on(device)))
            outputs = chunks.map([worker.run_samples for worker in workers], counted)
        return outputs, runs, None

    def _is_shared(self) -> bool:
        """Whether threads may share the host part."""
        return have_sample_runs(self._host_plan())

    def _loaded_on(self, device: Device) -> Module:
        """The same module on another device."""
        other = Module(self.compiled, device, self._options, self.host)
        other._kernel_plan = self._kernel_plan
        return other

    def run_samples(self, inputs: Mapping[str, Array], samples: int) -> list[Array]:
        """Return the outputs of so many runs on a `SampleDevice`. Raises like `run`.

        They and the inputs lie along an axis before those of one run.
        """
        plan, device = self._host_plan(), self.device
        assert isinstance(device, SampleDevice)
        constants = constant_slots(plan)
        with self._in_use():
            values = checked_samples(self.compiled.graph, inputs, samples, plan)
            for step in plan.steps:
                if isinstance(step, RegionStep):
                    given = [
                        (binding, present(values[slot]), binding.node in step.packed)
                        for binding, slot in zip(step.region.inputs, step.sources, strict=True)
                    ]
                    wanted = [(binding, binding.node in step.packed) for binding in step.region.outputs]
                    made = self._loaded[step.index].run_samples(device, given, wanted, samples, self._options)
                    for slot, value in zip(step.targets, made, strict=True):
                        values[slot] = value
                else:
                    run_samples_on_host(step, values, samples, constants)
                for slot in step.dead:
                    values[slot] = None
        return results_of_samples(plan, values, samples, constants)

    def _run_from_state(self, inputs: Mapping[str, Array], settings: RunSettings) -> RunReport:
        if not self._resident:
            return super()._run_from_state(inputs, settings)
        with self.state.turn, self._in_use():
            held = {name: self.state.held(name) for name in self.state}
            on_device = {name for name, value in held.items() if value is self._resident.get(name)}
            # What lies on the device stands in the run for itself by a value of its type.
            given = {name: self.state[name] for name in held if name not in on_device} | self._stand_ins(on_device)
            # If the run fails, nobody knows what it has left there.
            self.state.keep({name: _lost(name) for name in self._resident})
            try:
                report = self._run(
                    self._host_plan(), {**inputs, **given}, self._run_options(settings), settings.times, frozenset(on_device)
                )
            except GraphError:
                self.state.keep(held)
                raise
            for entry in self._resident.values():
                self._loaded[entry.state.index].carry(entry.state.after, entry.state.held)
            report = self._kept(report)
            self.state.keep(self._resident)
            return report

    def _stand_ins(self, names: Collection[str]) -> dict[str, Array]:
        return {name: value for name, value in initial_values(self.compiled.graph).items() if name in names}

    def read_resident(self, name: str) -> Array:
        """The value of a state that lies on the device. Raises `DeviceError` if the module is closed."""
        state = self._resident[name].state
        with self._in_use():
            return self._loaded[state.index].read(state.held)

    def _host_plan(self) -> Plan:
        """The plan with the host part as the options want it; kernels are compiled when they are first needed."""
        if self.host.by_references:
            return self._plan
        if self._kernel_plan is None:
            from vta.runtime.host_part.kernel_engines import with_kernels

            self._kernel_plan = with_kernels(self._plan, self.compiled.graph, self.host)
        return self._kernel_plan

    def gpu_seconds(self, number: int) -> float:
        """The mean time of so many runs, at least, of what a GPU computes of the host part, on what is in its memory already."""
        from vta.runtime.host_part.gpu_kernels import gpu_seconds

        return gpu_seconds(self._host_plan(), number)

    def _run_options(self, settings: RunSettings) -> RunOptions:
        """Those of the module, but for what a run is told itself."""
        options = self._options
        if settings is DEFAULT_SETTINGS or settings == DEFAULT_SETTINGS:
            return options
        return replace(
            options,
            seed=options.seed if settings.seed is None else settings.seed,
            timeline=options.timeline or settings.timeline,
            limit_seconds=options.limit_seconds if settings.limit_seconds is None else settings.limit_seconds,
        )

    def _run(
        self,
        plan: Plan,
        inputs: Mapping[str, Array],
        options: RunOptions,
        by_operator: bool = True,
        on_device: frozenset[str] | None = None,
    ) -> RunReport:
        """Run a plan; the states `on_device` are not written there. Where these are given, those that can stay are not read."""
        start = time.perf_counter()
        if self._quantizes or not self._types.fit(inputs):
            checked = check_inputs(self.compiled.graph, inputs, numbers=self._quantizes)
            inputs = {node.name: value for node, value in checked.items()}
        values = list(plan.initial)
        for node, slot in zip(self.compiled.graph.inputs, plan.inputs, strict=True):
            values[slot] = inputs[node.name]
        tally = _Tally()
        for step in plan.steps:
            if isinstance(step, RegionStep):
                begun = time.perf_counter()
                self._run_region(step, values, options, tally, by_operator, on_device)
                tally.steps.append(StepTime(None, time.perf_counter() - begun))
            else:
                tally.steps += run_on_host(step, values)
            for slot in step.dead:
                values[slot] = None
        outputs = Outputs(map(present, map(values.__getitem__, plan.outputs)), self._output_names)
        host_seconds = time.perf_counter() - start - tally.seconds
        return RunReport(outputs, tally.seconds, host_seconds, tuple(tally.results), tuple(tally.steps))

    def check_values(self, inputs: Mapping[str, Array], settings: RunSettings) -> CheckReport:
        """See `LoadedModule.check_values`."""
        options = self._run_options(settings)
        self.check_open()
        wanted = {binding.node for region in self.compiled.regions for binding in region.inputs}
        wanted |= {record.output.node for region in self.compiled.regions for record in region.operators}
        wanted |= set(self.compiled.graph.outputs)
        on_gpu = self.host.gpu is not None
        kernels = nodes_of_kernels(self._plan, self._host_plan(), self.compiled.graph) if on_gpu else {}
        wanted |= {node for sources, targets in kernels.values() for node in (*sources, *targets)}
        values = {node: value for node, value in walk(self.compiled.graph, inputs) if node in wanted}
        with self._in_use():
            mismatch, compared = self._check_regions(values, options)
            mismatch = mismatch or check_kernels(kernels, values)
            report = self._run(self._host_plan() if on_gpu else self._plan, inputs, options)
        if on_gpu:
            return CheckReport(mismatch is None, mismatch, compared, report)
        for name, node, got in zip(self._output_names, self.compiled.graph.outputs, report.outputs, strict=True):
            mismatch = mismatch or find_mismatch("output", name, values[node], got)
        return CheckReport(mismatch is None, mismatch, compared, report)

    def _check_regions(self, values: Mapping[Node, Array], options: RunOptions) -> tuple[Mismatch | None, int]:
        compared = 0
        for step in self._plan.steps:
            if not isinstance(step, RegionStep):
                continue
            loaded = self._loaded[step.index]
            for binding in step.region.inputs:
                loaded.write(binding, values[binding.node])
            for record, got in loaded.run_stepwise(options):
                compared += 1
                layer = record.output.node.name
                mismatch = find_mismatch(record.name, layer, values[record.output.node], got)
                if mismatch:
                    return mismatch, compared
        return None, compared

    def _run_region(
        self,
        step: RegionStep,
        values: list[Array | None],
        options: RunOptions,
        tally: _Tally,
        by_operator: bool,
        on_device: frozenset[str] | None,
    ) -> None:
        start = time.perf_counter()
        loaded = self._loaded[step.index]
        for binding, slot in zip(step.region.inputs, step.sources, strict=True):
            if binding.node in step.packed:
                loaded.write_packed(binding, present(values[slot]))
            elif binding.node not in self._places or binding.node.name not in (on_device or ()):
                loaded.write(binding, present(values[slot]))
        tally.results.append((step.region, loaded.run(options, by_operator)))
        for binding, slot in zip(step.region.outputs, step.targets, strict=True):
            stays = on_device is not None and binding.node in self._left
            if stays:
                values[slot] = np.empty(binding.node.shape, binding.node.dtype)
            else:
                values[slot] = loaded.read_packed(binding) if binding.node in step.packed else loaded.read(binding)
        tally.seconds += time.perf_counter() - start


@dataclass(frozen=True)
class _OnDevice:
    """Reads a state from the device."""

    module: Module
    name: str
    state: ResidentState

    def __call__(self) -> Array:
        return self.module.read_resident(self.name)


def _lost(name: str) -> Callable[[], Array]:
    def fail() -> Array:
        raise DeviceError(f"state {name!r} was lost on the device in a run that failed; set it, or reset all states")

    return fail


class _Tally:
    """The device runs of one run of a module, and their time."""

    __slots__ = ("results", "seconds", "steps")

    def __init__(self) -> None:
        self.results: list[tuple[RegionProgram, RunResult]] = []
        self.seconds = 0.0
        self.steps: list[StepTime] = []


def _host_of(compiled: CompiledModule, host: HostOptions) -> HostOptions:
    """The options of the host, with the GPU that the module names."""
    if compiled.gpu is None or host.gpu is not None or host.leaves_gpu:
        return host
    from vta.runtime.host_part.gpu_kernels import gpu_options

    return gpu_options(compiled.gpu, host)


def _library_plan(compiled: CompiledModule, host: HostOptions) -> Plan | None:
    """By the library that came with the module, if there is one to be run here."""
    if compiled.host is None:
        return None
    from vta.runtime.host_library.load import library_plan

    return library_plan(compiled, compiled.host, host)
