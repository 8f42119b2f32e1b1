"""Sweeps: points an hour, each for itself and with what points share; and searches against the whole list.

Times are CPU seconds of one process. With ``--search SPEC``, or ``--search-keywords``, all designs of a sweep are run once, and
then searched by their results, with several seeds: how much of the whole list's hypervolume is found after how many evaluations.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vta.autotune.measure.in_process import in_process
from vta.autotune.session import TuneOptions, tune
from vta.autotune.task import extract_tasks
from vta.compiler.compile import compile_graph, graph_regions, lower_model
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.frontend import load_model
from vta.quantization import QuantizeConfig
from vta.records.history import History
from vta.records.log import RecordLog, read_log
from vta.schedule.roofline import roofline_of_region
from vta.schedule.source import DEFAULT_SCHEDULES
from vta.sweep.evaluate import Job, evaluate
from vta.sweep.neighbors import best_lines, led_by
from vta.sweep.points import Point, expand, points_of
from vta.sweep.ranking import entry_of
from vta.sweep.search.hypervolume import hypervolume_of
from vta.sweep.search.session import run_search
from vta.sweep.spec import Net, Spec, load_spec
from vta.sweep.table import Row, Status
from vta.sweep.workplace import Done, in_order

NETS = ("ad01_int8.tflite", "kws_ref_model.tflite", "pretrainedResnet_quant.tflite", "vww_96_int8.tflite")
CONFIGS = {"LOG_BLOCK": (4, 5), "LOG_INP_BUFF_SIZE": (14, 15, 16), "LOG_ACC_BUFF_SIZE": (16, 17)}
HINTED = {"LOG_INP_BUFF_SIZE": (13, 14, 15), "LOG_WGT_BUFF_SIZE": (16, 17, 18), "LOG_ACC_BUFF_SIZE": (15, 16)}
SEARCHED: dict[str, tuple[Any, ...]] = {
    "LOG_BLOCK": (3, 4, 5),
    "LOG_INP_BUFF_SIZE": (11, 12, 13, 14, 15, 16),
    "LOG_WGT_BUFF_SIZE": (13, 14, 15, 16, 17, 18),
    "LOG_ACC_BUFF_SIZE": (12, 13, 14, 15, 16, 17),
    "LOG_UOP_BUFF_SIZE": (14, 15),
}
"""With three buses, 3,516 designs."""
CORES = 2
SHARES = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1)
ENOUGH = 0.99


def apart(job: Job) -> int:
    """Cycles of a point that shares nothing: read, lowered, partitioned for its tasks, its rooflines and its programs."""
    design, work = job.point.design, job.point.work
    assert isinstance(work, Net)
    config = QuantizeConfig(requantize=work.requantize)
    graph, layers = lower_model(load_model(work.model), design.hw, quantize=config)
    tasks = extract_tasks(graph, design.hw, layers)
    schedules: Any = DEFAULT_SCHEDULES
    if job.trials:
        job.records.unlink(missing_ok=True)
        options = TuneOptions(job.tuner, job.trials, seed=job.seed)
        tune(tasks, in_process(design.hw, design.timing), options, RecordLog(job.records))
        schedules = History([line.record for line in read_log(job.records) if line.record], str(job.records), None)
    module = compile_graph(graph, design.hw, layers=layers, schedules=schedules)
    device = CycleDevice(design.hw, design.timing, timing_only=True)
    cycles = sum(device.run(region.program.encoded()).cycles or 0 for region in module.regions)
    device.close()
    for region in graph_regions(graph, design.hw, layers):
        roofline_of_region(region, design.hw, design.timing.bus_bytes)
    return cycles


def tuned(points: Sequence[Point], trials: int, hints: int, folder: Path) -> tuple[int, float]:
    """The cycles of all points together, each tuned from the schedules of up to `hints` points like it, and the CPU seconds."""
    led = led_by(points, hints)
    log = "{}.log".format
    jobs = in_order([Job(point, "ga", trials, 0, 3600.0, folder / log(point.number)) for point in points])
    started = time.process_time()
    cycles = sum(evaluate(job).cycles for job in jobs if job.point.number not in led)
    for job in jobs:
        if leaders := led.get(job.point.number):
            cycles += evaluate(replace(job, hints=best_lines([folder / log(number) for number in leaders]))).cycles
    return cycles, time.process_time() - started


def hinted(models: Path, every: Sequence[int]) -> list[dict[str, Any]]:
    """What schedules of points like it bring, for some numbers of trials."""
    nets = tuple(Net(str(models / name)) for name in NETS)
    points = points_of(expand(Spec(HardwareConfig.named("sim").to_json(), HINTED, {}, nets, ()))[0], nets)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        tuned(points[: len(nets)], 1, 0, Path(folder))  # Loads what is loaded once.
        for trials in every:
            for hints in (0, 2):
                cycles, seconds = tuned(points, trials, hints, Path(folder))
                hourly = round(CORES * 3600 * len(points) / seconds)
                found.append(
                    {"trials": trials, "hints": hints, "cycles": cycles, "points": len(points), "points_per_hour": hourly}
                )
    return found


def speed(models: Path, trials: int, count: int) -> dict[str, Any]:
    """Points an hour of `CORES` cores, for points that share nothing and for those that share what they can."""
    nets = tuple(Net(str(models / name)) for name in NETS)
    spec = Spec(HardwareConfig.named("sim").to_json(), CONFIGS, {}, nets, (), trials=trials)
    points = points_of(expand(spec)[0], spec.works)
    with tempfile.TemporaryDirectory() as folder:
        jobs = in_order([Job(point, spec.tuner, trials, 0, 3600.0, Path(folder) / "log") for point in points])
        evaluate(jobs[0])  # Loads what is loaded once.
        started = time.process_time()
        rows = [evaluate(job) for job in jobs]
        shared = (time.process_time() - started) / len(jobs)
        chosen = jobs[:: max(1, len(jobs) // count)]
        started = time.process_time()
        cycles = [apart(job) for job in chosen]
        alone = (time.process_time() - started) / len(chosen)
    by_number = {row.point: row.cycles for row in rows}
    assert cycles == [by_number[job.point.number] for job in chosen], "sharing changes nothing"
    return {
        "trials": trials,
        "points": len(jobs),
        "apart_per_hour": round(CORES * 3600 / alone),
        "shared_per_hour": round(CORES * 3600 / shared),
    }


class Lookup:
    """A workplace that knows all results."""

    def __init__(self, rows: dict[tuple[str, int, str], Row]) -> None:
        self._rows = rows

    def run(self, jobs: Sequence[Job], done: Done) -> None:
        """See `Workplace.run`."""
        for job in jobs:
            done(replace(self._rows[key_of(job.point)], point=job.point.number))

    def close(self) -> None:
        """Nothing."""


def key_of(point: Point) -> tuple[str, int, str]:
    """What is the same for a point, however it is numbered."""
    return point.design.hw.model, point.design.timing.bus_bits, point.workload


def searched(models: Path) -> Spec:
    """The keyword net on 3,516 designs."""
    net = Net(str(models / "kws_ref_model.tflite"))
    return Spec(HardwareConfig.named("sim").to_json(), SEARCHED, {"bus_bits": (64, 128, 256)}, (net,), ())


def search(spec: Spec, seeds: int, plot: Path | None) -> dict[str, Any]:
    """Run all designs of a sweep, and search them."""
    designs, _ = expand(spec)
    points = points_of(designs, spec.works)
    started = time.process_time()
    rows = {key_of(job.point): evaluate(job) for job in in_order([Job(p, "ga", 0, 0, 3600.0, Path()) for p in points])}
    seconds = time.process_time() - started
    works = len(spec.works)
    groups = [[rows[key_of(point)] for point in points[at : at + works]] for at in range(0, len(points), works)]
    entries = [
        entry_of(design, group, spec.weights)
        for design, group in zip(designs, groups, strict=True)
        if all(row.status is Status.OK for row in group)
    ]
    most = max(entry.macs for entry in entries)
    whole = [entry.costs(spec.pareto) for entry in entries if entry.macs == most]
    total = hypervolume_of(whole, whole)
    budget = max(1, round(len(designs) / 10))
    curves = [curve(replace(spec, seed=seed), budget, rows, whole, total) for seed in range(seeds)]
    if plot is not None:
        draw(curves, len(designs), plot)
    marks = {share: round(share * len(designs)) for share in SHARES if 1 <= round(share * len(designs)) <= budget}
    return {
        "designs": len(designs),
        "seconds_of_all": seconds,
        "evaluations": budget,
        "shares": {f"{share:g}": [found[mark - 1] for found in curves] for share, mark in marks.items()},
        "evaluations_to_99": [evaluations_to(ENOUGH, found) for found in curves],
    }


def evaluations_to(share: float, found: Sequence[float]) -> int | None:
    """How many evaluations it takes to find so much; None for more than there are."""
    return next((index for index, reached in enumerate(found, 1) if reached >= share), None)


def curve(spec: Spec, budget: int, rows: dict[tuple[str, int, str], Row], whole: Sequence[Any], total: float) -> list[float]:
    """The share of the hypervolume after each evaluation of one search."""
    with tempfile.TemporaryDirectory() as folder:
        found = run_search(spec, Path(folder), budget, workplace=Lookup(rows))
    shares, seen = [], []
    for costs in found.costs:
        if costs is not None:
            seen.append(costs)
        shares.append(hypervolume_of(seen, whole) / total)
    return shares


def draw(curves: Sequence[Sequence[float]], designs: int, path: Path) -> None:
    """A line for each seed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for seed, found in enumerate(curves):
        axes.plot([100 * (index + 1) / designs for index in range(len(found))], found, label=f"seed {seed}")
    axes.axhline(ENOUGH, color="gray", linewidth=0.8, linestyle="--", label="99 %")
    axes.set_xlabel(f"evaluations, % of {designs:,} designs")
    axes.set_ylabel("share of the whole list's hypervolume")
    axes.set_ylim(0.5, 1.01)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, metavar="DIR", help="folder of the MLPerf Tiny networks, for points an hour")
    parser.add_argument("--apart", type=int, default=12, metavar="N", help="points that share nothing (default: %(default)s)")
    parser.add_argument("--hints", type=int, nargs="*", metavar="TRIALS", help="what schedules of points like it bring")
    parser.add_argument("--search", type=Path, metavar="SPEC", help="search a sweep that can be run whole")
    parser.add_argument("--search-keywords", action="store_true", help="search 3,516 designs for the keyword net of --models")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="of the searches")
    options = parser.parse_args()
    result: dict[str, Any] = {}
    if options.search_keywords and options.models is not None:
        result["search"] = search(searched(options.models), options.seeds, options.plot)
    elif options.models is not None and options.hints:
        result["hints"] = hinted(options.models, options.hints)
    elif options.models is not None:
        result["speed"] = [speed(options.models, trials, options.apart) for trials in (0, 8)]
    if options.search is not None:
        result["search"] = search(load_spec(options.search), options.seeds, options.plot)
    json.dump(result, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
