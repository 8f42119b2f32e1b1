"""`vta eval` of the CIFAR network by parts: wall and processor seconds of each, and of the whole command.

    python -m benchmarks.evaluation SHARED [--samples N] [--runs N] [--against TREE] [--json]

SHARED holds `models/mxnet/cifar_resnet20_v1-symbol.json` with its parameters, and 1,000 labelled images in
`models/data/cifar10_test1000_uint8.npz`. Each run is a process of its own. With `--against` another source tree, whose core is
built, runs in turns with this one, by this Python, each twice in a row: the files of a program that rested may have left the
memory. An older one need not say what its parts take. Figures are the least of the runs, each by itself: others may use the
machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MODEL = "models/mxnet/cifar_resnet20_v1-symbol.json"
DATA = "models/data/cifar10_test1000_uint8.npz"
PREPROCESSING = (
    *("--layout", "NHWC", "--scale", "255"),
    *("--mean", "0.4914,0.4822,0.4465", "--std", "0.2023,0.1994,0.2010"),
)
LIMIT_SECONDS = 1800
_IN_A_ROW = 2
HERE = Path(__file__).resolve().parents[1]


def run_once(tree: Path, shared: Path, samples: int) -> dict[str, Any]:
    """One run of the command: what it prints as JSON, with wall and processor seconds of the whole process."""
    arguments = ["eval", str(shared / MODEL), "--data", str(shared / DATA), "--config", "sim", *PREPROCESSING]
    # As the script `vta` starts; older trees have no module for that.
    module = "vta" if (tree / "vta" / "__main__.py").exists() else "vta.cli.main"
    command = [sys.executable, "-m", module, *arguments, "--limit", str(samples), "--json"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    # The package of the folder in which Python starts is what it takes.
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tree, timeout=LIMIT_SECONDS, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{tree}: {done.stderr.strip()[-1000:]}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(done.stdout), "wall": wall, "cpu": processor}


def least(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each figure the least; what a run takes beside its stages is the start."""
    found: dict[str, Any] = {
        "top1": runs[0]["top1"],
        "snr_db": runs[0].get("outputs", [{"snr_db": None}])[0]["snr_db"],
        "wall": min(run["wall"] for run in runs),
        "cpu": min(run["cpu"] for run in runs),
    }
    staged = [run["stages"] for run in runs if "stages" in run]
    for kind in ("seconds", "cpu_seconds") if staged else ():
        found[kind] = {stage: min(stages[kind][stage] for stages in staged) for stage in staged[0][kind]}
        whole = "wall" if kind == "seconds" else "cpu"
        found[kind]["starting and ending"] = min(run[whole] - sum(run["stages"][kind].values()) for run in runs)
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=lambda given: Path(given).resolve(), metavar="SHARED", help="folder of models and data")
    parser.add_argument("--samples", type=int, default=1000, help="images (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="turns of each tree, of two runs (default: %(default)s)")
    parser.add_argument("--against", type=Path, metavar="TREE", help="another source tree")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if min(options.samples, options.runs) < 1:
        parser.error("--samples and --runs must be 1 or more")
    if not (options.shared / DATA).exists():
        parser.error(f"{options.shared / DATA} is missing")
    trees = {"this tree": HERE} | ({} if options.against is None else {"the other": options.against.resolve()})
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in trees}
    for _ in range(options.runs):
        for name, tree in trees.items():
            runs[name] += [run_once(tree, options.shared, options.samples) for _ in range(_IN_A_ROW)]
    figures = {name: least(found) for name, found in runs.items()}
    if options.json:
        print(json.dumps(figures))
        return 0
    for name, found in figures.items():
        print(f"{name}: {found['wall']:.2f} s, {found['cpu']:.2f} s of all cores; {found['top1']}, {found['snr_db']} dB")
        for stage in found.get("seconds", ()):
            print(f"  {stage:20} {found['seconds'][stage]:6.2f} s {found['cpu_seconds'][stage]:6.2f} s of all cores")
    return 0


if __name__ == "__main__":
    sys.exit(main())
