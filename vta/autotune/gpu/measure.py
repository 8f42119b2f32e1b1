"""Measuring kernels of a GPU in worker processes: one that crashes the device or hangs costs one trial."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.autotune.gpu.task import GpuTarget, GpuTask
from vta.autotune.measure.measure import Candidate
from vta.autotune.measure.processes import ProcessBuilder, ProcessRunner
from vta.autotune.measure.rounding import is_within_rounding
from vta.errors import GpuFaultError
from vta.host.gpu.build import build_gpu_kernel
from vta.host.gpu.drivers.device import GpuCode, GpuDevice, GpuMemory
from vta.host.gpu.drivers.open import shared_gpu
from vta.host.gpu.printing.dialects import DIALECTS
from vta.host.gpu.printing.printer import GpuSource, gpu_source
from vta.host.gpu.splitting import GpuChoice
from vta.host.kernels.group import Group, GroupKernel
from vta.host.loop.lower import lower
from vta.host.loop.nest import Program
from vta.host.loop.schedule import scheduled
from vta.ir.graph import Node
from vta.ir.interpreter import evaluate_node
from vta.records.gpu.workload import node_of
from vta.records.measurement import ErrorKind, Measurement
from vta.records.workload import Workload
from vta.support.dataclass import dataclass

__all__ = ["GpuBuilder", "GpuJob", "GpuRunSettings", "GpuRunner", "PreparedKernel", "gpu_job", "gpu_kernel_source", "seconds_of"]


@dataclass(frozen=True)
class GpuJob:
    """What a worker needs of a candidate."""

    workload: Workload
    target: GpuTarget
    tile: GpuChoice


@dataclass(frozen=True)
class GpuRunSettings:
    """How a kernel is timed."""

    number: int = 20
    """Runs that a cost is the mean of, at least."""
    repeat: int = 3
    """Costs."""
    min_repeat_ms: float = 150.0
    """Milliseconds that the runs of a cost take together, at least."""
    check_correctness: bool = False
    """Whether the result is compared with the reference."""
    ordinal: int = 0
    """Which of the devices."""
    platform: str = ""
    """Of OpenCL's, a part of the name of its platform."""


class GpuBuilder(ProcessBuilder):
    """Prints kernels, and compiles them where the compiler needs no device, in `n_parallel` worker processes."""

    def __init__(self, timeout: float = 10.0, n_parallel: int = 1) -> None:
        super().__init__(gpu_kernel_source, gpu_job, timeout, n_parallel)


class GpuRunner(ProcessRunner):
    """Times kernels in a worker process that has the device, each candidate within `timeout` seconds."""

    def __init__(self, settings: GpuRunSettings, timeout: float = 4.0) -> None:
        super().__init__(_timed, settings, timeout)


def gpu_job(candidate: Candidate) -> GpuJob:
    """What a worker needs of a candidate of a `GpuTask`."""
    task = candidate.task
    assert isinstance(task, GpuTask)
    return GpuJob(task.workload, task.target, candidate.schedule)


def _kernel(job: GpuJob) -> tuple[Node, GroupKernel, Program]:
    node = _node(job.workload)
    kernel = build_gpu_kernel(Group((node,), node), job.target.limits, job.tile)
    return node, kernel, lower(scheduled(kernel.kernel, kernel.steps))


@lru_cache(maxsize=4)
def _node(workload: Workload) -> Node:
    return node_of(workload)


def gpu_kernel_source(job: GpuJob) -> tuple[GpuJob, GpuSource]:
    """The text of a candidate, as a `GpuRunner` takes it; with machine code in the cache, where that can be made here."""
    _, _, program = _kernel(job)
    source = gpu_source(program, DIALECTS[job.target.kind])
    for function in source.functions:
        function.grid.check(job.target.limits)
    if job.target.kind == "cuda" and job.target.architecture:
        from vta.host.gpu.drivers.nvrtc import compile_cuda

        return job, source.with_binary(compile_cuda(source.text, job.target.architecture))
    return job, source


class PreparedKernel:
    """A kernel on random data in a device's memory."""

    def __init__(self, job: GpuJob, source: GpuSource, device: GpuDevice) -> None:
        self._workload = job.workload
        self.node, kernel, program = _kernel(job)
        self.device = device
        self.code: GpuCode = device.compile(source)
        self.data = _random(self.node.inputs[0])
        arrays = [self.data, *kernel.constants]
        self.memory: list[GpuMemory] = []
        for array in arrays:
            held = device.allocate(array.nbytes)
            held.write(np.ascontiguousarray(array))
            self.memory.append(held)
        self.memory += [device.allocate(buffer.nbytes) for buffer in (*program.workspace, program.output)]

    def start(self) -> None:
        """Start one run."""
        self.code.launch(self.memory)

    def result(self) -> NDArray[Any]:
        """What the last run gave."""
        made = np.empty(self.node.shape, self.node.dtype)
        self.memory[-1].read(made)
        return made

    def is_right(self) -> bool:
        """Whether the result is that of the reference, within rounding."""
        return is_within_rounding(self.result(), _reference(self._workload))


@lru_cache(maxsize=2)
def _reference(workload: Workload) -> NDArray[Any]:
    node = _node(workload)
    return evaluate_node(node, [_random(node.inputs[0]), np.asarray(node.inputs[1].value)])


def _random(node: Node) -> NDArray[Any]:
    rng = np.random.default_rng(1)
    values: Any = rng.standard_normal(node.shape) if node.dtype.startswith("float") else rng.integers(-128, 128, node.shape)
    return np.asarray(values.astype(node.dtype))


def _timed(given: tuple[tuple[GpuJob, GpuSource], GpuRunSettings]) -> Measurement:
    """In a worker: the costs of a kernel, or that its result is wrong."""
    (job, source), settings = given
    device = shared_gpu(job.target.kind, settings.ordinal, settings.platform)
    try:
        return _measured(job, source, settings, device)
    except GpuFaultError as error:
        # The device does nothing more in this process: another one takes its place.
        raise SystemExit(str(error)) from None


def _measured(job: GpuJob, source: GpuSource, settings: GpuRunSettings, device: GpuDevice) -> Measurement:
    kernel = PreparedKernel(job, source, device)
    kernel.start()
    device.finish()
    if settings.check_correctness and not kernel.is_right():
        return Measurement(error=ErrorKind.WRONG_ANSWER, message="the result differs from that of the reference")
    return Measurement(seconds_of(kernel, settings))


def seconds_of(kernel: PreparedKernel, settings: GpuRunSettings) -> tuple[float, ...]:
    """The mean seconds of runs, a number of times."""
    once = kernel.device.seconds_of(kernel.start, 3)
    number = max(settings.number, int(settings.min_repeat_ms / 1e3 / max(once, 1e-9)))
    return tuple(kernel.device.seconds_of(kernel.start, number) for _ in range(settings.repeat))
