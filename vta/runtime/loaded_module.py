"""A compiled module on a device, wherever the device is."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import Any, NoReturn, TypeVar, cast

from numpy.typing import ArrayLike, NDArray

from vta.errors import DeviceError, UsageError
from vta.ir.state import split_outputs
from vta.ir.transforms.batch import batch_size
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.module_state import ModuleState
from vta.runtime.reports import BatchReport, CheckReport, RunReport
from vta.runtime.values.batches import Tick, have_no_batch_axis, map_batches, map_samples
from vta.runtime.values.frames import FramesReport, run_frames
from vta.runtime.values.inputs import Inputs, InputTypes, named_inputs
from vta.runtime.values.outputs import Outputs, result_names
from vta.support.dataclass import dataclass

__all__ = ["DEFAULT_SETTINGS", "LoadedModule", "RunSettings"]

Array = NDArray[Any]
_Self = TypeVar("_Self", bound="LoadedModule")


@dataclass(frozen=True)
class RunSettings:
    """How one run is made."""

    seed: int | None = None
    """Of the order in which the device's units go on; None: that of the program."""
    limit_seconds: float | None = None
    """A run that takes longer is ended; None: the device's own limit."""
    timeline: bool = False
    """Keep what each unit did when."""
    times: bool = True
    """Keep what each operator did, and when each instruction ran, on devices that know it."""


DEFAULT_SETTINGS = RunSettings()


