"""Timing schedules on GPUs of other machines: networks of one kernel, compiled where they are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vta.autotune.auto.measure import THOROUGH
from vta.autotune.auto.space import Made
from vta.autotune.auto.task import AutoTask
from vta.autotune.measure.measure import Build
from vta.autotune.measure.remote import RPCRunner
from vta.config.hardware import HardwareConfig
from vta.records.gpu.schedules import steps_text
from vta.records.host.schedules import compute_workload
from vta.records.host.steps import entity_of_steps
from vta.records.measurement import Measurement, failed
from vta.runtime.artifact.gpu_host import GpuHost, GpuScheduleChoice
from vta.runtime.compiled_module import CompiledModule

__all__ = ["RemoteGpuMeasure", "task_module"]


class RemoteGpuMeasure:
    """Times on all GPUs that a runner has; one that goes away is replaced. The default is timed with each batch."""

    def __init__(self, runner: RPCRunner, gpu: GpuHost, hw: HardwareConfig) -> None:
        """`gpu` says which GPU of a server, `hw` is the config that the servers' devices have."""
        self._runner, self._gpu, self._hw = runner, gpu, hw

    def default(self, task: AutoTask) -> Measurement:
        """See `Measurer.default`."""
        return self._timed(task, [None])[0]

    def measure(self, task: AutoTask, made: Sequence[Made], thorough: bool = False) -> list[Measurement]:
        """See `Measurer.measure`."""
        turns = [self._timed(task, [None, *made]) for _ in range(THOROUGH if thorough else 1)]
        return [_least([_in_parts(results[at + 1], results[0]) for results in turns]) for at in range(len(made))]

    def close(self) -> None:
        """Give the devices back."""
        self._runner.close()

    def _timed(self, task: AutoTask, made: Sequence[Made | None]) -> list[Measurement]:
        builds = [Build(task_module(task, item, self._gpu, self._hw)) for item in made]
        return self._runner.run([], builds)


def task_module(task: AutoTask, made: Made | None, gpu: GpuHost, hw: HardwareConfig) -> CompiledModule:
    """The operators of a task as a network, whose kernel has a schedule; the default one without `made`."""
    assert task.graph is not None, "tasks of a GPU have one"
    schedules: tuple[GpuScheduleChoice, ...] = ()
    if made is not None:
        digest = str(compute_workload(task.kernel).args[-1])
        schedules = (GpuScheduleChoice(digest, steps_text(entity_of_steps(made.genome.sketch, (), made.steps))),)
    return CompiledModule(task.graph, hw, (), (), 0, gpu=replace(gpu, schedules=schedules))


def _in_parts(result: Measurement, default: Measurement) -> Measurement:
    if not result.costs:
        return result
    if not default.costs:
        return failed(default.error, default.message, result.seconds)
    return replace(result, costs=(min(result.costs) / min(default.costs),))


def _least(results: Sequence[Measurement]) -> Measurement:
    """The best of some; a failure if one failed."""
    return next((result for result in results if not result.costs), None) or min(results, key=lambda result: result.cost)
