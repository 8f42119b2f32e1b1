"""Measuring in worker processes on this machine: whatever a candidate does, it costs one trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vta.autotune.measure.measure import Candidate
from vta.autotune.measure.processes import ProcessBuilder, ProcessRunner
from vta.autotune.task import Task
from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.devices.device import Device
from vta.devices.sim import SimDevice
from vta.errors import CompileError
from vta.ir.graph import Graph
from vta.ir.interpreter import evaluate
from vta.records.measurement import ErrorKind, Measurement
from vta.runtime import Module
from vta.runtime.compiled_module import CompiledModule
from vta.schedule.schedule import Schedule
from vta.schedule.source import PerOperator
from vta.support.dataclass import dataclass

__all__ = ["BuildJob", "LocalBuilder", "LocalRunner", "build_module", "open_cycle", "open_opencl", "open_sim"]

DeviceFactory = Callable[[HardwareConfig], Device]


@dataclass(frozen=True, eq=False)
class BuildJob:
    """What a worker needs of a candidate."""

    graph: Graph
    hw: HardwareConfig
    schedule: Schedule


BuildFunction = Callable[[BuildJob], Any]


def build_module(job: BuildJob) -> CompiledModule:
    """Compile a task with a schedule, and verify the program. Raises `CompileError` if the host would have to compute it."""
    module = compile_graph(job.graph, job.hw, schedules=PerOperator(lambda operator, hw: job.schedule), strict=True)
    if len(module.regions) != 1:
        raise CompileError(f"{job.graph.name}: {module.placements[-1].reason}")
    return module


def open_cycle(hw: HardwareConfig) -> Device:
    """The cycle device, for `LocalRunner`."""
    return CycleDevice(hw)


def open_sim(hw: HardwareConfig) -> Device:
    """The functional simulator, for `LocalRunner`: the cost is its wall-clock time."""
    return SimDevice(hw)


def open_opencl(hw: HardwareConfig) -> Device:
    """The OpenCL device, for `LocalRunner`: the cost is the time of the kernel."""
    from vta.devices.opencl import OpenclDevice

    return OpenclDevice(hw)


class LocalBuilder(ProcessBuilder):
    """Builds in `n_parallel` worker processes, each candidate within `timeout` seconds."""

    def __init__(self, timeout: float = 10.0, n_parallel: int = 1, build_func: BuildFunction = build_module) -> None:
        super().__init__(build_func, _job, timeout, n_parallel)


class LocalRunner(ProcessRunner):
    """Runs modules in a worker process on the device that `device` opens there, each candidate within `timeout` seconds.

    A cost is the mean of `number` runs, and there are `repeat` costs; where the device counts cycles, every run takes the
    same, and one is made. Runs timed by the clock are more than `number` if they would take less than `min_repeat_ms`.
    With `check_correctness` the result of random inputs must be that of the reference interpreter.
    """

    def __init__(
        self,
        device: DeviceFactory = open_cycle,
        number: int = 1,
        repeat: int = 1,
        timeout: float = 10.0,
        min_repeat_ms: float = 0.0,
        check_correctness: bool = False,
    ) -> None:
        options = _RunOptions(device, number, repeat, min_repeat_ms / 1e3, check_correctness)
        super().__init__(_run_module, options, timeout)


@dataclass(frozen=True)
class _RunOptions:
    device: DeviceFactory
    number: int
    repeat: int
    least_seconds: float
    check: bool


def _run_module(job: tuple[CompiledModule, _RunOptions]) -> Measurement:
    """In the worker: the costs of a module, or that its result is wrong."""
    module, options = job
    rng = np.random.default_rng(0)
    inputs = {node.name: rng.integers(-128, 128, node.shape, dtype=np.int8) for node in module.graph.inputs}
    with Module(module, options.device(module.hw)) as loaded:
        report = loaded.run(inputs)
        if options.check and not np.array_equal(report.outputs[0], evaluate(module.graph, inputs)[0]):
            return Measurement(error=ErrorKind.WRONG_ANSWER, message="the result differs from that of the reference interpreter")
        if report.cycles is not None:
            cost = report.cycles / module.hw.platform.clock_hz
            return Measurement((cost,) * options.repeat, report.cycles)
        costs = []
        for _ in range(options.repeat):
            number = max(options.number, int(options.least_seconds / max(report.device_seconds, 1e-9)))
            costs.append(sum(loaded.run(inputs).device_seconds for _ in range(number)) / number)
    return Measurement(tuple(costs))


def _job(candidate: Candidate) -> BuildJob:
    task = candidate.task
    assert isinstance(task, Task)
    return BuildJob(task.graph, task.hw, candidate.schedule)