class LoadedModule(ABC):
    """A compiled module on a device; gives the device's memory back on `close` or at the end of a ``with``.

    Threads may share it: whole runs take turns (docs/threads.md). Once it or its device is closed, whatever needs the device
    raises `DeviceError`.

    Values are given by the names of inputs, as keywords or in a mapping, or alone where there is one input. They have the input's
    shape; lists, and arrays of another size of the same kind of number, are converted.
    """

    compiled: CompiledModule
    host: HostOptions = HostOptions()
    """How what is not on the device is computed."""

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        """A second one would give back the memory of the first."""
        raise DeviceError("a loaded module can be neither copied nor pickled: load what it was compiled to again")

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self.compiled!r}"

    @abstractmethod
    def close(self) -> None:
        """Unload the module, after a run of another thread has ended; it cannot run any more."""

    @abstractmethod
    def check_open(self) -> None:
        """Raise `DeviceError` if the module is closed."""

    @abstractmethod
    def run_values(self, inputs: Mapping[str, Array], settings: RunSettings) -> RunReport:
        """Run once on a value for every input of the graph, states too; gives all outputs, the next values of states too.

        What the module itself keeps is neither read nor changed.
        """

    @abstractmethod
    def check_values(self, inputs: Mapping[str, Array], settings: RunSettings) -> CheckReport:
        """As `run_values`, and compare with the interpreter as `check` does."""

    @cached_property
    def _argument_types(self) -> InputTypes:
        """Of the inputs that are given for a run."""
        return InputTypes(self.compiled.graph.arguments)

    @cached_property
    def state(self) -> ModuleState:
        """What the network keeps from one run to the next: read, set, saved and restored by name."""
        return ModuleState(self.compiled.graph)

    def reset(self) -> None:
        """Set all states to what they are before the first run."""
        self.state.reset()

    def output_names(self) -> tuple[str, ...]:
        """A distinct name for each result: the model's, or else its layer; numbered where they repeat."""
        return result_names(self.compiled.graph)

    def run(
        self,
        inputs: Inputs | None = None,
        /,
        *,
        seed: int | None = None,
        limit_seconds: float | None = None,
        timeline: bool = False,
        **named: ArrayLike,
    ) -> RunReport:
        """Run once.

        With `seed` the device's units interleave at random, as far as its tokens allow, where the device can do that. A run that
        takes longer than `limit_seconds` (None: the device's own limit) is ended. With `timeline` the results keep what each unit
        did when, from a device that knows it. Inputs that are called like one of these are given in a mapping.
        A network with states starts from what the module keeps, and leaves their next values; wrong inputs change none. In a run
        that fails on the device those that lie there are lost: until they are set or reset, what needs them raises `DeviceError`.
        Raises `GraphError` for wrong inputs, `DeviceError` if the device fails, and `RemoteError` if a session is lost.
        """
        plain = seed is None and limit_seconds is None and not timeline
        settings = DEFAULT_SETTINGS if plain else RunSettings(seed, limit_seconds, timeline)
        if named or not self._argument_types.fit(inputs):
            inputs = named_inputs(self.compiled.graph, inputs, named)
        given = cast("Mapping[str, Array]", inputs)
        return self._run_from_state(given, settings) if self.compiled.graph.states else self.run_values(given, settings)

    def check(self, inputs: Inputs | None = None, /, *, limit_seconds: float | None = None, **named: ArrayLike) -> CheckReport:
        """Compare every VTA operator, one after the other, and then a whole run, with the interpreter. Raises like `run`.

        The host part is computed by its references, whatever it runs by otherwise; kernels of a GPU are compared with these, too:
        integers to the bit, floats within rounding. Each region starts from the interpreter's
        values, so that a fault shows in the operator that causes it. States go on as by `run`.
        """
        settings = RunSettings(limit_seconds=limit_seconds)
        return self._check_once(named_inputs(self.compiled.graph, inputs, named), settings)

    def run_frames(
        self, inputs: Inputs | None = None, /, *, tick: Tick | None = None, check: bool = False, **named: ArrayLike
    ) -> FramesReport:
        """Run once for each frame of a stream, from the states that the frame before left.

        Frames lie along a first axis of time, which inputs of one sample at a time need not have beside that of the batch. With
        `check` each frame is compared as by `check`, until one differs. `tick` is called with the number of frames done.
        Raises like `run`, and `UsageError` if inputs hold different numbers of frames, or none.
        """
        self.check_open()
        return run_frames(self, named_inputs(self.compiled.graph, inputs, named), tick, check)

    def run_batches(self, inputs: Inputs | None = None, /, *, tick: Tick | None = None, **named: ArrayLike) -> BatchReport:
        """Run on any number of samples, as many at a time as the module was compiled for.

        Samples lie along the first axis. `tick` is called with the number of samples done. On the functional simulator the cores
        of this machine share the samples. Raises like `run`, and `UsageError` if
        inputs hold different numbers of samples, or the network has states: its samples are frames.
        """
        self.check_open()
        if self.compiled.graph.states:
            raise UsageError(f"{self.compiled.graph.name} keeps state {self.compiled.graph.states[0].name!r}: run it by frames")
        start = time.perf_counter()
        outputs, runs, cycles = self._run_all(named_inputs(self.compiled.graph, inputs, named), tick)
        return BatchReport(Outputs(outputs, self.output_names()), runs, time.perf_counter() - start, cycles)

    def _run_all(self, samples: Mapping[str, Array], tick: Tick | None) -> tuple[list[Array], int, int | None]:
        """The outputs for many samples, the device runs that these took, and the cycles, on devices that count them."""
        settings = RunSettings(times=False)
        runs = 0
        cycles: list[int] = []

        def run(chunk: dict[str, Array]) -> Outputs:
            nonlocal runs
            report = self.run_values(chunk, settings)
            runs += report.device_runs
            cycles.extend([] if report.cycles is None else [report.cycles])
            return report.outputs

        if have_no_batch_axis(self.compiled.graph, samples):
            outputs = map_samples(run, samples, tick)
        else:
            outputs = map_batches(run, samples, batch_size(self.compiled.graph), tick)
        return outputs, runs, sum(cycles) if cycles else None

    def _run_from_state(self, inputs: Mapping[str, Array], settings: RunSettings) -> RunReport:
        """From the states that the module keeps."""
        with self.state.turn:
            return self._kept(self.run_values({**inputs, **self.state}, settings))

    def _check_once(self, inputs: Mapping[str, Array], settings: RunSettings) -> CheckReport:
        if not self.compiled.graph.states:
            return self.check_values(inputs, settings)
        with self.state.turn:
            report = self.check_values({**inputs, **self.state}, settings)
            return replace(report, run=self._kept(report.run))

    def _kept(self, report: RunReport) -> RunReport:
        """A report without the next values of states, which are taken over."""
        results, held = split_outputs(self.compiled.graph, report.outputs)
        self.state.keep(held)
        return replace(report, outputs=Outputs(results, self.output_names()))
