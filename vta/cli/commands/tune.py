"""`vta tune`: from a network, or one of its workloads, to a log of tuning records."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vta.cli.commands.compile import add_region
from vta.cli.model_options import add_model
from vta.cli.options import (
    HelpFormatter,
    add_config,
    add_debug,
    add_json,
    add_objective,
    add_preprocessing,
    add_quantization,
    integer,
    log_file,
    objective_of,
    picture_file,
    target_list,
)
from vta.cli.running.remote import add_tracker, security_of
from vta.cli.terminal.output import Output, count
from vta.cli.tuning.cluster import add_cluster, open_cluster
from vta.cli.tuning.tune_auto import add_auto, tune_auto
from vta.cli.tuning.tune_gpu import tune_gpu
from vta.cli.tuning.tune_host import add_host_tuning, tune_host
from vta.cli.tuning.tune_region import add_region_search, compiled_regions, report_regions, tune_regions
from vta.support.dataclass import dataclass
from vta.support.on_cores import usable_cores

if TYPE_CHECKING:
    from vta.autotune.measure.measure import MeasureOption
    from vta.autotune.region.tune import RegionReport
    from vta.autotune.session import TaskReport
    from vta.autotune.task import Task
    from vta.config.hardware import HardwareConfig
    from vta.config.technology import Technology
    from vta.tile.operator import RegionOperators

__all__ = ["register"]

_DESCRIPTION = """\
Search schedules for the operators of a network that the accelerator runs, on a simulator. Every trial is appended to
the log, so a run can be stopped at any time; with the same log it goes on where it stopped. Use the log with
'vta compile --records'.
"""

_EXAMPLES = """\
examples:
  vta tune net.onnx --config sim --trials 256 --records net.log
  vta tune resnet18_v1 --random-weights 0 --config sim --tuner ga --trials 128 --records r18.log --plot r18.png
  vta tune net.onnx --config sim --records net.log --tracker 127.0.0.1:9190 --key cycle
  vta tune net.onnx --config sim --records net.log --cluster tcp://10.0.0.1:8786
  vta tune net.onnx --target "llvm -device=arm_cpu" --trials 64 --records cpu.log
  vta tune net.onnx --target llvm --auto --trials 500 --records cpu.log     all kernels of the host, without templates
  vta tune net.onnx --config sim --records net.log --objective energy     also for 'vta compile --records'
  vta tune net.onnx --target cuda --auto --trials 500 --records gpu.log     those of a GPU
  vta tune net.onnx --config sim --list                      the tasks, with their roofline and the size of their space
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser], summary: str) -> None:
    """Add the command to the command line; `summary` says in a line what it is for."""
    parser = commands.add_parser(
        "tune",
        help=summary,
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=HelpFormatter,
    )
    add_model(parser)
    add_config(parser, required=False)
    parser.add_argument(
        "--target",
        type=target_list,
        metavar="TARGET",
        help="what to tune for: vta (the default), or llvm with options such as -mcpu: the convolutions that this processor "
        "runs; opencl or cuda: the convolutions and dense layers that a GPU runs",
    )
    parser.add_argument("--device", choices=("cycle",), default="cycle", help="where to measure (default: %(default)s)")
    parser.add_argument("--records", type=log_file, metavar="LOG", help="log to append to, and to go on from")
    _add_search(parser)
    add_region_search(parser)
    add_tracker(parser)
    add_cluster(parser, "measure")
    add_host_tuning(parser)
    add_auto(parser)
    add_region(parser)
    add_quantization(parser)
    add_preprocessing(parser, "the calibration samples")
    add_json(parser)
    add_debug(parser, "show each trial with its schedule and its result or error, and the traceback of an error")
    parser.set_defaults(run=_run)


