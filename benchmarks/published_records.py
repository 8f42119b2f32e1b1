"""Every VTA row of a published tuning log on the cycle engine, and our best schedule beside it.

Each row builds to a verified program, or is refused with the limit that it breaks. Our search begins with the published
schedules of the workload and the one that comes with vta, so it cannot end worse than either. With ``--check`` the programs
are run and compared with the reference interpreter.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np

from vta.autotune.hints import shipped_schedules
from vta.autotune.measure.in_process import in_process
from vta.autotune.measure.local import BuildJob, build_module
from vta.autotune.measure.measure import Candidate, measure
from vta.autotune.session import TuneOptions, tune
from vta.autotune.task import Task
from vta.autotune.usable import task_of_workload, use_problem
from vta.devices.sim import SimDevice
from vta.ir.interpreter import evaluate
from vta.records.check import config_of_model, cost_problem
from vta.records.knobs import schedule_of
from vta.records.log import Record, read_log
from vta.runtime import Module
from vta.schedule.schedule import Schedule


def rows_of(path: Path, check: bool, trials: int, tuner: str) -> Iterator[dict[str, Any]]:
    """One row for each record of VTA: cycles of its schedule and of ours, or why it is refused."""
    best: dict[str, int | None] = {}
    lines = [line for line in read_log(path) if line.record is not None and line.record.model]
    for line in lines:
        record = line.record
        assert record is not None
        row: dict[str, Any] = {"line": line.number, "workload": record.workload.identity, "cost": cost_problem(record)}
        problem = use_problem(record)
        if problem:
            yield {**row, "refused": problem}
            continue
        task, schedule = replayed(record)
        option = in_process(task.hw)
        (result,) = measure([Candidate(task, schedule)], option)
        key = f"{record.model} {task.name}"
        if key not in best:
            same = [other.record for other in lines if other.record is not None and of_the_same(record, other.record)]
            known = [schedule_of(other.entity, task.operator) for other in same if not use_problem(other)]
            options = TuneOptions(tuner, trials)
            (report,) = tune([task], option, options, hints=lambda task, known=known: [*known, *shipped_schedules(task)])
            best[key] = report.best_cycles
        exact = is_exact(task, schedule) if check else None
        yield {**row, "published": result.cycles, "best": best[key], "roofline": task.roofline.cycles, "exact": exact}


def of_the_same(record: Record, other: Record) -> bool:
    """Whether two records are for one workload on one config."""
    return (record.model, record.workload) == (other.model, other.workload)


def replayed(record: Record) -> tuple[Task, Schedule]:
    """The task and schedule of a record."""
    task = task_of_workload(record.workload, config_of_model(record.model))
    return task, schedule_of(record.entity, task.operator)


def is_exact(task: Task, schedule: Schedule) -> bool:
    """Whether the verified program gives what the reference interpreter gives."""
    module = build_module(BuildJob(task.graph, task.hw, schedule))
    rng = np.random.default_rng(0)
    inputs = {node.name: rng.integers(-128, 128, node.shape, dtype=np.int8) for node in task.graph.inputs}
    with Module(module, SimDevice(task.hw)) as loaded:
        return bool(np.array_equal(loaded.run(inputs).outputs[0], evaluate(module.graph, inputs)[0]))


def main() -> None:
    """Print the table, or one JSON object with ``--json``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path, help="a published log, e.g. vta_v0.10.log")
    parser.add_argument("--check", action="store_true", help="run every program and compare its result")
    parser.add_argument("--trials", type=int, default=128, help="of our own tuning, a workload (default: %(default)s)")
    parser.add_argument("--tuner", default="ga", help="(default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    rows = []
    for row in rows_of(options.log, options.check, options.trials, options.tuner):
        rows.append(row)
        text = f"refused: {row['refused']}" if "refused" in row else f"published {row['published']:>9,}  best {row['best']:>9,}"
        exact = {True: "  exact", False: "  WRONG", None: ""}[row.get("exact")]
        print(f"{row['line']:4} {row['workload']:90} {text}{exact}", file=sys.stderr if options.json else sys.stdout)
    gains = [row["published"] / row["best"] for row in rows if "best" in row]
    gain = exp(sum(map(log, gains)) / len(gains))
    worse = sum(value < 1 for value in gains)
    print(
        f"{len(gains)} rows replayed, {len(rows) - len(gains)} refused; geometric mean of the gain {gain:.3f}; worse in {worse}",
        file=sys.stderr,
    )
    if options.json:
        print(json.dumps({"rows": rows, "geometric_mean_gain": gain, "worse": worse}))


if __name__ == "__main__":
    main()
