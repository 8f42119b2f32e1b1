"""Measuring kernels in worker processes on this machine: one that crashes or hangs costs one trial."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.autotune.host.task import HostTask, data_layout
from vta.autotune.measure.measure import Candidate
from vta.autotune.measure.processes import ProcessBuilder, ProcessRunner
from vta.autotune.measure.rounding import is_within_rounding
from vta.host.kernels.group import Group, GroupKernel, build_kernel
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import without_blocks
from vta.host.llvm.jit import CompiledProgram, PreparedCall, compile_object
from vta.host.loop.lower import lower
from vta.host.loop.nest import Program
from vta.host.loop.schedule import scheduled
from vta.host.processors import CpuTarget
from vta.ir.graph import Node
from vta.ir.interpreter import evaluate_node
from vta.records.host.workload import node_of
from vta.records.measurement import ErrorKind, Measurement
from vta.records.workload import Workload
from vta.support.dataclass import dataclass

__all__ = ["HostBuilder", "HostJob", "HostRunner", "RunSettings", "build_kernel_object", "host_job", "prepared_call"]


@dataclass(frozen=True)
class HostJob:
    """What a worker needs of a candidate."""

    workload: Workload
    target: CpuTarget
    tile: Tile


BuildFunction = Callable[[HostJob], tuple[HostJob, bytes]]


@dataclass(frozen=True)
class RunSettings:
    """How a kernel is timed."""

    number: int = 10
    """Runs that a cost is the least of, at least: what else the machine does only adds to it."""
    repeat: int = 1
    """Costs."""
    min_repeat_ms: float = 0.0
    """Milliseconds that the runs of a cost take together, at least."""
    check_correctness: bool = False
    """Whether the result is compared with the reference."""


class HostBuilder(ProcessBuilder):
    """Compiles in `n_parallel` worker processes, each candidate within `timeout` seconds."""

    def __init__(self, timeout: float = 10.0, n_parallel: int = 1, build_func: BuildFunction | None = None) -> None:
        super().__init__(build_func or build_kernel_object, host_job, timeout, n_parallel)


class HostRunner(ProcessRunner):
    """Times kernels in a worker process, each candidate within `timeout` seconds."""

    def __init__(self, settings: RunSettings, timeout: float = 10.0) -> None:
        super().__init__(_timed, settings, timeout)


def host_job(candidate: Candidate) -> HostJob:
    """What a worker needs of a candidate of a `HostTask`."""
    task = candidate.task
    assert isinstance(task, HostTask)
    return HostJob(task.workload, task.target, candidate.schedule)


def _kernel(job: HostJob) -> tuple[Node, GroupKernel, Program]:
    """The operator, its kernel as in the middle of a network, and that as loops."""
    node = node_of(job.workload)
    layout = data_layout(node, job.target)
    lanes = job.target.lanes(4)
    layouts = {node.inputs[0]: layout, node: replace(layout, block=lanes)}
    kernel = build_kernel(Group((node,), node), layouts, job.target, tile=job.tile)
    return node, kernel, lower(scheduled(kernel.kernel, kernel.steps))


def build_kernel_object(job: HostJob) -> tuple[HostJob, bytes]:
    """The object file of a candidate, as a `HostRunner` takes it."""
    _, _, program = _kernel(job)
    return job, compile_object(program, job.target)


def prepared_call(job: HostJob, code: bytes | None = None) -> PreparedCall:
    """A kernel on random data, ready to run in this process; it is compiled if its object file is not given."""
    node, kernel, program = _kernel(job)
    compiled = CompiledProgram(program, code or compile_object(program, job.target))
    return compiled.prepared([_random(program, node), *kernel.constants])


def _random(program: Program, node: Node) -> NDArray[Any]:
    return np.random.default_rng(0).standard_normal(program.inputs[0].shape).astype(node.dtype)


def _timed(given: tuple[tuple[HostJob, bytes], RunSettings]) -> Measurement:
    """In a worker: the costs of a kernel, or that its result is wrong."""
    (job, code), settings = given
    call = prepared_call(job, code)
    if settings.check_correctness and not _is_right(job, call):
        return Measurement(error=ErrorKind.WRONG_ANSWER, message="the result differs from that of the reference")
    call.run()
    once = _seconds(call, 1)
    number = max(settings.number, int(settings.min_repeat_ms / 1e3 / max(once, 1e-9)))
    return Measurement(tuple(_seconds(call, number) for _ in range(settings.repeat)))


def _seconds(call: PreparedCall, number: int) -> float:
    """The least of some runs, of the thread's own time."""
    least = math.inf
    for _ in range(number):
        start = time.thread_time()
        call.run()
        least = min(least, time.thread_time() - start)
    return least


def _is_right(job: HostJob, call: PreparedCall) -> bool:
    """Whether a kernel's result is that of the reference, within rounding."""
    node, _, program = _kernel(job)
    data, weight = _random(program, node), node.inputs[1].value
    assert weight is not None
    plain = without_blocks(data, node.inputs[0].shape) if data_layout(node, job.target).block else data
    want = evaluate_node(node, [plain, weight])
    return is_within_rounding(without_blocks(call.run(), node.shape), want)
