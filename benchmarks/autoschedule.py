"""Whole networks by default schedules, by tuned templates, and by schedules searched without templates, one thread, in turns.

    python -m benchmarks.autoschedule [--trials N] [--seconds S] [--records DIR] [--json] [NET...]

NET is a file or a built-in name (default: mobilenet1.0 and resnet18_v1, random weights). The search without
templates has N trials for all its tasks and S seconds at most, and drops in the end what the whole network is faster without;
templates have as many trials as it has made. Then the three are run in turns in one process, and the least times of the thread's
own clock are compared, so that what else the machine does counts little. Kernels that were tuned on this machine before count for
nothing here. The outputs must be those of the default, within rounding.

A run that was stopped goes on where it was, by the same command: logs are in DIR, and so are the results of networks that are
done, in results.json, which are not measured again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from vta.autotune.auto.cpu.engine import CpuEngine
from vta.autotune.auto.cpu.limits import limits_here
from vta.autotune.auto.cpu.machine import cpu_machine
from vta.autotune.auto.cpu.tasks import cpu_tasks
from vta.autotune.auto.measure import LocalMeasure, Timing
from vta.autotune.auto.network import confirm_in_network
from vta.autotune.auto.network_timers import CpuNetworkTimer
from vta.autotune.auto.session import AutoOptions, AutoReport, auto_tune
from vta.autotune.host.measure import HostBuilder, HostRunner, RunSettings
from vta.autotune.host.task import HOST_DEVICE, host_tasks, model_tiles
from vta.autotune.measure.measure import MeasureOption
from vta.autotune.session import TuneOptions, tune
from vta.files.atomic_file import write_whole
from vta.frontend import load_model
from vta.host.llvm.target import host_target
from vta.ir.graph import Graph
from vta.passes.canonicalize import canonicalize
from vta.records.log import RecordLog, read_log
from vta.records.record import Record
from vta.report.auto_tuning import mean_gain
from vta.runtime.host_part.host_graph import host_graph
from vta.runtime.host_part.host_options import HostOptions
from vta.support.on_cores import usable_cores

NETWORKS = ("mobilenet1.0", "resnet18_v1")
_SECONDS = 4.0
"""That the three versions of a network are run together, at least."""
_FEWEST = 8
_CONFIRMING = 60.0
"""Seconds after which no other schedule is left out of a network, to see whether it is faster."""


def network(name: str) -> Graph:
    """A network in float32; built-in ones have random weights."""
    return canonicalize(load_model(name) if Path(name).exists() else load_model(name, random_weights=0))


def known(path: Path) -> list[Record]:
    """The records of a log, none if it is not there yet."""
    return [line.record for line in read_log(path) if line.record is not None] if path.exists() else []


def tune_templates(graph: Graph, log: Path, trials: int) -> None:
    """Tune the convolutions by their templates, with so many trials together."""
    tasks = host_tasks(graph, host_target())
    builder, runner = HostBuilder(n_parallel=usable_cores()), HostRunner(RunSettings(min_repeat_ms=20.0))
    with closing(builder), closing(runner):
        settings = TuneOptions("xgb", max(1, trials // len(tasks)), device=HOST_DEVICE)
        tune(tasks, MeasureOption(builder, runner), settings, RecordLog(log), known(log), hints=model_tiles)


def tune_auto(graph: Graph, log: Path, trials: int, seconds: float) -> list[AutoReport]:
    """Search schedules of all kernels."""
    target = host_target()
    tasks = cpu_tasks(graph, graph.calls(), list(graph.outputs), cpu_machine(target, limits_here(target)))
    with closing(LocalMeasure(CpuEngine(target), Timing(), n_parallel=usable_cores())) as measurer:
        return auto_tune(tasks, measurer, AutoOptions(trials, seconds=seconds), RecordLog(log), known(log))


def compare(graph: Graph, logs: Sequence[Path | None]) -> tuple[list[float], float]:
    """The least seconds of a network by the records of each log, in turns, and the largest difference from the first output."""
    runs = [host_graph(graph, HostOptions(compiled=True, records=() if log is None else (log,))) for log in logs]
    rng = np.random.default_rng(0)
    feed = {node.name: rng.standard_normal(node.shape).astype(node.dtype) for node in graph.inputs}
    first, *others = [np.asarray(run.run(feed)[0], np.float64) for run in runs]
    difference = max(float(np.abs(first - other).max() / np.abs(first).max()) for other in others)
    least = [math.inf] * len(runs)
    end, done = time.perf_counter() + _SECONDS, 0
    while done < _FEWEST or time.perf_counter() < end:
        for at, run in enumerate(runs):
            start = time.thread_time()
            run.run(feed)
            least[at] = min(least[at], time.thread_time() - start)
        done += 1
    return least, difference


def row_of(name: str, folder: Path, trials: int, seconds: float) -> dict[str, Any]:
    """Tune and compare one network."""
    graph = network(name)
    template, auto = (folder / f"{Path(name).name}.{kind}.log" for kind in ("template", "auto"))
    started = time.perf_counter()
    reports = tune_auto(graph, auto, trials, seconds)
    whole = confirm_in_network(reports, CpuNetworkTimer(graph), RecordLog(auto), AutoOptions().device, _CONFIRMING)
    between = time.perf_counter()
    made = sum(report.trials for report in reports)
    tune_templates(graph, template, made)
    ended = time.perf_counter()
    (default, by_template, by_auto), difference = compare(graph, (None, template, auto))
    return {
        "net": name,
        "default_ms": default * 1e3,
        "template_ms": by_template * 1e3,
        "auto_ms": by_auto * 1e3,
        "difference": difference,
        "tasks": len(reports),
        "trials": made,
        "dropped": [] if whole is None else list(whole.dropped),
        "gain_of_tasks": mean_gain(reports),
        "auto_seconds": between - started,
        "template_seconds": ended - between,
    }


def done_row(name: str, folder: Path, trials: int, seconds: float) -> dict[str, Any]:
    """The result of a network, which an earlier run may have written."""
    path = folder / "results.json"
    done: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    if name not in done:
        done[name] = row_of(name, folder, trials, seconds)
        write_whole(path, json.dumps(done, indent=1))
    row: dict[str, Any] = done[name]
    return row


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nets", nargs="*", default=NETWORKS, metavar="NET")
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--records", type=Path, default=Path(tempfile.gettempdir()) / "autoschedule")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.records.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["VTA_CACHE_PATH"] = cache
        rows = [done_row(name, options.records, options.trials, options.seconds) for name in options.nets]
    gain = math.exp(sum(math.log(row["default_ms"] / row["auto_ms"]) for row in rows) / len(rows))
    if options.json:
        print(json.dumps({"nets": rows, "geometric_mean": gain}))
        return
    print("| net | default, ms | templates, ms | searched, ms | faster by | tasks | trials | seconds |\n" + "|---" * 8 + "|")
    for row in rows:
        times = " | ".join(f"{row[key]:.3f}" for key in ("default_ms", "template_ms", "auto_ms"))
        faster = row["default_ms"] / row["auto_ms"]
        print(f"| {row['net']} | {times} | {faster:.2f} | {row['tasks']} | {row['trials']} | {row['auto_seconds']:.0f} |")
    print(f"\ngeometric mean {gain:.3f}")


if __name__ == "__main__":
    main()
