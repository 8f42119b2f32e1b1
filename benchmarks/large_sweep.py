"""A large sweep: wall time and points an hour; killed and gone on with; and on Dask workers in processes of their own.

The MLPerf Tiny networks of ``--models`` and ResNet-18 (with random weights) run on every design of a space of buffers, buses and
blocks: undisturbed, killed in the middle and resumed, and on one and on two workers of a cluster on this machine. The tables have
to be the same, byte for byte. ``--small`` takes a few designs and two networks.

``seconds_without_points`` are those of the same command when its table is full: Python, Dask, the ranking and its picture. CPU
seconds say what the processes of a cluster did where others load the machine.

    python -m benchmarks.large_sweep --models DIR
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

NETS = ("ad01_int8.tflite", "kws_ref_model.tflite", "pretrainedResnet_quant.tflite", "vww_96_int8.tflite")
AXES = {
    "config": {
        "LOG_BLOCK": [4, 5],
        "LOG_INP_BUFF_SIZE": [13, 14, 15, 16],
        "LOG_WGT_BUFF_SIZE": [16, 17, 18],
        "LOG_ACC_BUFF_SIZE": [15, 16, 17],
        "LOG_UOP_BUFF_SIZE": [14, 15],
    },
    "timing": {"bus_bits": [64, 128]},
}
"""288 designs."""
SMALL = {"config": {"LOG_INP_BUFF_SIZE": [14, 15], "LOG_ACC_BUFF_SIZE": [16, 17]}, "timing": {"bus_bits": [64, 128]}}
KILLED_AT = 0.4
"""Of the points."""
POINTS = "workers import serve"
"""In the command of a process that runs points."""
SHOWN = 2000
"""Characters of what a sweep that fails has said."""
PAUSE_SECONDS = 0.2
START_SECONDS = 60.0


def main() -> None:
    """Print one JSON object, and a row for each run as it ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, metavar="DIR", help="folder of the MLPerf Tiny networks")
    parser.add_argument("--trials", type=int, default=0, metavar="N", help="of tuning, for each task (default: %(default)s)")
    parser.add_argument("--small", action="store_true", help="8 designs and two networks")
    options = parser.parse_args()
    # Whoever ends this program ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spec = folder / "large.json"
        spec.write_text(json.dumps(_spec(options)))
        result = _measured(spec, folder)
    json.dump(result, sys.stdout, indent=2)
    print()


def _spec(options: argparse.Namespace) -> dict[str, Any]:
    models = options.models.resolve()
    nets: list[Any] = [str(models / name) for name in (NETS[:2] if options.small else NETS)]
    if not options.small:
        nets.append({"model": "resnet18_v1", "random_weights": 0})
    return {**(SMALL if options.small else AXES), "nets": nets, "trials": options.trials}


def _measured(spec: Path, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"cores": os.cpu_count()}
    whole = _run(spec, folder / "whole", ())
    found |= {"configs": whole["configs"], "points": whole["points"], "undisturbed": whole["figures"]}
    table = (folder / "whole" / "sweep.csv").read_bytes()
    found["resumed"] = {
        "killed_after_points": _killed(spec, folder / "killed", int(KILLED_AT * whole["points"])),
        **_run(spec, folder / "killed", ("--resume",))["figures"],
        "same_table": (folder / "killed" / "sweep.csv").read_bytes() == table,
    }
    for workers in (1, 2):
        at = folder / f"cluster{workers}"
        with _cluster(folder, workers) as (address, processes):
            ran = _run(spec, at, ("--cluster", address))["figures"]
            cpu = _cpu_seconds(processes)
            again = _run(spec, at, ("--cluster", address, "--resume"))["figures"]
        same = (at / "sweep.csv").read_bytes() == table
        found[f"workers_{workers}"] = {**ran, "seconds_without_points": again["seconds"], "cpu_seconds": cpu, "same_table": same}
    one, two = found["workers_1"], found["workers_2"]
    found["speed_of_two_workers"] = round(one["seconds"] / two["seconds"], 2)
    without = [entry["seconds"] - entry["seconds_without_points"] for entry in (one, two)]
    found["speed_of_two_workers_at_points"] = round(without[0] / max(without[1], PAUSE_SECONDS), 2)
    return found


def _cpu_seconds(processes: Sequence[subprocess.Popen[bytes]]) -> dict[str, list[float]]:
    """Of Dask's scheduler, of its workers, and of their processes that run points."""
    import psutil

    found: dict[str, list[float]] = {"scheduler": [], "workers": [], "points": []}
    for index, started in enumerate(processes):
        process = psutil.Process(started.pid)
        points = [child for child in process.children(recursive=True) if POINTS in " ".join(child.cmdline())]
        others = [child for child in (process, *process.children(recursive=True)) if child not in points]
        found["workers" if index else "scheduler"].append(sum(map(_cpu, others)))
        found["points"] += map(_cpu, points)
    return {name: [round(seconds, 1) for seconds in every] for name, every in found.items()}


def _cpu(process: Any) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _command(spec: Path, folder: Path, more: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "vta", "sweep", str(spec), "-o", str(folder), *more, "--json"]


def _run(spec: Path, folder: Path, more: tuple[str, ...]) -> dict[str, Any]:
    """A sweep to its end: how many designs and points it has, wall seconds and points an hour of those that it ran."""
    started = time.perf_counter()
    ended = subprocess.run(_command(spec, folder, more), check=False, capture_output=True)
    seconds = time.perf_counter() - started
    if ended.returncode:
        sys.exit(ended.stderr.decode(errors="replace")[-SHOWN:])
    values = json.loads(ended.stdout)
    figures = {"seconds": round(seconds, 1), "points_per_hour": values["points_per_hour"]}
    print(f"{folder.name}: {json.dumps(figures)}", file=sys.stderr, flush=True)
    return {"configs": len(values["configs"]["legal"]), "points": values["points"], "figures": figures}


def _killed(spec: Path, folder: Path, points: int) -> int:
    """A sweep whose processes are all killed as soon as it has so many points; how many it has then."""
    process = subprocess.Popen(
        _command(spec, folder, ()), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    table, done = folder / "sweep.csv", 0
    try:
        while process.poll() is None and done < points:
            time.sleep(PAUSE_SECONDS)
            done = max(0, len(table.read_bytes().splitlines()) - 1) if table.exists() else 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return done


@contextlib.contextmanager
def _cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler with workers of one thread, each in a process of its own; and those that were started."""
    file = folder / f"scheduler{workers}.json"
    dask = [sys.executable, "-m", "distributed.cli"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    at = ["--scheduler-file", str(file)]
    scheduler = [*dask[:2], f"{dask[2]}.dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard", *at]
    worker = [*dask[:2], f"{dask[2]}.dask_worker", *at, "--nthreads", "1", "--nworkers", "1", "--no-dashboard"]
    processes = [subprocess.Popen(scheduler, **quiet)]
    try:
        until = time.monotonic() + START_SECONDS
        while not file.exists() and time.monotonic() < until:
            time.sleep(PAUSE_SECONDS)
        processes += [subprocess.Popen(worker, cwd=folder, **quiet) for _ in range(workers)]
        address = json.loads(file.read_text())["address"]
        _wait_for_workers(address, workers)
        yield address, processes
    finally:
        for process in reversed(processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in processes:
            process.wait()


def _wait_for_workers(address: str, workers: int) -> None:
    from distributed import Client

    with Client(address, timeout=START_SECONDS) as client:
        client.wait_for_workers(workers, timeout=START_SECONDS)


if __name__ == "__main__":
    main()
