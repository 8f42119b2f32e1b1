"""Makes the logs in the folder `tuning`: the best schedules found for well-known networks on the shipped configs.

    python benchmarks/shipped_records.py [--configs NAME...] [--networks NAME...] [--models DIR] [--trials N]

Schedules are measured on the cycle engine. What a log has already is measured again, so that its cycles are those of this
compiler, and searched around, also what it has for other targets: running this again can only make a log better.

For each workload there is the best schedule that does all products and moves no more bytes than the compiler's own; beside it the
best of all, if that is faster. Compiling takes time by the instruction, so both are charged for having more of them than
the compiler's own.
In the end whole networks are timed with the records and without: what makes one slower is left out.
DIR holds networks of MLPerf Tiny (see docs/models.md); without it, what the logs have for them stays as it is.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vta.autotune.measure.in_process import in_process
from vta.autotune.measure.measure import Build, Candidate, MeasureOption, measure
from vta.autotune.session import TaskReport, TuneOptions, tune
from vta.autotune.task import Task, extract_tasks, merged_tasks
from vta.compiler.compile import compile_graph, quantize_model, region_operators
from vta.config.hardware import HardwareConfig
from vta.devices.engine.cycle_engine import CycleEngine
from vta.devices.static_counters import count_instructions
from vta.errors import TuningError, VTAError
from vta.frontend import load_model
from vta.ir.graph import Graph
from vta.isa import decode, encode
from vta.passes.canonicalize import canonicalize
from vta.records.knobs import entity_of, schedule_of
from vta.records.log import Record, line_start, read_log, record_of, target_of, to_line
from vta.records.measurement import ErrorKind, Measurement
from vta.records.workload import workload_of
from vta.schedule.choose import choose_schedule
from vta.schedule.resources import broken_limits
from vta.schedule.schedule import Schedule
from vta.schedule.source import PerOperator
from vta.tile.gemm_operator import GemmOperator

CONFIGS = ("sim", "pynq", "ultra96", "sim_1x8", "sim_1x32", "sim_4x8")
"""One of each kind of target: others of the same geometry take the records of the one most like them."""

NETWORKS = (
    *("resnet18_v1", "resnet50_v1", "resnet18_v2", "resnet50_v2", "mobilenet1.0", "squeezenet1.1", "vgg16", "inceptionv3"),
    *("resnet8", "pretrainedResnet_quant.tflite", "kws_ref_model.tflite", "vww_96_int8.tflite"),
)
"""ResNet-34 has the workloads of ResNet-18."""

_HEAD = "# Best schedules found on the cycle engine; made by benchmarks/shipped_records.py.\n"
_SLACK = 8
_FAR = 4
"""Schedules with this many times the instructions of the default are not tried."""
_CHARGE = 0.1
"""What twice the instructions of the default cost, as a part of the cycles."""
_FASTEST_CHARGE = 0.02
"""The same, where whoever compiles asks for the fewest cycles."""
_WORTH = 0.998
"""A schedule that breaks promises must take fewer than this many times the cycles of one that keeps them."""

Chooser = Callable[[GemmOperator, HardwareConfig], Schedule]


class LeanMeasuring:
    """Builder and runner that charge a schedule for what it has or moves beyond the compiler's own.

    Without `bytes_count`, only instructions are charged for.
    """

    def __init__(self, task: Task, charge: float, bytes_count: bool) -> None:
        self._option = in_process(task.hw)
        self._charge = charge
        self._bytes_count = bytes_count
        (build,) = self._option.builder.build([Candidate(task, choose_schedule(task.operator, task.hw))])
        if build.product is None:
            raise TuningError(build.message)
        self._instructions = _SLACK + len(build.product)
        self._bytes = bytes_moved(build.product, task.hw)
        self._hw = task.hw

    def build(self, candidates: Sequence[Candidate]) -> list[Build]:
        """See `Builder.build`; streams of far more instructions than the default's are not even made."""
        return [self._build(candidate) for candidate in candidates]

    def run(self, candidates: Sequence[Candidate], builds: Sequence[Build]) -> list[Measurement]:
        """See `Runner.run`."""
        results = self._option.runner.run(candidates, builds)
        return [self._charged(build, result) for build, result in zip(builds, results, strict=True)]

    def _build(self, candidate: Candidate) -> Build:
        if product_instructions(candidate) > _FAR * self._instructions:
            return Build(error=ErrorKind.INSTANTIATION, message="far more instructions than the default schedule")
        return self._option.builder.build([candidate])[0]

    def _charged(self, build: Build, result: Measurement) -> Measurement:
        if build.product is None or not result.costs:
            return result
        factor = 1 + self._charge * max(0.0, len(build.product) / self._instructions - 1)
        if self._bytes_count:
            excess = bytes_moved(build.product, self._hw) / self._bytes - 1
            factor += 1 + excess if excess > 0 else 0.0
        return replace(result, costs=tuple(cost * factor for cost in result.costs))