def _add_search(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("search")
    group.add_argument(
        "--tuner",
        default="xgb",
        metavar="NAME",
        help="xgb, xgb_knob, xgb_itervar, xgb_curve, the same with xgb_rank and xgb_rank_binary, ga, random or gridsearch "
        "(default: %(default)s)",
    )
    add_objective(group, "to judge schedules")
    group.add_argument("--trials", type=integer(1), default=256, metavar="N", help="at most N a task (default: %(default)s)")
    group.add_argument(
        "--early-stopping", type=integer(1), metavar="N", help="stop a task after N trials in a row without a better one"
    )
    group.add_argument("--seed", type=integer(0), default=0, help="the same seed gives the same trials (default: %(default)s)")
    group.add_argument("--no-records", action="store_true", help="do not start from the records that come with vta")
    group.add_argument(
        "--keep-padding", action="store_true", help="only schedules that do all products, those with zero padding too"
    )
    group.add_argument("--no-transfer", action="store_true", help="learn each task from nothing")
    group.add_argument("--workload", metavar="ID", help="tune only this task: its number or name in --list")
    group.add_argument("--list", action="store_true", help="print the tasks and end")
    group.add_argument("--plot", type=picture_file, metavar="FILE.png", help="draw the best cost so far against the trials")


def _run(options: argparse.Namespace) -> None:
    from vta.autotune.tuners import TUNERS
    from vta.errors import UsageError

    if options.tuner not in TUNERS:
        raise UsageError(f"--tuner {options.tuner}: there is no such tuner; allowed: {', '.join(TUNERS)}")
    if options.records is None and not options.list:
        raise UsageError("--records missing: name the log to append to")
    if bool(options.tracker) != bool(options.key):
        raise UsageError("--tracker and --key go together")
    if options.cluster and (options.tracker or _is_host(options)):
        raise UsageError("--cluster counts cycles of the accelerator: leave --tracker and --target llvm out")
    if objective_of(options).has_energy and (options.tracker or options.auto or _is_host(options)):
        raise UsageError(
            f"--objective {options.objective}: energy is made of what the cycle engine counts: leave --tracker, --auto and "
            "--target llvm, opencl and cuda out"
        )
    output = Output(options.json)
    if options.auto:
        if options.target is None:
            raise UsageError("--auto searches kernels of the host or of a GPU: name it in --target, such as --target llvm")
        tune_auto(options, options.target, output)
        return
    if _is_host(options):
        tuned = tune_host if options.target.entries[0] is options.target.host else tune_gpu
        tuned(options, options.target.entries[0], output)
        return
    if options.config is None:
        raise UsageError("--config missing: name the hardware config to tune for")
    with output.progress() as progress:
        network = _network(options, progress)
        tasks = _chosen(network.tasks, options.workload)
    if options.list:
        _list(tasks, output)
        return
    reports, seconds = _tune(tasks, options)
    regions = tune_regions(network.regions, network.hw, tasks, options, output)
    _report(reports, regions, seconds, options, output)


def _is_host(options: argparse.Namespace) -> bool:
    """Whether kernels of the host or a GPU are tuned."""
    return options.target is not None and options.target.host_first


@dataclass(frozen=True)
class _Network:
    hw: HardwareConfig
    tasks: tuple[Task, ...]
    regions: tuple[RegionOperators, ...]


def _network(options: argparse.Namespace, progress: Any) -> _Network:
    progress("importing")
    from vta.autotune.task import extract_tasks
    from vta.cli.network import import_network, lower_network
    from vta.config.hardware import load_config
    from vta.errors import TuningError

    hw = load_config(options.config)
    graph, layers = lower_network(import_network(options), hw, options, progress)
    progress("finding tasks")
    tasks = extract_tasks(graph, hw, layers, not options.keep_padding)
    if not tasks:
        raise TuningError(f"nothing to tune: {hw.model} runs no operator of {options.model}")
    return _Network(hw, tasks, compiled_regions(graph, hw, layers))


def _chosen(tasks: tuple[Task, ...], wanted: str | None) -> tuple[Task, ...]:
    from vta.errors import UsageError

    if wanted is None:
        return tasks
    for number, task in enumerate(tasks):
        if wanted in (str(number), task.name):
            return (task,)
    names = "; ".join(f"{number}: {task.name}" for number, task in enumerate(tasks))
    raise UsageError(f"--workload {wanted}: there is no such task; there are {names}")


def _tune(tasks: tuple[Task, ...], options: argparse.Namespace) -> tuple[list[TaskReport[Task]], float]:
    import time

    from vta.autotune.hints import shipped_schedules
    from vta.autotune.session import TuneOptions, tune
    from vta.cli.tuning.tuning_display import Display
    from vta.records.check import believable_records
    from vta.records.log import RecordLog
    from vta.records.objective import check_technologies
    from vta.report.tuning import tuning_table

    path: Path = options.records
    known = believable_records(path) if path.exists() else []
    objective = objective_of(options)
    check_technologies(known, objective, path)
    settings = TuneOptions(
        options.tuner,
        options.trials,
        options.early_stopping,
        options.seed,
        not options.no_transfer,
        _device_of(options),
        objective,
    )
    hints = None if options.no_records else shipped_schedules
    measuring = _remote_measuring if options.tracker else _cluster_measuring if options.cluster else _measuring_here
    started = time.perf_counter()
    with (
        measuring(tasks, options) as option,
        Display(tasks, tuning_table) as display,
        said_trials(getattr(options, "debug", False)),
    ):
        reports = tune(tasks, option, settings, RecordLog(path), known, display.watch, hints)
    return reports, time.perf_counter() - started


@contextmanager
def said_trials(debug: bool) -> Iterator[None]:
    """With --debug, a line on standard error for each trial."""
    if not debug:
        yield
        return
    import logging

    logger, handler = logging.getLogger("vta.autotune.session"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def _device_of(options: argparse.Namespace) -> str:
    """What records say where they were measured."""
    if not options.tracker:
        return str(options.device)
    from vta.errors import TuningError
    from vta.records.measurement import COUNTING, Measured, measured_on
    from vta.rpc.client.connect import query

    servers = [server for server in query(options.tracker, security_of(options)).servers if server.key == options.key]
    for server in servers:
        if measured_on(server.device, None) is Measured.SIMULATION_SECONDS and server.device not in COUNTING:
            raise TuningError(
                f"--key {options.key}: the server {server.address} has device {server.device}, which counts no cycles, and the "
                f"time that it takes says nothing of the hardware; tune on servers with device {' or '.join(COUNTING)}, "
                "or on boards"
            )
    devices = list(dict.fromkeys(server.device for server in servers if server.device))
    return devices[0] if devices else str(options.device)


@contextmanager
def _measuring_here(tasks: tuple[Task, ...], options: argparse.Namespace) -> Iterator[MeasureOption]:
    from vta.autotune.measure.in_process import in_process

    yield in_process(tasks[0].hw, technology=_technology(options))


@contextmanager
def _remote_measuring(tasks: tuple[Task, ...], options: argparse.Namespace) -> Iterator[MeasureOption]:
    """Build in as many processes as there are cores, and run on the tracker's devices."""

    from vta.autotune.measure.local import LocalBuilder
    from vta.autotune.measure.measure import MeasureOption
    from vta.autotune.measure.remote import RPCRunner

    builder = LocalBuilder(timeout=60.0, n_parallel=usable_cores())
    runner = RPCRunner(
        options.tracker, options.key, timeout=options.timeout, priority=options.priority, security=security_of(options)
    )
    with closing(builder), closing(runner):
        yield MeasureOption(builder, runner)


@contextmanager
def _cluster_measuring(tasks: tuple[Task, ...], options: argparse.Namespace) -> Iterator[MeasureOption]:
    from vta.autotune.measure.away import on_cluster

    cluster = open_cluster(options)
    assert cluster is not None, "it is asked for"
    with cluster:
        yield on_cluster(cluster, tasks[0].hw, _technology(options))


def _technology(options: argparse.Namespace) -> Technology | None:
    """Whose figures energies are measured by; None if they do not matter."""
    objective = objective_of(options)
    return objective.technology if objective.has_energy else None


def _list(tasks: tuple[Task, ...], output: Output) -> None:
    from vta.support.table import make_table

    rows = [
        (number, task.label, task.name, task.weight, task.roofline.cycles, task.space.size) for number, task in enumerate(tasks)
    ]
    output.show(make_table(("number", "layers", "workload", "weight", "roofline cycles", "schedules that fit"), rows))
    output.result({"tasks": [{"workload": task.name, "weight": task.weight, "points": task.space.size} for task in tasks]})


def _report(
    reports: list[TaskReport[Task]], regions: list[RegionReport], seconds: float, options: argparse.Namespace, output: Output
) -> None:
    from vta.report.tuning import draw_progress, tuning_table

    output.show(tuning_table(reports))
    for report in reports:
        space = report.task.space
        output.line(
            f"{report.task.label}: {count(space.size, 'schedule')} to try; left out before measuring: {space.rejections()}"
        )
        for message, number in report.errors.items():
            output.line(f"{report.task.label}: {count(number, 'trial')} failed: {message}")
    total = _estimated_cycles(reports)
    trials = sum(report.trials for report in reports)
    output.line(
        f"estimated total: {_estimated(reports)}; {count(trials, 'trial')} in {seconds:.1f} s; records in {options.records}"
    )
    region_results = report_regions(regions, output)
    if options.plot is not None:
        draw_progress(reports, options.plot)
        output.line(f"plot in {options.plot}")
    output.result(
        {
            "tasks": [_task_result(report) for report in reports],
            "estimated_cycles": total,
            "estimated_energy_pj": _estimated_energy(reports),
            "objective": options.objective,
            "regions": region_results,
            "trials_per_second": trials / seconds if seconds else 0.0,
            "records": str(options.records),
        }
    )


def _estimated_cycles(reports: list[TaskReport[Task]]) -> int | None:
    """Of all operators of the network; None if a device did not count them."""
    cycles = [report.best_cycles for report in reports]
    known = [report.task.weight * best for report, best in zip(reports, cycles, strict=True) if best is not None]
    return sum(known) if len(known) == len(reports) else None


def _estimated_energy(reports: list[TaskReport[Task]]) -> float | None:
    """Of all operators of the network; None if energy was not judged."""
    known = [report.task.weight * best for report in reports if (best := report.best_energy_pj) is not None]
    return sum(known) if len(known) == len(reports) else None


def _estimated(reports: list[TaskReport[Task]]) -> str:
    from vta.report.tuning import milliseconds

    total = _estimated_cycles(reports)
    if total is not None:
        energy = _estimated_energy(reports)
        return f"{count(total)} cycles" + (f", {energy * 1e-6:,.1f} uJ" if energy is not None else "")
    return milliseconds(sum(report.task.weight * report.best_cost for report in reports))


def _task_result(report: TaskReport[Task]) -> dict[str, Any]:
    return {
        "workload": report.task.name,
        "weight": report.task.weight,
        "layers": list(report.task.layers),
        "best_cycles": report.best_cycles,
        "default_cycles": report.default_cycles,
        "best_energy_pj": report.best_energy_pj,
        "default_energy_pj": report.default_energy_pj,
        "roofline_cycles": report.task.roofline.cycles,
        "share": report.share,
        "trials": report.trials,
        "rejected": report.task.space.rejected,
        "failed": report.errors,
    }
