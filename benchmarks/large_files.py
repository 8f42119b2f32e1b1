"""How long `vta compile` takes for large float networks in ONNX files, and how much memory: the table of docs/models.md.

    python -m benchmarks.large_files [--json] [--rounds N] [NAME...]

NAME is a built-in structure; its seeded weights are written to a file first. Seconds are by the clock, of the whole command; the
median of the rounds stands beside the shortest, since the system takes and gives memory at its own pace, and both beside what all
processors together spent in the round that took least of them. Memory is the most that the command had at one time.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import onnx

from benchmarks.onnx_export import exported
from vta.frontend import load_model
from vta.passes.canonicalize import canonicalize

_NETWORKS = ("resnet18_v1", "inceptionv3", "resnet50_v1", "vgg16")
_ROUNDS = 7
_LIMIT_SECONDS = 120.0


@dataclass(frozen=True)
class Row:
    """One network."""

    network: str
    file_megabytes: float
    shortest: float
    """Seconds of the whole command by the clock."""
    median: float
    processor: float
    """Seconds of all processors, the system's too."""
    peak_megabytes: float
    """Of memory."""
    compiled_megabytes: float
    """Of the file that is written."""


def measured(name: str, rounds: int, config: str = "sim") -> Row:
    """Write a built-in network as ONNX, and compile the file several times."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "net.onnx")
        # A process begins with the memory of its parent, and must not be told by it.
        writer = multiprocessing.get_context("spawn").Process(target=_write, args=(name, path))
        writer.start()
        writer.join()
        if writer.exitcode:
            raise SystemExit(f"{name} was not written")
        found = [_compiled(path, config) for _ in range(rounds)]
        sizes = [file.stat().st_size / 1e6 for file in (path, path.with_suffix(".vta"))]
    seconds, processor, peaks = zip(*found, strict=True)
    return Row(name, sizes[0], min(seconds), statistics.median(seconds), min(processor), max(peaks) / 1e6, sizes[1])


def _write(name: str, path: Path) -> None:
    """Write a network, and wait until the disk has it: what is measured next must not wait for that."""
    onnx.save(exported(canonicalize(load_model(name)), name), path)
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _compiled(path: Path, config: str) -> tuple[float, float, float]:
    """Seconds by the clock and of processors, and bytes of memory, of one command."""
    command = [sys.executable, "-m", "vta", "compile", str(path), "-o", str(path.with_suffix(".vta")), "--config", config]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        # Nothing else tells what one process had at most.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode or seconds > _LIMIT_SECONDS:
        raise SystemExit(f"{' '.join(command)}: status {process.returncode} after {seconds:.1f} s")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description="How long large ONNX files take to compile.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a built-in structure (default: some)")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="how often each is compiled (default: %(default)s)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    rows = [measured(name, options.rounds) for name in options.names or _NETWORKS]
    if options.json:
        print(json.dumps([asdict(row) for row in rows]))
        return 0
    print("| network | file, MB | seconds, shortest | median | of processors | memory, MB | .vta, MB |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        times = f"{row.shortest:.2f} | {row.median:.2f} | {row.processor:.2f}"
        print(f"| {row.network} | {row.file_megabytes:.0f} | {times} | {row.peak_megabytes:.0f} | {row.compiled_megabytes:.0f} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
