"""How good the tuners are: against the optimum where a space can be enumerated, and against chance where it cannot.

    python benchmarks/tuners.py [--json] [--tuners NAME...] [--trials N] [--seeds N]

Every tuner starts from nothing: neither the compiler's own schedule nor records are shown to it, as `vta tune` would. Costs are
cycles of the cycle engine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable
from math import exp, log
from typing import Any

from simulator import RESNET18, Conv, graph_of
from vta.autotune.measure.in_process import in_process
from vta.autotune.measure.measure import Candidate, measure
from vta.autotune.task import Task, task_of_graph
from vta.autotune.tuners import make_tuner
from vta.config.hardware import HardwareConfig

SMALL = (Conv("S1", 14, 16, 16, 3, 1, 1), Conv("S2", 14, 64, 64, 1, 0, 1), Conv("S3", 14, 32, 64, 3, 1, 2))
"""Convolutions whose spaces hold some ten thousand schedules."""
_BATCH = 512


class Costs:
    """Cycles of the points of a task, each measured once."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._option = in_process(task.hw)
        self._known: dict[int, float] = {}

    def of(self, numbers: Iterable[int]) -> list[float]:
        """Cycles of points of the space."""
        wanted = list(numbers)
        new = [number for number in wanted if number not in self._known]
        candidates = [Candidate(self._task, self._task.space.schedule(number), number) for number in new]
        for number, result in zip(new, measure(candidates, self._option), strict=True):
            self._known[number] = float(result.cycles) if result.cycles is not None else float("inf")
        return [self._known[number] for number in wanted]

    def least(self) -> float:
        """The fewest cycles of the whole space."""
        size = self._task.space.size
        return min(min(self.of(range(first, min(first + _BATCH, size)))) for first in range(0, size, _BATCH))


def best_of(name: str, task: Task, costs: Costs, trials: int, seed: int) -> float:
    """The fewest cycles that a tuner finds in so many trials."""
    tuner, best, done = make_tuner(name, task, seed), float("inf"), 0
    while done < trials:
        numbers = tuner.propose(min(tuner.batch_size, trials - done))
        if not numbers:
            break
        cycles = costs.of(numbers)
        tuner.update(numbers, [task.roofline.cycles / count for count in cycles])
        best, done = min(best, *cycles), done + len(numbers)
    return best


def enumerated(hw: HardwareConfig, names: list[str], trials: int, seeds: int) -> list[dict[str, Any]]:
    """For each small space the optimum, and how far above it the median of each tuner's seeds is."""
    rows = []
    for conv in SMALL:
        task = task_of_graph(graph_of(conv, hw.batch), hw)
        costs = Costs(task)
        least = costs.least()
        found = {name: [best_of(name, task, costs, trials, seed) for seed in range(seeds)] for name in names}
        ratios = {name: statistics.median(values) / least for name, values in found.items()}
        rows.append({"task": task.name, "points": task.space.size, "optimum": int(least), "median_over_optimum": ratios})
    return rows


def against_chance(hw: HardwareConfig, names: list[str], trials: int, seeds: int) -> list[dict[str, Any]]:
    """For each convolution of ResNet-18 the median of each tuner's best cycles."""
    rows = []
    for conv in RESNET18:
        task = task_of_graph(graph_of(conv, hw.batch), hw)
        costs = Costs(task)
        found = {name: [best_of(name, task, costs, trials, seed) for seed in range(seeds)] for name in names}
        rows.append({"task": conv.name, "median": {name: statistics.median(values) for name, values in found.items()}})
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--config", default="sim", help="hardware config (default: %(default)s)")
    parser.add_argument("--tuners", nargs="+", default=["xgb", "ga"], metavar="NAME", help="beside random (default: xgb ga)")
    parser.add_argument("--trials", type=int, default=128, help="a search (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=10, help="searches of an enumerated space (default: %(default)s)")
    parser.add_argument(
        "--large-seeds", type=int, default=3, help="searches of a convolution of ResNet-18 (default: %(default)s)"
    )
    options = parser.parse_args()
    hw = HardwareConfig.named(options.config)
    names = [*options.tuners, "random"]
    out = sys.stderr if options.json else sys.stdout
    small = enumerated(hw, names, options.trials, options.seeds)
    for row in small:
        ratios = ", ".join(f"{name} {ratio:.4f}" for name, ratio in row["median_over_optimum"].items())
        print(f"{row['task']}: {row['points']:,} points, optimum {row['optimum']:,}; median over optimum: {ratios}", file=out)
    large = against_chance(hw, names, options.trials, options.large_seeds)
    for row in large:
        print(f"{row['task']:4} " + "  ".join(f"{name} {cycles:>9,.0f}" for name, cycles in row["median"].items()), file=out)
    gains = {
        name: exp(statistics.fmean(log(row["median"]["random"] / row["median"][name]) for row in large))
        for name in options.tuners
    }
    print("geometric mean of random over: " + ", ".join(f"{name} {gain:.4f}" for name, gain in gains.items()), file=out)
    if options.json:
        print(json.dumps({"config": hw.model, "trials": options.trials, "enumerated": small, "resnet18": large, "gain": gains}))


if __name__ == "__main__":
    main()
