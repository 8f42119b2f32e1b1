"""Runs many random models and collects where an importer or a device is wrong."""

from __future__ import annotations

import io
import multiprocessing
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import field
from random import Random
from time import monotonic

import numpy as np

from vta.config.files import shipped_configs
from vta.config.hardware import HardwareConfig
from vta.support.dataclass import dataclass
from vta.testing.import_fuzz.check import Outcome, check, data_of, examine
from vta.testing.import_fuzz.description import Array, Description
from vta.testing.import_fuzz.families import generate
from vta.testing.import_fuzz.oracles import OracleError, framework_values, model_bytes
from vta.testing.import_fuzz.shrink import Case, shrink

__all__ = ["Failure", "Graph", "Settings", "Summary", "config_of", "fuzz", "graphs_of"]

_CHUNK = 8
"""Models that a worker is given at a time."""
_MODEL_SECONDS = 120


@dataclass(frozen=True)
class Graph:
    """Which model."""

    frontend: str
    family: str
    seed: int


@dataclass(frozen=True)
class Settings:
    """How models are tried."""

    device_share: float = 0.1
    """Of the models, those that are compiled and run on a simulator, too."""
    shrink_seconds: float = 20.0


@dataclass(frozen=True)
class Failure:
    """A model that fails, as small as the shrinker got it."""

    graph: Graph
    kind: str
    message: str
    operators: tuple[str, ...]
    model: bytes
    data: bytes
    """The inputs and the framework's outputs, as a .npz file."""
    config: str = ""
    """Of the device, where one ran it."""

    def command(self) -> str:
        """What tries the whole model again."""
        graph = self.graph
        return (
            f"python -m vta.testing.import_fuzz --frontends {graph.frontend} --families {graph.family} "
            f"--seed {graph.seed} --graphs 1"
        )


@dataclass(frozen=True)
class _Result:
    graph: Graph
    outcome: Outcome
    failure: Failure | None = None


@dataclass
class Summary:
    """What a campaign found."""

    graphs: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    """Models by what became of them: see `Outcome`."""
    families: Counter[str] = field(default_factory=Counter)
    on_device: int = 0
    reasons: dict[str, Counter[str]] = field(default_factory=dict)
    """Why models were refused, illegal or skipped, and how many."""
    failures: list[Failure] = field(default_factory=list)

    def take(self, graph: Graph, outcome: Outcome) -> None:
        """Count one model."""
        self.graphs += 1
        self.statuses[outcome.status] += 1
        self.families[f"{graph.frontend}/{graph.family}"] += 1
        self.on_device += outcome.on_device
        if outcome.status not in ("same", "failed"):
            reason = f"{outcome.kind}: {outcome.message}" if outcome.kind else outcome.message
            self.reasons.setdefault(outcome.status, Counter())[f"{graph.frontend}: {reason}"] += 1


def graphs_of(families: Mapping[str, Sequence[str]], seeds: Sequence[int]) -> Iterator[Graph]:
    """Yield one model for each seed, of each family of each front end in turn."""
    kinds = [(frontend, family) for frontend, names in families.items() for family in names]
    for seed in seeds:
        frontend, family = kinds[seed % len(kinds)]
        yield Graph(frontend, family, seed)


def config_of(graph: Graph, share: float) -> str:
    """Return the shipped config that a model is compiled for; "" for the rest of the models."""
    rng = Random(f"device {graph.frontend} {graph.family} {graph.seed}")
    return rng.choice(list(shipped_configs())) if rng.random() < share else ""


def fuzz(
    graphs: Sequence[Graph],
    settings: Settings | None = None,
    jobs: int = 0,
    limit_seconds: float | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    report: Callable[[Failure], None] = lambda failure: None,
) -> Summary:
    """Try every model, until done or `limit_seconds` are over, in `jobs` processes, or in this one with 0.

    `progress` is called after each few models, `report` with each failure as it is found.
    """
    summary, settings = Summary(), settings or Settings()
    deadline = None if limit_seconds is None else monotonic() + limit_seconds
    chunks = [graphs[start : start + _CHUNK] for start in range(0, len(graphs), _CHUNK)]
    results = _in_processes(chunks, settings, jobs, deadline) if jobs else _here(chunks, settings, deadline)
    for result in results:
        summary.take(result.graph, result.outcome)
        progress(summary.graphs, len(graphs))
        if result.failure is not None:
            summary.failures.append(result.failure)
            report(result.failure)
    return summary


