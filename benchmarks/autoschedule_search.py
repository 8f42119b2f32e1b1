"""Ways to search without templates, beside each other: the best schedule after so many trials, over some seeds.

    python -m benchmarks.autoschedule_search [--trials N] [--seeds K] [--tasks K] [--store FILE] [--plot FILE.png] [--json]

draft: draft by the analytic model, verify by the learned one, time the few best. evolution: evolve by the learned model alone.
random: draw at random. All have N trials for each of a few kernels of MobileNet v1 0.25 and ResNet-18. Timing is the most of it,
so times are kept: in FILE, by kernel and schedule, and a schedule that several searches come to is timed once. Each is
timed in turns with the default schedule, by the least of some runs of the thread's own clock. What is compared is the default's
time in parts of the best one's, at least 1. A seed's gain is the geometric mean over kernels; table and plot have the mean of all
seeds, and the worst and the best of them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.autoschedule import network
from vta.autotune.auto.cpu.engine import CpuEngine
from vta.autotune.auto.cpu.limits import limits_here
from vta.autotune.auto.cpu.machine import cpu_machine
from vta.autotune.auto.cpu.tasks import cpu_tasks
from vta.autotune.auto.measure import LocalMeasure, Timing
from vta.autotune.auto.search import STRATEGIES, Experience, KernelSearch
from vta.autotune.auto.space import Made
from vta.autotune.auto.task import AutoTask
from vta.host.llvm.target import host_target
from vta.host.loop.text import program_text
from vta.support.on_cores import usable_cores

_BATCH = 8
_NAMES = {"draft": "draft, verify, time", "evolution": "evolution alone", "random": "random"}
_PICKED = (("mobilenet0.25", (15, 3, 18, 9)), ("resnet18_v1", (3, 8)))
"""Of each network, which kernels: depthwise and pointwise ones, and ones of 3x3."""


def picked_tasks(count: int) -> list[AutoTask]:
    """Kernels of different kinds."""
    target = host_target()
    found = []
    for name, numbers in _PICKED:
        graph = network(name)
        tasks = cpu_tasks(graph, graph.calls(), list(graph.outputs), cpu_machine(target, limits_here(target)))
        found += [tasks[number] for number in numbers]
    return found[:count]


class Store:
    """Times of schedules, kept in a file."""

    def __init__(self, path: Path, measurer: LocalMeasure) -> None:
        self._path, self._measurer = path, measurer
        self._costs: dict[str, float] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            key, cost = line.split()
            self._costs[key] = float(cost)

    def costs(self, task: AutoTask, made: Sequence[Made]) -> list[float]:
        """Times of schedules in parts of the default's, infinite for those that failed."""
        keys = [hashlib.sha256(f"{task.name}\n{program_text(item.program)}".encode()).hexdigest()[:24] for item in made]
        new = {key: item for key, item in zip(keys, made, strict=True) if key not in self._costs}
        results = self._measurer.measure(task, list(new.values()))
        with self._path.open("a") as stream:
            for key, result in zip(new, results, strict=True):
                self._costs[key] = result.cost
                stream.write(f"{key} {result.cost}\n")
        return [self._costs[key] for key in keys]


def curve(task: AutoTask, store: Store, strategy: str, seed: int, trials: int) -> list[float]:
    """How many times as fast as the default the best schedule is, after each batch."""
    search = KernelSearch(task.name, task.space, Experience(seed), seed, strategy)
    best, found = 1.0, []
    for _ in range(trials // _BATCH):
        proposed = search.propose(_BATCH)
        costs = store.costs(task, proposed)
        for made, cost in zip(proposed, costs, strict=True):
            search.update(made, cost)
        best = min([best, *costs])
        found.append(1 / best)
    return found


def mean(values: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def by_seed(found: Sequence[Sequence[float]], tasks: int) -> list[list[float]]:
    """After each batch the gain of each seed, of curves that lie seed by seed."""
    return [
        [mean([curve[at] for curve in found[start : start + tasks]]) for start in range(0, len(found), tasks)]
        for at in range(len(found[0]))
    ]


def plot(path: Path, gains: Mapping[str, Sequence[Sequence[float]]], counts: Sequence[int]) -> None:
    """Draw the mean of each strategy, and around it the seeds from the worst to the best."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for strategy, columns in gains.items():
        (line,) = axes.plot(counts, [mean(column) for column in columns], marker="o", label=_NAMES[strategy])
        axes.fill_between(counts, list(map(min, columns)), list(map(max, columns)), color=line.get_color(), alpha=0.15)
    axes.set(xlabel="trials of a kernel", ylabel="times as fast as the default", xticks=counts)
    axes.legend()
    figure.savefig(path, dpi=110)


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=32)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--store", type=Path, default=Path(tempfile.gettempdir()) / "autoschedule-search.txt")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="of the gains, the seeds' spread around their mean")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    tasks = picked_tasks(options.tasks)
    curves: dict[str, list[list[float]]] = {strategy: [] for strategy in STRATEGIES}
    with closing(LocalMeasure(CpuEngine(host_target()), Timing(min_repeat_ms=5.0), n_parallel=usable_cores())) as measurer:
        store = Store(options.store, measurer)
        for seed in range(options.seeds):
            for task in tasks:
                for strategy in STRATEGIES:
                    curves[strategy].append(curve(task, store, strategy, seed, options.trials))
    gains = {strategy: by_seed(found, len(tasks)) for strategy, found in curves.items()}
    counts = [_BATCH * (at + 1) for at in range(options.trials // _BATCH)]
    if options.plot is not None:
        plot(options.plot, gains, counts)
    rows = {strategy: list(map(mean, columns)) for strategy, columns in gains.items()}
    if options.json:
        print(json.dumps({"trials": options.trials, "batch": _BATCH, "seeds": options.seeds, "gains": rows, "curves": curves}))
        return
    print("| strategy | " + " | ".join(f"{count} trials" for count in counts) + " |\n|" + "---|" * (len(counts) + 1))
    for strategy, columns in gains.items():
        cells = [f"{mean(column):.3f} ({min(column):.3f} to {max(column):.3f})" for column in columns]
        print(f"| {_NAMES[strategy]} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
