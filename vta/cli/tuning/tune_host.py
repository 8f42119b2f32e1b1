"""`vta tune --target llvm`: the tiles of the convolutions that a processor runs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from vta.cli.options import integer, positive
from vta.cli.terminal.output import Output, count
from vta.support.on_cores import usable_cores

if TYPE_CHECKING:
    from vta.autotune.host.task import HostTask
    from vta.autotune.measure.measure import MeasureOption
    from vta.autotune.session import TaskReport
    from vta.config.target_list import TargetEntry

__all__ = ["add_host_tuning", "check_here", "tune_host"]


def add_host_tuning(parser: argparse.ArgumentParser) -> None:
    """Add the options of how kernels of the host are timed."""
    group = parser.add_argument_group("kernels of the host (--target llvm, opencl, cuda)")
    group.add_argument(
        "--number", type=integer(1), default=10, metavar="N", help="runs of which the least is a cost (default: %(default)s)"
    )
    group.add_argument("--repeat", type=integer(1), default=1, metavar="N", help="costs of a trial (default: %(default)s)")
    group.add_argument(
        "--min-repeat-ms", type=positive, metavar="MS", help="more runs, until those of a cost take so long together"
    )
    group.add_argument("--check", action="store_true", help="compare the result of each trial with the reference")


def tune_host(options: argparse.Namespace, entry: TargetEntry, output: Output) -> None:
    """Tune the convolutions of a network, or list them."""
    tasks = _tasks(options, entry, output)
    if options.list:
        _list(tasks, output)
        return
    reports, seconds = _tune(tasks, options)
    # What was found for a machine is of no use to another.
    kept = "" if options.tracker else _kept(reports)
    _report(reports, seconds, kept, options, output)


def _tasks(options: argparse.Namespace, entry: TargetEntry, output: Output) -> tuple[HostTask, ...]:
    from vta.autotune.host.task import host_tasks
    from vta.errors import TuningError
    from vta.host.llvm.target import host_target, target_of
    from vta.records.host.target import target_text

    if options.tracker:
        target = target_of(entry)
    else:
        target = host_target()
        check_here(entry, target.triple, target.cpu, options.list)
    with output.progress() as progress:
        progress("importing")
        from vta.cli.network import import_network
        from vta.passes.canonicalize import canonicalize

        tasks = host_tasks(canonicalize(import_network(options)), target, target_text(target, entry))
    if not tasks:
        raise TuningError(f"nothing to tune: {options.model} has no float32 convolution of one group or by channels")
    return _chosen(tasks, options.workload)


def check_here(entry: TargetEntry, triple: str, cpu: str, listing: bool) -> None:
    """Raise `TuningError` if `entry` is another processor than this one: its kernels cannot be timed here, only listed."""
    from vta.errors import TuningError

    kind = (entry.option("mtriple") or triple).partition("-")[0]
    if not listing and (kind != triple.partition("-")[0] or entry.option("mcpu") not in (None, "native", cpu)):
        raise TuningError(
            f"target {entry}: this machine is {cpu} ({triple}), and kernels are timed on the machine that tunes them"
        )


def _chosen(tasks: tuple[HostTask, ...], wanted: str | None) -> tuple[HostTask, ...]:
    from vta.errors import UsageError

    found = tuple(task for number, task in enumerate(tasks) if wanted in (None, str(number), task.name))
    if not found:
        names = "; ".join(f"{number}: {task.name}" for number, task in enumerate(tasks))
        raise UsageError(f"--workload {wanted}: there is no such task; there are {names}")
    return found


def _tune(tasks: tuple[HostTask, ...], options: argparse.Namespace) -> tuple[list[TaskReport[HostTask]], float]:
    from vta.autotune.host.task import HOST_DEVICE, model_tiles
    from vta.autotune.session import TuneOptions, tune
    from vta.cli.tuning.tuning_display import Display
    from vta.records.log import RecordLog, read_log
    from vta.report.host_tuning import host_tuning_table

    path = options.records
    known = [line.record for line in read_log(path) if line.record is not None] if path.exists() else []
    settings = TuneOptions(
        options.tuner, options.trials, options.early_stopping, options.seed, not options.no_transfer, HOST_DEVICE
    )
    measuring = _remotely if options.tracker else _here
    started = time.perf_counter()
    with measuring(options) as option, Display(tasks, host_tuning_table) as display:
        reports = tune(tasks, option, settings, RecordLog(path), known, display.watch, model_tiles)
    return reports, time.perf_counter() - started


@contextmanager
def _here(options: argparse.Namespace) -> Iterator[MeasureOption]:
    """Build in as many processes as there are cores, and run in one."""

    from vta.autotune.host.measure import HostBuilder, HostRunner, RunSettings
    from vta.autotune.measure.measure import MeasureOption

    run = RunSettings(options.number, options.repeat, options.min_repeat_ms or 0.0, options.check)
    builder = HostBuilder(timeout=options.timeout, n_parallel=usable_cores())
    runner = HostRunner(run, options.timeout)
    with closing(builder), closing(runner):
        yield MeasureOption(builder, runner)


@contextmanager
def _remotely(options: argparse.Namespace) -> Iterator[MeasureOption]:
    """Compile here, and run on all machines of the tracker, each as soon as it is free."""

    from vta.autotune.host.remote import HostModuleBuilder
    from vta.autotune.measure.measure import MeasureOption
    from vta.cli.options import DEFAULT_CONFIG
    from vta.cli.tuning.tune_gpu import remote_runner
    from vta.config.hardware import HardwareConfig

    builder = HostModuleBuilder(HardwareConfig.named(options.config or DEFAULT_CONFIG), options.timeout, usable_cores())
    runner = remote_runner(options, 0.0)
    with closing(builder), closing(runner):
        yield MeasureOption(builder, runner)


def _kept(reports: list[TaskReport[HostTask]]) -> str:
    """Keep the best tiles for networks that are run on this machine; returns where."""
    from vta.autotune.host.task import HOST_DEVICE
    from vta.records.host.tiles import keep_tuned
    from vta.records.measurement import Measurement

    made = []
    for report in reports:
        number = report.task.space.find(report.best)
        result = Measurement((report.best_cost,), timestamp=time.time())
        made.append(report.task.record(report.best, -1 if number is None else number, result, HOST_DEVICE))
    return str(keep_tuned(made) or "")


def _list(tasks: tuple[HostTask, ...], output: Output) -> None:
    from vta.support.table import make_table

    rows = [(number, task.label, task.name, task.weight, task.macs, task.space.size) for number, task in enumerate(tasks)]
    output.show(make_table(("number", "layers", "workload", "weight", "MACs", "tiles that fit"), rows))
    output.result({"tasks": [{"workload": task.name, "weight": task.weight, "points": task.space.size} for task in tasks]})


def _report(reports: list[TaskReport[HostTask]], seconds: float, kept: str, options: argparse.Namespace, output: Output) -> None:
    from vta.report.host_tuning import faster_by, host_tuning_table

    output.show(host_tuning_table(reports))
    for report in reports:
        for message, number in report.errors.items():
            output.line(f"{report.task.label}: {count(number, 'trial')} failed: {message}")
    trials = sum(report.trials for report in reports)
    gain = faster_by(reports)
    output.line(f"{gain:.2f} times as fast as untuned (geometric mean of {count(len(reports), 'task')})")
    output.line(f"{count(trials, 'trial')} in {seconds:.1f} s; records in {options.records}")
    if kept:
        output.line(f"the best are kept in {kept} for whatever this machine runs")
    output.result(
        {
            "tasks": [_result(report) for report in reports],
            "faster_by": gain,
            "trials_per_second": trials / seconds if seconds else 0.0,
            "records": str(options.records),
        }
    )


def _result(report: TaskReport[HostTask]) -> dict[str, Any]:
    return {
        "workload": report.task.name,
        "weight": report.task.weight,
        "layers": list(report.task.layers),
        "best_seconds": report.best_cost,
        "default_seconds": report.default_cost,
        "gops": report.gops,
        "trials": report.trials,
        "failed": report.errors,
    }
