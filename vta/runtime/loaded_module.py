"""A compiled module on a device, wherever the device is."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TypeVar

from numpy.typing import ArrayLike, NDArray

from vta.ir.batch import batch_size
from vta.runtime.batches import Tick, have_no_batch_axis, map_batches, map_samples
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_options import HostOptions
from vta.runtime.inputs import Inputs, named_inputs
from vta.runtime.outputs import Outputs, output_names
from vta.runtime.reports import BatchReport, CheckReport, RunReport
from vta.support.dataclass import dataclass

__all__ = ["LoadedModule", "RunSettings"]

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

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self.compiled!r}"

    @abstractmethod
    def close(self) -> None:
        """Unload the module, after a run of another thread has ended; it cannot run any more."""

    @abstractmethod
    def check_open(self) -> None:
        """Raise `DeviceError` if the module is closed."""

    @abstractmethod
    def _run_once(self, inputs: Mapping[str, Array], settings: RunSettings) -> RunReport: ...

    @abstractmethod
    def _check_once(self, inputs: Mapping[str, Array], settings: RunSettings) -> CheckReport: ...

    def output_names(self) -> tuple[str, ...]:
        """A distinct name for each output: the model's, or else its layer; numbered where they repeat."""
        return output_names(self.compiled.graph)

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
        Raises `GraphError` for wrong inputs, `DeviceError` if the device fails, and `RemoteError` if a session is lost.
        """
        settings = RunSettings(seed, limit_seconds, timeline)
        return self._run_once(named_inputs(self.compiled.graph, inputs, named), settings)

    def check(self, inputs: Inputs | None = None, /, *, limit_seconds: float | None = None, **named: ArrayLike) -> CheckReport:
        """Compare every VTA operator, one after the other, and then a whole run, with the interpreter. Raises like `run`.

        The host part is computed by its references, whatever it runs by otherwise. Each region starts from the interpreter's
        values, so that a fault shows in the operator that causes it.
        """
        settings = RunSettings(limit_seconds=limit_seconds)
        return self._check_once(named_inputs(self.compiled.graph, inputs, named), settings)

    def run_batches(self, inputs: Inputs | None = None, /, *, tick: Tick | None = None, **named: ArrayLike) -> BatchReport:
        """Run on any number of samples, as many at a time as the module was compiled for.

        Samples lie along the first axis. `tick` is called with the number of samples done. Raises like `run`, and `UsageError` if
        inputs hold different numbers of samples.
        """
        self.check_open()
        start = time.perf_counter()
        samples = named_inputs(self.compiled.graph, inputs, named)
        settings = RunSettings(times=False)
        runs = 0
        cycles: list[int] = []

        def run(chunk: dict[str, Array]) -> Outputs:
            nonlocal runs
            report = self._run_once(chunk, settings)
            runs += report.device_runs
            cycles.extend([] if report.cycles is None else [report.cycles])
            return report.outputs

        if have_no_batch_axis(self.compiled.graph, samples):
            outputs = map_samples(run, samples, tick)
        else:
            outputs = map_batches(run, samples, batch_size(self.compiled.graph), tick)
        seconds = time.perf_counter() - start
        return BatchReport(Outputs(outputs, self.output_names()), runs, seconds, sum(cycles) if cycles else None)
