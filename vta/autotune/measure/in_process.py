"""Measuring in this process, on the cycle engine without data: nothing is copied, started or waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

from vta.autotune.measure.measure import Build, Candidate, MeasureOption
from vta.autotune.task import Task
from vta.codegen.timing import TimingEmitter
from vta.config.hardware import HardwareConfig
from vta.config.technology import Technology
from vta.config.timing import TimingParameters
from vta.devices.cycle import CycleDevice
from vta.devices.device import RunOptions
from vta.errors import DeviceError, VTAError
from vta.records.measurement import ErrorKind, Measurement, failed
from vta.schedule.energy import energy_of
from vta.schedule.schedule import Schedule

__all__ = ["TimingBuilder", "TimingRunner", "in_process", "stream_build"]

_DEFAULT_TIMEOUT_SECONDS = 10.0


class TimingBuilder:
    """Makes the instruction stream of a candidate, without micro-ops and constants."""

    def __init__(self) -> None:
        self._emitters: WeakKeyDictionary[Task, TimingEmitter] = WeakKeyDictionary()

    def build(self, candidates: Sequence[Candidate]) -> list[Build]:
        """See `Builder.build`."""
        return [self._build(candidate) for candidate in candidates]

    def _build(self, candidate: Candidate) -> Build:
        task = candidate.task
        assert isinstance(task, Task)

        def emitter() -> TimingEmitter:
            if task not in self._emitters:
                self._emitters[task] = TimingEmitter(task.operator, task.hw)
            return self._emitters[task]

        return stream_build(emitter, candidate.schedule)


def stream_build(emitter: Callable[[], TimingEmitter], schedule: Schedule) -> Build:
    """The stream of a schedule, for `TimingRunner`."""
    started = time.perf_counter()
    try:
        stream = emitter().stream(schedule)
    except VTAError as error:
        return Build(error=ErrorKind.COMPILE_DEVICE, message=str(error), seconds=time.perf_counter() - started)
    return Build(stream, seconds=time.perf_counter() - started)


class TimingRunner:
    """Counts the cycles of streams. They are exact, so one run stands for all repeats.

    With a `technology`, measurements have the energy by its figures, too.
    """

    def __init__(
        self,
        hw: HardwareConfig,
        timing: TimingParameters | None = None,
        timeout_seconds: float = _DEFAULT_TIMEOUT_SECONDS,
        technology: Technology | None = None,
    ) -> None:
        self._hw = hw
        self._technology = technology
        self._device = CycleDevice(hw, timing, timing_only=True)
        self._options = RunOptions(limit_seconds=timeout_seconds)

    def run(self, candidates: Sequence[Candidate], builds: Sequence[Build]) -> list[Measurement]:
        """See `Runner.run`."""
        return self.timed(builds)

    def timed(self, builds: Sequence[Build]) -> list[Measurement]:
        """The measurements of streams."""
        return [self._run(build) for build in builds]

    def _run(self, build: Build) -> Measurement:
        if build.product is None:
            return failed(build.error, build.message, build.seconds)
        started = time.perf_counter()
        try:
            result = self._device.run(build.product, self._options)
        except DeviceError as error:
            return failed(ErrorKind.RUNTIME_DEVICE, str(error), build.seconds + time.perf_counter() - started)
        assert result.cycles is not None, "the cycle device counts cycles"
        seconds = build.seconds + time.perf_counter() - started
        cost = result.cycles / self._device.hw.platform.clock_hz
        measured = Measurement((cost,), result.cycles, seconds=seconds, timestamp=time.time())
        if self._technology is None:
            return measured
        energy = energy_of(result.counters, self._hw, self._technology)["total"]
        return replace(measured, energy_pj=energy, technology=self._technology.name)


def in_process(hw: HardwareConfig, timing: TimingParameters | None = None, technology: Technology | None = None) -> MeasureOption:
    """Measure on the cycle engine in this process: the fastest way. With a `technology` energy is measured, too."""
    return MeasureOption(TimingBuilder(), TimingRunner(hw, timing, technology=technology))
