"""Tuned spatial-pack convolutions of the host beside the tiles that the model chooses, over the 12 convolutions of ResNet-18.

    python -m benchmarks.host_tuning [--trials N] [--tuner NAME] [--records LOG] [--json]

Each convolution is tuned on this machine, one thread; a run with the log of another goes on from there. Then the best tile and
the default one are timed in turns in one process, and the least times compared: the geometric mean of the speed-ups is the
figure that counts.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.host import LAYERS, layer_model
from vta.autotune.host.measure import HostBuilder, HostJob, HostRunner, RunSettings, prepared_call
from vta.autotune.host.task import HOST_DEVICE, HostTask, host_tasks, model_tiles
from vta.autotune.measure.measure import MeasureOption
from vta.autotune.session import TuneOptions, tune
from vta.frontend.onnx import import_onnx
from vta.host.kernels.tiles import Tile
from vta.host.llvm.target import host_target
from vta.passes.canonicalize import canonicalize
from vta.records.log import RecordLog, read_log
from vta.support.on_cores import usable_cores

_CONVOLUTIONS = 12
_SECONDS = 1.0


def tasks() -> list[HostTask]:
    """The 12 convolutions of ResNet-18."""
    found = []
    for layer in LAYERS[:_CONVOLUTIONS]:
        graph = canonicalize(import_onnx(layer_model(layer, np.random.default_rng(1))))
        found += host_tasks(graph, host_target())
    return found


def compare(task: HostTask, tiles: list[Tile]) -> list[float]:
    """The least seconds of each tile, in turns."""
    calls = [prepared_call(HostJob(task.workload, task.target, tile)) for tile in tiles]
    least = [math.inf] * len(tiles)
    end = time.perf_counter() + _SECONDS
    while time.perf_counter() < end:
        for at, call in enumerate(calls):
            start = time.thread_time()
            call.run()
            least[at] = min(least[at], time.thread_time() - start)
    return least


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--tuner", default="xgb")
    parser.add_argument("--records", type=Path, default=Path(tempfile.gettempdir()) / "host-tuning.log")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = tasks()
    lines = read_log(options.records) if options.records.exists() else []
    known = [line.record for line in lines if line.record is not None]
    builder, runner = HostBuilder(n_parallel=usable_cores()), HostRunner(RunSettings(number=20))
    started = time.perf_counter()
    with closing(builder), closing(runner):
        settings = TuneOptions(options.tuner, options.trials, device=HOST_DEVICE)
        option = MeasureOption(builder, runner)
        reports = tune(found, option, settings, RecordLog(options.records), known, hints=model_tiles)
    seconds = time.perf_counter() - started
    rows = []
    for report in reports:
        default, tuned = compare(report.task, [report.task.default(), report.best])
        rows.append({"task": report.task.name, "default": default, "tuned": tuned, "tile": str(report.best)})
    mean = math.exp(sum(math.log(row["default"] / row["tuned"]) for row in rows) / len(rows))
    if options.json:
        print(json.dumps({"rows": rows, "geometric_mean": mean, "seconds": seconds}))
        return
    print("| task | default, ms | tuned, ms | faster by | tile |\n|---|---|---|---|---|")
    for row in rows:
        gain = row["default"] / row["tuned"]
        print(f"| {row['task']} | {row['default'] * 1e3:.3f} | {row['tuned'] * 1e3:.3f} | {gain:.2f} | {row['tile']} |")
    print(f"\ngeometric mean {mean:.3f}; tuned in {seconds:.0f} s")


if __name__ == "__main__":
    main()
