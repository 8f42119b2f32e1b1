"""`vta tune --auto`: schedules without templates for all kernels that a network has on the host."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from vta.cli.options import positive
from vta.cli.running.remote import security_of
from vta.cli.terminal.output import Output, count
from vta.cli.tuning.tune_auto_gpu import Place, on_gpu
from vta.support.on_cores import usable_cores

if TYPE_CHECKING:
    from vta.autotune.auto.cpu.machine import CpuMachine
    from vta.autotune.auto.measure import Measurer
    from vta.autotune.auto.network import InNetwork
    from vta.autotune.auto.session import AutoReport
    from vta.autotune.auto.task import AutoTask
    from vta.config.target_list import TargetEntry, TargetList
    from vta.ir.graph import Graph

__all__ = ["add_auto", "tune_auto"]

_MOST_CONFIRMING = 60.0
"""Seconds after which no other schedule is left out of the network, to see whether it is faster."""


def add_auto(parser: argparse.ArgumentParser) -> None:
    """Add the options of the search without templates."""
    group = parser.add_argument_group("search without templates (--target with llvm, opencl or cuda)")
    group.add_argument(
        "--auto",
        action="store_true",
        help="search schedules of all kernels of the host or GPU from what they compute; --trials counts all tasks together",
    )
    group.add_argument("--seconds", type=positive, metavar="S", help="with --auto: begin nothing new after so many seconds")


def tune_auto(options: argparse.Namespace, targets: TargetList, output: Output) -> None:
    """Search the kernels of a network, or list them: those of its GPU if it has one, else those of the host."""
    entry = targets.gpu or targets.host
    if entry is None:
        from vta.errors import UsageError

        raise UsageError(f"--auto: no host among the targets {targets}; name llvm, opencl or cuda")
    started = time.perf_counter()
    with (on_gpu if entry is targets.gpu else _on_processor)(options, entry) as place:
        tasks, graph = _tasks(options, targets, place, output)
        if options.list:
            _list(tasks, output)
            return
        reports = _tune(tasks, place.measurer, entry.kind, options)
        whole = None if graph is None else _confirmed(reports, place, graph, entry.kind, options)
    _report(reports, time.perf_counter() - started, options, output, whole)


@contextmanager
def _on_processor(options: argparse.Namespace, entry: TargetEntry) -> Iterator[Place]:
    """On this machine, or on a server of a tracker, which may have another kind of processor."""
    from vta.autotune.auto.cpu.engine import CpuEngine
    from vta.autotune.auto.cpu.limits import limits_here
    from vta.autotune.auto.cpu.machine import CpuMachine
    from vta.autotune.auto.measure import LocalMeasure, Timing
    from vta.autotune.auto.network_timers import CpuNetworkTimer
    from vta.cli.tuning.tune_host import check_here
    from vta.host.llvm.target import host_target, target_of
    from vta.records.host.target import target_text

    def place(machine: CpuMachine, measurer: Measurer) -> Place:
        from vta.autotune.auto.cpu.tasks import cpu_tasks
        from vta.records.host.tiles import recorded_tiles

        network = None if options.tracker else CpuNetworkTimer
        return Place(measurer, lambda graph, calls, kept: cpu_tasks(graph, calls, kept, machine, recorded_tiles()), network)

    timing = Timing(options.number, options.min_repeat_ms or Timing().min_repeat_ms)
    cores = usable_cores()
    if options.tracker:
        from vta.autotune.auto.cpu.remote import RemoteMeasure

        target, security = target_of(entry), security_of(options)
        remote = RemoteMeasure(options.tracker, options.key, target, timing, options.timeout, cores, options.priority, security)
        with closing(remote):
            yield place(CpuMachine(target, remote.limits(), target_text(target, entry)), remote)
        return
    target = host_target()
    check_here(entry, target.triple, target.cpu, options.list)
    with closing(LocalMeasure(CpuEngine(target), timing, options.timeout, cores)) as local:
        yield place(CpuMachine(target, limits_here(target), target_text(target, entry)), local)


def _tasks(
    options: argparse.Namespace, targets: TargetList, place: Place, output: Output
) -> tuple[tuple[AutoTask, ...], Graph | None]:
    """The tasks that are wanted, and the network, if all of it is theirs."""
    from vta.cli.network import compile_for_targets
    from vta.errors import TuningError
    from vta.runtime.host_part.joined_kernels import host_calls
    from vta.runtime.host_part.plan import make_plan

    with output.progress() as progress:
        module = compile_for_targets(options, targets, progress)
        progress("finding tasks")
        calls, kept = host_calls(make_plan(module.graph, module.regions), module.graph)
        tasks = place.tasks(module.graph, calls, list(kept))
    if not tasks:
        raise TuningError(f"nothing to tune: {options.model} leaves no operator with a kernel to the host")
    is_whole = options.workload is None and not module.regions
    return _chosen(tasks, options.workload), module.graph if is_whole else None


def _chosen(tasks: tuple[AutoTask, ...], wanted: str | None) -> tuple[AutoTask, ...]:
    from vta.errors import UsageError

    found = tuple(task for number, task in enumerate(tasks) if wanted in (None, str(number), task.name))
    if not found:
        names = "; ".join(f"{number}: {task.name}" for number, task in enumerate(tasks))
        raise UsageError(f"--workload {wanted}: there is no such task; there are {names}")
    return found


def _list(tasks: tuple[AutoTask, ...], output: Output) -> None:
    for number, task in enumerate(tasks):
        output.line(f"task {number}: {task.name}, {task.label}, weight {task.weight}, {count(task.space.size)} schedules")
        output.line(task.compute)
    output.result({"tasks": list(map(_entry, tasks))})


def _entry(task: AutoTask) -> dict[str, Any]:
    return {
        "name": task.name,
        "weight": task.weight,
        "points": task.space.size,
        "layers": list(task.layers),
        "compute": task.compute,
    }


def _tune(tasks: tuple[AutoTask, ...], measurer: Measurer, kind: str, options: argparse.Namespace) -> list[AutoReport]:
    from vta.autotune.auto.session import AutoOptions, auto_tune
    from vta.cli.tuning.auto_display import AutoDisplay
    from vta.records.log import RecordLog, read_log

    path = options.records
    known = [line.record for line in read_log(path) if line.record is not None] if path.exists() else []
    settings = AutoOptions(options.trials, options.seed, device=kind, seconds=options.seconds or math.inf)
    with AutoDisplay() as display:
        return auto_tune(tasks, measurer, settings, RecordLog(path), known, display.watch)


def _confirmed(reports: list[AutoReport], place: Place, graph: Graph, kind: str, options: argparse.Namespace) -> InNetwork | None:
    """What the schedules are worth in the network; those that it is faster without are the best of their kernels no more."""
    from vta.autotune.auto.network import confirm_in_network
    from vta.records.log import RecordLog

    if place.network is None:
        return None
    return confirm_in_network(reports, place.network(graph), RecordLog(options.records), kind, _MOST_CONFIRMING)


def _report(
    reports: list[AutoReport], seconds: float, options: argparse.Namespace, output: Output, whole: InNetwork | None
) -> None:
    from vta.autotune.auto.session import estimated_seconds
    from vta.cli.tuning.auto_display import total_line
    from vta.report.auto_tuning import auto_table, mean_gain

    output.show(auto_table(reports))
    for report in reports:
        for message, number in report.errors.items():
            output.line(f"{report.task.label}: {count(number, 'trial')} failed: {message}")
    default = sum(report.task.weight * report.default_seconds for report in reports)
    output.line(f"{total_line(reports)}; {default * 1e3:.3f} ms by default schedules")
    gain = mean_gain(reports)
    output.line(f"{gain:.2f} times as fast as the default schedules (geometric mean of {count(len(reports), 'task')})")
    if whole is not None:
        dropped = f"; faster without those of {', '.join(whole.dropped)}" if whole.dropped else ""
        output.line(
            f"the whole network: {whole.seconds * 1e3:.3f} ms, {whole.default_seconds * 1e3:.3f} ms by default schedules{dropped}"
        )
    output.line(f"{seconds:.1f} s; records in {options.records}")
    output.result(
        {
            "tasks": [_result(report) for report in reports],
            "estimated_ms": estimated_seconds(reports) * 1e3,
            "default_ms": default * 1e3,
            "faster_by": gain,
            "trials": sum(report.trials for report in reports),
            "seconds": seconds,
            "records": str(options.records),
            **({} if whole is None else {"network": _network(whole)}),
        }
    )


def _network(whole: InNetwork) -> dict[str, Any]:
    return {"ms": whole.seconds * 1e3, "default_ms": whole.default_seconds * 1e3, "dropped": list(whole.dropped)}


def _result(report: AutoReport) -> dict[str, Any]:
    return {
        "name": report.task.name,
        "weight": report.task.weight,
        "layers": list(report.task.layers),
        "best_ms": report.best_seconds * 1e3,
        "default_ms": report.default_seconds * 1e3,
        "gflops": report.gflops,
        "trials": report.trials,
        "failed": report.errors,
    }