def _over(deadline: float | None) -> bool:
    return deadline is not None and monotonic() > deadline


def _here(chunks: Sequence[Sequence[Graph]], settings: Settings, deadline: float | None) -> Iterator[_Result]:
    for chunk in chunks:
        for graph in chunk:
            if _over(deadline):
                return
            yield _try(graph, settings)


def _in_processes(chunks: Sequence[Sequence[Graph]], settings: Settings, jobs: int, deadline: float | None) -> Iterator[_Result]:
    """Chunks in worker processes. Where one dies, the models that were being tried are tried alone, to find which it was."""
    waiting = list(reversed(chunks))
    while waiting and not _over(deadline):
        running: dict[Future[list[_Result]], Sequence[Graph]] = {}
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < 2 * jobs and not _over(deadline):
                        running[pool.submit(_try_all, waiting[-1], settings)] = waiting[-1]
                        waiting.pop()
                    if not running:
                        return
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        results = done.result()
                        del running[done]
                        yield from results
                continue
            except BrokenProcessPool:
                suspects = [graph for chunk in running.values() for graph in chunk]
        for graph in suspects:
            yield _alone(graph, settings)


def _alone(graph: Graph, settings: Settings) -> _Result:
    """Try one model in a process of its own, which may die."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(_try, graph, settings).result()
        except BrokenProcessPool:
            net = generate(graph.frontend, graph.family, graph.seed)
            outcome = Outcome("failed", "crash", "the process died")
            return _Result(graph, outcome, _failure(graph, Case(net, net.feeds(graph.seed)), outcome, "", {}))


def _try_all(graphs: Sequence[Graph], settings: Settings) -> list[_Result]:
    return [_try(graph, settings) for graph in graphs]


def _try(graph: Graph, settings: Settings) -> _Result:
    net = generate(graph.frontend, graph.family, graph.seed)
    config = config_of(graph, settings.device_share)
    hw = HardwareConfig.named(config) if config else None
    try:
        with _limited(_MODEL_SECONDS):
            outcome = check(net, graph.seed, hw)
    except TimeoutError:
        outcome = Outcome("failed", "slow", f"took more than {_MODEL_SECONDS} s")
    if outcome.status != "failed":
        return _Result(graph, outcome)
    return _Result(graph, outcome, _shrunk(graph, net, outcome, config, hw, settings))


def _shrunk(
    graph: Graph, net: Description, outcome: Outcome, config: str, hw: HardwareConfig | None, settings: Settings
) -> Failure:
    needed = hw if outcome.kind in ("device", "lowering") or outcome.message.startswith(("compile", "run")) else None
    data = data_of(net, graph.seed) if outcome.kind != "slow" else None
    case = Case(net, data[0] if data else net.feeds(graph.seed))

    def fails(candidate: Case) -> bool:
        found = examine(candidate.net, candidate.feeds, needed)
        return found.status == "failed" and found.kind == outcome.kind

    if settings.shrink_seconds > 0 and data:
        case = shrink(case, fails, settings.shrink_seconds)
        outcome = examine(case.net, case.feeds, needed)
    try:
        values = framework_values(case.net, case.feeds) if data else {}
    except OracleError:
        values = {}
    return _failure(graph, case, outcome, config if needed is not None else "", values)


def _failure(graph: Graph, case: Case, outcome: Outcome, config: str, values: Mapping[str, Array]) -> Failure:
    arrays = {f"input_{index}": case.feeds[name] for index, name in enumerate(case.net.inputs)}
    arrays |= {f"expected_{index}": values[name] for index, name in enumerate(case.net.outputs) if name in values}
    stored = io.BytesIO()
    np.savez(stored, **arrays)  # type: ignore[arg-type]
    return Failure(graph, outcome.kind, outcome.message, case.net.kinds(), model_bytes(case.net), stored.getvalue(), config)


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Raise `TimeoutError` after so long."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
