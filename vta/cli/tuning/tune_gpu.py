"""`vta tune --target opencl|cuda`: the tiles of the convolutions and dense layers that a GPU runs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from vta.cli.running.remote import security_of
from vta.cli.terminal.output import Output, count
from vta.support.on_cores import usable_cores

if TYPE_CHECKING:
    from vta.autotune.gpu.task import GpuTarget, GpuTask
    from vta.autotune.measure.measure import MeasureOption
    from vta.autotune.measure.remote import RPCRunner
    from vta.autotune.session import TaskReport
    from vta.config.target_list import TargetEntry
    from vta.host.gpu.description import GpuDescription
    from vta.ir.graph import Graph
    from vta.runtime.artifact.gpu_host import GpuHost

__all__ = ["remote_runner", "target_of", "tune_gpu"]

_LEAST_MS = 150.0


def tune_gpu(options: argparse.Namespace, entry: TargetEntry, output: Output) -> None:
    """Tune the convolutions and dense layers of a network for a GPU, or list them."""
    tasks = _tasks(options, entry, output)
    if options.list:
        _list(tasks, output)
        return
    reports, seconds = _tune(tasks, entry, options)
    _report(reports, seconds, options, output)


def _tasks(options: argparse.Namespace, entry: TargetEntry, output: Output) -> tuple[GpuTask, ...]:
    from vta.autotune.gpu.task import gpu_tasks
    from vta.errors import TuningError, UsageError

    target = target_of(options, entry)
    with output.progress() as progress:
        progress("importing")
        tasks = gpu_tasks(_graph(options, progress), target)
    if not tasks:
        raise TuningError(f"nothing to tune: {options.model} has no convolution of one group or by channels, and no dense layer")
    found = tuple(task for number, task in enumerate(tasks) if options.workload in (None, str(number), task.name))
    if not found:
        names = "; ".join(f"{number}: {task.name}" for number, task in enumerate(tasks))
        raise UsageError(f"--workload {options.workload}: there is no such task; there are {names}")
    return found


def _graph(options: argparse.Namespace, progress: Any) -> Graph:
    """The network as a GPU runs it; with --config what VTA's compiler makes of it for that."""
    from vta.cli.network import import_network, lower_network
    from vta.passes.canonicalize import canonicalize

    graph = import_network(options)
    if options.config is None:
        return canonicalize(graph)
    from vta.config.hardware import load_config

    return lower_network(graph, load_config(options.config), options, progress)[0]


def target_of(options: argparse.Namespace, entry: TargetEntry) -> GpuTarget:
    """The device that trials run on: one of this machine, or the tracker's."""
    from vta.autotune.gpu.task import GpuTarget

    if options.list:
        return GpuTarget(entry.kind, entry.option("model") or options.key or "unknown")
    from vta.runtime.artifact.gpu_host import gpu_host_of

    gpu = gpu_host_of(entry)
    if options.tracker:
        found = _remote_gpu(options, gpu)
        return GpuTarget(entry.kind, entry.option("model") or found.name, found.limits)
    from vta.host.gpu.drivers.open import open_gpu

    device = open_gpu(gpu.kind, gpu.ordinal, gpu.platform)
    return GpuTarget(entry.kind, device.name, device.limits, getattr(device, "architecture", ""))


def _remote_gpu(options: argparse.Namespace, gpu: GpuHost) -> GpuDescription:
    """The GPU of the first free server with the key: those of a key are alike."""
    from vta.rpc.client.connect import lease

    with lease(options.tracker, options.key, priority=options.priority, security=security_of(options)) as session:
        return session.describe_gpu(gpu.kind, gpu.ordinal, gpu.platform)


def _tune(tasks: tuple[GpuTask, ...], entry: TargetEntry, options: argparse.Namespace) -> tuple[list[TaskReport[GpuTask]], float]:
    from vta.autotune.gpu.task import model_tiles
    from vta.autotune.session import TuneOptions, tune
    from vta.cli.tuning.tuning_display import Display
    from vta.records.log import RecordLog, read_log
    from vta.report.host_tuning import host_tuning_table

    path = options.records
    known = [line.record for line in read_log(path) if line.record is not None] if path.exists() else []
    settings = TuneOptions(
        options.tuner, options.trials, options.early_stopping, options.seed, not options.no_transfer, entry.kind
    )
    measuring = _remotely if options.tracker else _here
    started = time.perf_counter()
    with measuring(entry, options) as option, Display(tasks, host_tuning_table) as display:
        reports = tune(
            tasks, option, settings, RecordLog(path), known, display.watch, None if options.no_records else model_tiles
        )
    return reports, time.perf_counter() - started


