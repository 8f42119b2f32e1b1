"""Tuning the ten convolutions of ResNet-18 on server processes: trials a second on one server and on four.

Each server has a cycle device and a process of its own; all are on this machine, so that more of them help as far as there
are processors. What is found must be what tuning in this process finds with the same seed: cycles do not depend on where
they are counted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from simulator import RESNET18, graph_of
from vta.autotune.measure.in_process import in_process
from vta.autotune.measure.local import LocalBuilder
from vta.autotune.measure.measure import MeasureOption
from vta.autotune.measure.remote import RPCRunner
from vta.autotune.session import TaskReport, TuneOptions, tune
from vta.autotune.task import Task, task_of_graph
from vta.config.hardware import HardwareConfig
from vta.rpc.client.connect import query

_KEY = "cycle"
_START_SECONDS = 60.0
_IDLE_SECONDS = "600"


def _start(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "vta.cli.main", "rpc", *arguments, "--port", "0", "--idle-limit", _IDLE_SECONDS]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def _await(path: Path) -> str:
    """The content of a file that another process writes."""
    deadline = time.monotonic() + _START_SECONDS
    while not path.exists() or not path.read_text():
        if time.monotonic() > deadline:
            sys.exit(f"{path.name} has not come within {_START_SECONDS:g} s")
        threading.Event().wait(0.05)
    return path.read_text().strip()


@contextlib.contextmanager
def servers(count: int, config: str) -> Iterator[str]:
    """A tracker with `count` servers; gives its address. All end with the block."""
    processes: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory() as directory:
        try:
            processes.append(_start("tracker", "--address-file", f"{directory}/tracker"))
            tracker = _await(Path(directory) / "tracker")
            for number in range(count):
                place = ("--address-file", f"{directory}/{number}")
                processes.append(
                    _start("server", "--tracker", tracker, "--key", _KEY, "--device", "cycle", "--config", config, *place)
                )
            for number in range(count):
                _await(Path(directory) / str(number))
            deadline = time.monotonic() + _START_SECONDS
            while sum(row.free for row in query(tracker).rows) < count:
                if time.monotonic() > deadline:
                    sys.exit(f"not all of {count} servers are up: {query(tracker).servers}")
                threading.Event().wait(0.05)
            yield tracker
        finally:
            for process in processes[::-1]:
                process.terminate()
            for process in processes:
                process.wait()


def tune_remotely(tasks: list[Task], tracker: str, options: TuneOptions, builders: int) -> tuple[list[TaskReport[Task]], float]:
    """Reports, and seconds."""
    builder, runner = LocalBuilder(timeout=120.0, n_parallel=builders), RPCRunner(tracker, _KEY, timeout=120.0)
    with closing(builder), closing(runner):
        started = time.perf_counter()
        reports = tune(tasks, MeasureOption(builder, runner), options)
        return reports, time.perf_counter() - started


def main() -> None:
    """Tune on each number of servers and print a line for each, or one JSON object with ``--json``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--config", default="sim", help="hardware config (default: %(default)s)")
    parser.add_argument("--servers", default="1,4", metavar="LIST", help="numbers of servers (default: %(default)s)")
    parser.add_argument("--tuner", default="random", help="(default: %(default)s)")
    parser.add_argument("--trials", type=int, default=8, help="a task (default: %(default)s)")
    parser.add_argument("--tasks", type=int, default=len(RESNET18), metavar="N", help="only the first N (default: all ten)")
    parser.add_argument("--builders", type=int, default=2, metavar="N", help="processes that compile (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    hw = HardwareConfig.named(options.config)
    tasks = [task_of_graph(graph_of(conv, hw.batch), hw) for conv in RESNET18[: options.tasks]]
    settings = TuneOptions(options.tuner, options.trials, seed=options.seed)
    here = [report.best_cycles for report in tune(tasks, in_process(hw), settings)]
    rows = []
    for count in map(int, options.servers.split(",")):
        with servers(count, options.config) as tracker:
            reports, seconds = tune_remotely(tasks, tracker, settings, options.builders)
        trials = sum(report.trials for report in reports)
        same = [report.best_cycles for report in reports] == here
        failed = sum(sum(report.errors.values()) for report in reports)
        rows.append({"servers": count, "trials": trials, "failed": failed, "trials_per_second": trials / seconds, "same": same})
        if not options.json:
            found = "the same best cycles as here" if same else "OTHER best cycles than here"
            print(
                f"{count} servers: {trials} trials in {seconds:.1f} s, {trials / seconds:.1f} a second, {failed} failed; {found}"
            )
    if options.json:
        print(json.dumps({"config": hw.model, "best_cycles": here, "runs": rows}))
    if not all(row["same"] for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