def bytes_moved(stream: NDArray[np.uint8], hw: HardwareConfig) -> int:
    """Bytes that a stream loads and stores, without its instructions."""
    return sum(count_instructions(decode(stream, hw), hw).dram_bytes.values())


def product_instructions(candidate: Candidate) -> int:
    """How many instructions of products a schedule has at least."""
    operator, schedule = candidate.task.space.operator, candidate.schedule
    out, term = operator.output, operator.main_term
    blocks = 1 if term.diagonal else term.source.blocks
    sizes = (
        *((out.blocks, schedule.tile_co), (out.height, schedule.tile_h), (out.width, schedule.tile_w)),
        *((blocks, schedule.tile_ci), (term.kernel[0], schedule.tile_kh), (term.kernel[1], schedule.tile_kw)),
    )
    return out.batch * prod(-(-extent // size) for extent, size in sizes)


def lean(task: Task, charge: float, bytes_count: bool) -> MeasureOption:
    """Measure with charges."""
    measuring = LeanMeasuring(task, charge, bytes_count)
    return MeasureOption(measuring, measuring)


def tasks_on(hw: HardwareConfig, graphs: Iterable[Graph], skip_padding: bool) -> tuple[Task, ...]:
    """The tasks of all networks."""
    return merged_tasks(task for graph in graphs for task in extract_tasks(quantize_model(graph, hw), hw, None, skip_padding))


def known_records(path: Path) -> dict[str, list[Record]]:
    """The records of a log by how their lines start."""
    found: dict[str, list[Record]] = {}
    for line in read_log(path) if path.exists() else []:
        if line.record is not None:
            found.setdefault(line_start(line.record.target, line.record.workload), []).append(line.record)
    return found


def schedules(records: Iterable[Record], task: Task) -> list[Schedule]:
    """What records say of a task, where all its variants can take it."""
    found = [schedule_of(record.entity, task.operator) for record in records]
    return [
        schedule
        for schedule in dict.fromkeys(found)
        if not any(broken_limits(operator.laid_out(schedule), schedule, task.hw) for operator in task.variants)
    ]


def record(task: Task, schedule: Schedule, cycles: int) -> Record:
    """A record without times, which would differ from run to run."""
    cost = cycles / task.hw.platform.clock_hz
    number = task.space.find(schedule)
    index = -1 if number is None else number
    return record_of(task.workload, task.hw, entity_of(schedule, task.operator), index, Measurement((cost,), cycles), "cycle")


def best_records(task: Task, known: list[Record], trials: int, tuner: str, seed: int) -> list[Record]:
    """The best record of a task that keeps all promises, and the best of all, if it is worth it."""
    hints = schedules(known, task)
    options = TuneOptions(tuner, trials, seed=seed, transfer=False)
    plain = [schedule for schedule in hints if not schedule.skip_padding]
    (report,) = tune([replace(task, skip_padding=False)], lean(task, _CHARGE, True), options, hints=lambda _: plain)
    assert report.best is not None
    near = [report.best, replace(report.best, skip_padding=True)]
    (fastest,) = tune([task], lean(task, _FASTEST_CHARGE, False), options, hints=lambda _: [*hints, *near])
    # With nothing to keep the promises, the compiler's own schedule is the one to take.
    if not good_everywhere(task, report.best):
        return []
    found = [of_report(report)]
    worth = (fastest.best_cycles or 0) < _WORTH * (report.best_cycles or 0)
    if worth and fastest.best is not None and good_everywhere(task, fastest.best):
        found.append(of_report(fastest))
    return found


def good_everywhere(task: Task, schedule: Schedule) -> bool:
    """Whether a schedule is as fast as the compiler's own for every operator of the workload, whatever follows the products."""
    option = in_process(task.hw)
    for variant in task.variants:
        alone = replace(task, operator=variant)
        candidates = [Candidate(alone, choose_schedule(variant, task.hw)), Candidate(alone, schedule)]
        default, ours = measure(candidates, option)
        if ours.cost > default.cost / _WORTH:
            return False
    return True


def of_report(report: TaskReport[Task]) -> Record:
    """The best record of a report."""
    assert report.best is not None
    assert report.best_cycles is not None
    return record(report.task, report.best, report.best_cycles)


def chooser_of(known: dict[str, list[Record]]) -> Chooser:
    """Chooses as a default compilation does with these records."""

    def choose(operator: GemmOperator, hw: HardwareConfig) -> Schedule:
        for entry in known.get(line_start(target_of(hw.model), workload_of(operator, hw)), []):
            schedule = schedule_of(entry.entity, operator)
            if not schedule.skip_padding and not broken_limits(operator.laid_out(schedule), schedule, hw):
                return schedule
        return choose_schedule(operator, hw)

    return choose


def network_cycles(graph: Graph, hw: HardwareConfig, choose: Chooser) -> int:
    """Cycles of all regions of an integer graph."""
    regions = compile_graph(graph, hw, schedules=PerOperator(choose)).regions
    return sum(CycleEngine(hw).run(encode(region.program.instructions, hw)).cycles or 0 for region in regions)


def drop_harmful(graph: Graph, hw: HardwareConfig, known: dict[str, list[Record]]) -> list[str]:
    """Leave records out of `known` until the network is no slower with them than without; returns those of which workloads."""
    integer = quantize_model(graph, hw)
    default, cycles = network_cycles(integer, hw, choose_schedule), network_cycles(integer, hw, chooser_of(known))
    dropped: list[str] = []
    if cycles <= default:
        return dropped
    target = target_of(hw.model)
    names = dict.fromkeys(line_start(target, workload_of(operator, hw)) for operator in tile_operators(integer, hw))
    for key in names:
        if cycles <= default or not known.get(key):
            continue
        without = network_cycles(integer, hw, chooser_of({**known, key: []}))
        if without < cycles:
            known[key], cycles = [], without
            dropped.append(key)
    return dropped


def tile_operators(graph: Graph, hw: HardwareConfig) -> list[GemmOperator]:
    """What a network runs by schedules."""
    return [operator for _, operator in region_operators(graph, hw) if isinstance(operator, GemmOperator)]


def write(path: Path, known: dict[str, list[Record]]) -> None:
    """Write a log, whole or not at all."""
    lines = sorted({to_line(entry) for records in known.values() for entry in records})
    beside = path.with_name(path.name + ".new")
    beside.write_text(_HEAD + "".join(lines), encoding="utf-8")
    beside.replace(path)


def main() -> None:
    """Tune, config by config."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configs", nargs="+", default=CONFIGS, metavar="NAME")
    parser.add_argument("--networks", nargs="+", default=NETWORKS, metavar="NAME")
    parser.add_argument("--models", type=Path, metavar="DIR", help="where network files are")
    parser.add_argument("--tuner", default="xgb", help="(default: %(default)s)")
    parser.add_argument(
        "--trials", type=int, default=128, help="a workload; 0 measures what is there again (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no workload after this long")
    parser.add_argument("--missing", action="store_true", help="leave out workloads that a log has already")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).resolve().parents[1] / "tuning", metavar="DIR")
    options = parser.parse_args()
    started = time.monotonic()
    names = [name for name in options.networks if options.models is not None or not name.endswith(".tflite")]
    paths = [options.models / name if name.endswith(".tflite") else name for name in names]
    graphs = [canonicalize(load_model(path)) for path in paths]
    options.output.mkdir(exist_ok=True)
    for hw in map(HardwareConfig.named, options.configs):
        path = options.output / f"{hw.bitstream}.log"
        known = known_records(path)
        tasks = tasks_on(hw, graphs, True)
        for task in tasks:
            key = line_start(target_of(hw.model), task.workload)
            if (options.missing and key in known) or time.monotonic() - started > options.seconds:
                continue
            try:
                others = [record for records in known.values() for record in records if record.workload == task.workload]
                known[key] = best_records(task, others, options.trials, options.tuner, options.seed)
            except VTAError as error:
                print(f"{hw.model} {task.name}: {error}", file=sys.stderr)
                continue
            write(path, known)
            if not known[key]:
                continue
            first, last = known[key][0], known[key][-1]
            share = task.roofline.cycles / (last.cycles or 1)
            print(f"{hw.model:32} {task.name:90} {first.cycles:>10,} {last.cycles:>10,} {share:6.1%}", flush=True)
        for name, graph in zip(names, graphs, strict=True):
            dropped = drop_harmful(graph, hw, known)
            if dropped:
                write(path, known)
                print(f"{hw.model:32} {name}: slower with {len(dropped)} of its records, which are left out", flush=True)


if __name__ == "__main__":
    main()