@contextmanager
def _here(entry: TargetEntry, options: argparse.Namespace) -> Iterator[MeasureOption]:
    """Build in as many processes as there are cores, and run in one that has the device."""

    from vta.autotune.gpu.measure import GpuBuilder, GpuRunner, GpuRunSettings
    from vta.autotune.measure.measure import MeasureOption
    from vta.runtime.artifact.gpu_host import gpu_host_of

    gpu = gpu_host_of(entry)
    least = _LEAST_MS if options.min_repeat_ms is None else options.min_repeat_ms
    run = GpuRunSettings(options.number, options.repeat, least, options.check, gpu.ordinal, gpu.platform)
    builder = GpuBuilder(timeout=options.timeout, n_parallel=usable_cores())
    runner = GpuRunner(run, options.timeout)
    with closing(builder), closing(runner):
        yield MeasureOption(builder, runner)


@contextmanager
def _remotely(entry: TargetEntry, options: argparse.Namespace) -> Iterator[MeasureOption]:
    """Run on all devices of the tracker, each as soon as it is free."""

    from vta.autotune.gpu.remote import GpuModuleBuilder
    from vta.autotune.measure.measure import MeasureOption
    from vta.cli.options import DEFAULT_CONFIG
    from vta.config.hardware import HardwareConfig
    from vta.runtime.artifact.gpu_host import gpu_host_of

    hw = HardwareConfig.named(options.config or DEFAULT_CONFIG)
    builder = GpuModuleBuilder(gpu_host_of(entry), hw, options.timeout, usable_cores())
    runner = remote_runner(options, _LEAST_MS)
    with closing(builder), closing(runner):
        yield MeasureOption(builder, runner)


def remote_runner(options: argparse.Namespace, least_ms: float) -> RPCRunner:
    """What times on all devices of the tracker; a cost takes `least_ms` where the options say nothing."""
    from vta.autotune.measure.remote import RPCRunner

    return RPCRunner(
        options.tracker,
        options.key,
        number=options.number,
        repeat=options.repeat,
        timeout=options.timeout,
        min_repeat_ms=least_ms if options.min_repeat_ms is None else options.min_repeat_ms,
        check_correctness=options.check,
        priority=options.priority,
        security=security_of(options),
    )


def _list(tasks: tuple[GpuTask, ...], output: Output) -> None:
    from vta.support.table import make_table

    rows = [(number, task.label, task.name, task.weight, task.macs, task.space.size) for number, task in enumerate(tasks)]
    output.show(make_table(("number", "layers", "workload", "weight", "MACs", "combinations of knobs"), rows))
    output.result({"tasks": [{"name": task.name, "weight": task.weight, "points": task.space.size} for task in tasks]})


def _report(reports: list[TaskReport[GpuTask]], seconds: float, options: argparse.Namespace, output: Output) -> None:
    from vta.report.host_tuning import faster_by, host_tuning_table
    from vta.report.tuning import milliseconds

    output.show(host_tuning_table(reports))
    for report in reports:
        for message, number in report.errors.items():
            output.line(f"{report.task.label}: {count(number, 'trial')} failed: {message}")
    trials = sum(report.trials for report in reports)
    estimated = sum(report.task.weight * report.best_cost for report in reports)
    gain = faster_by(reports)
    output.line(f"{gain:.2f} times as fast as untuned (geometric mean of {count(len(reports), 'task')})")
    output.line(f"estimated total of these operators: {milliseconds(estimated)}")
    output.line(f"{count(trials, 'trial')} in {seconds:.1f} s; records in {options.records}")
    output.result(
        {
            "tasks": [_result(report) for report in reports],
            "estimated_ms": estimated * 1e3,
            "trials": trials,
            "faster_by": gain,
            "records": str(options.records),
        }
    )


def _result(report: TaskReport[GpuTask]) -> dict[str, Any]:
    return {
        "name": report.task.name,
        "weight": report.task.weight,
        "layers": list(report.task.layers),
        "best_ms": report.best_cost * 1e3,
        "default_ms": report.default_cost * 1e3,
        "gflops": report.gops,
        "trials": report.trials,
        "failed": report.errors,
    }
