"""Tuning the ten convolutions of ResNet-18 on the cycle engine: trials a second on one core, and what they find.

A trial is proposed, compiled and simulated, and its cost learned. Beside each task stands its roofline. With ``--published``
the schedules of a published log are measured on the same engine, for comparison.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from math import exp, log
from pathlib import Path
from typing import Any

from simulator import RESNET18, Conv, graph_of
from vta.autotune.measure.in_process import in_process
from vta.autotune.measure.measure import Candidate, MeasureOption, measure
from vta.autotune.session import TaskReport, TuneOptions, tune
from vta.autotune.task import Task, task_of_graph
from vta.autotune.usable import use_problem
from vta.config.hardware import HardwareConfig
from vta.records.knobs import schedule_of
from vta.records.log import Record, pick_best, read_log

WEIGHTS = {"C2": 4, "C5": 3, "C8": 3, "C11": 3}
"""How often ResNet-18 has a layer; once where not named."""


def published_cycles(task: Task, records: list[Record], option: MeasureOption) -> int | None:
    """Cycles of the best published schedule of a task, or None if there is none that fits."""
    for record in pick_best(records):
        if record.workload == task.workload and record.model.endswith(task.hw.bitstream) and not use_problem(record):
            (result,) = measure([Candidate(task, schedule_of(record.entity, task.operator))], option)
            return result.cycles
    return None


def row(conv: Conv, report: TaskReport, published: int | None) -> dict[str, Any]:
    """The figures of one task."""
    return {
        "task": conv.name,
        "weight": WEIGHTS.get(conv.name, 1),
        "best": report.best_cycles,
        "default": report.default_cycles,
        "roofline": report.task.roofline.cycles,
        "share": report.share,
        "trials": report.trials,
        "failed": sum(report.errors.values()),
        "published": published,
    }


def main() -> None:
    """Tune all tasks and print a table, or one JSON object with ``--json``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--config", default="sim", help="hardware config (default: %(default)s)")
    parser.add_argument("--tuner", default="xgb", help="(default: %(default)s)")
    parser.add_argument("--trials", type=int, default=256, help="a task (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--published", type=Path, metavar="LOG", help="a published log, e.g. vta_v0.10.log")
    options = parser.parse_args()
    hw = HardwareConfig.named(options.config)
    tasks = [task_of_graph(graph_of(conv, hw.batch), hw) for conv in RESNET18]
    option = in_process(hw)
    tune(tasks[-1:], option, TuneOptions(options.tuner, trials=16))  # Loads what is loaded once.
    started, cpu = time.perf_counter(), time.process_time()
    reports = tune(tasks, option, TuneOptions(options.tuner, options.trials, seed=options.seed))
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    records = [line.record for line in read_log(options.published) if line.record] if options.published else []
    rows = [
        row(conv, report, published_cycles(report.task, records, option)) for conv, report in zip(RESNET18, reports, strict=True)
    ]
    trials = sum(report.trials for report in reports)
    out = sys.stderr if options.json else sys.stdout
    for figures in rows:
        beside = f"  published {figures['published']:>9,}" if figures["published"] else ""
        print(
            f"{figures['task']:4} x{figures['weight']} default {figures['default']:>9,}  best {figures['best']:>9,}  roofline "
            f"{figures['roofline']:>9,}  share {figures['share']:6.1%}{beside}",
            file=out,
        )
    total = sum(figures["weight"] * figures["best"] for figures in rows)
    print(f"weighted total {total:,} cycles; {trials} trials in {seconds:.1f} s, {cpu:.1f} s of processor time", file=out)
    gains = [figures["published"] / figures["best"] for figures in rows if figures["published"]]
    gain = exp(sum(map(log, gains)) / len(gains)) if gains else None
    if gain is not None:
        print(f"geometric mean of published over best: {gain:.3f}", file=out)
    if options.json:
        print(
            json.dumps(
                {
                    "config": hw.model,
                    "tuner": options.tuner,
                    "trials_per_second": trials / seconds,
                    "trials_per_cpu_second": trials / cpu,
                    "weighted_total": total,
                    "geometric_mean_gain": gain,
                    "tasks": rows,
                }
            )
        )


if __name__ == "__main__":
    main()
