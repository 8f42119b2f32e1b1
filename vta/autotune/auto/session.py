"""A search over all kernels of a network, which gives trials to where the weighted time falls most."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace

import numpy as np

from vta.autotune.auto.measure import Measurer
from vta.autotune.auto.search import Experience, KernelSearch, Strategy
from vta.autotune.auto.space import Genome, Made
from vta.autotune.auto.task import AutoTask
from vta.errors import TuningError
from vta.records.host.timed_again import LEAST_GAIN, last_timed
from vta.records.log import RecordLog
from vta.records.measurement import ErrorKind, Measurement
from vta.records.record import Record
from vta.support.dataclass import dataclass

__all__ = ["AutoOptions", "AutoReport", "auto_tune", "estimated_seconds"]

_LOG = logging.getLogger(__name__)

_WINDOW = 3
"""Rounds over which the last gains of a task are taken."""
_RECENT_SHARE = 0.4
"""How much the last gains count against what might still be gained."""
_ANY_SHARE = 0.05
"""Of rounds that a task at random has."""
_LIKE_BEST = 1.3
"""So many times as slow as the fastest kernel of its kind, in operations a second, a kernel is not hopeless yet."""
_AT_ONCE, _MOST_CONFIRMED = 2, 8
"""Schedules of a task that are timed once more in the end."""


@dataclass(frozen=True)
class AutoOptions:
    """How to search."""

    trials: int = 256
    """Over all tasks, defaults not counted."""
    seed: int = 0
    strategy: Strategy = "draft"
    batch: int = 10
    """Trials of one round."""
    population: int = 32
    """Schedules of one generation that are looked at without being timed."""
    device: str = "llvm"
    """What records say where they were measured."""
    seconds: float = math.inf
    """After so many no new round begins."""


@dataclass
class AutoReport:
    """How far a task is."""

    task: AutoTask
    default_seconds: float = math.inf
    best_seconds: float = math.inf
    best: Made | None = None
    """None: the default."""
    tried: set[Genome] = field(default_factory=set)
    """The schedules that were timed, the default left out."""
    errors: dict[str, int] = field(default_factory=dict)
    """Failed trials by message."""
    curve: list[float] = field(default_factory=list)
    """The best seconds after each round."""
    proposing: float = 0.0
    """Seconds that finding schedules to time has taken."""
    measuring: float = 0.0
    """Seconds that compiling and timing them has taken."""
    fresh: bool = False
    """Whether this search has timed any, not those that it went on from."""

    @property
    def trials(self) -> int:
        """How many schedules were timed."""
        return len(self.tried)

    @property
    def gflops(self) -> float:
        """Billion operations a second of the best schedule."""
        return self.task.operations / self.best_seconds / 1e9 if math.isfinite(self.best_seconds) else 0.0


Watcher = Callable[[Sequence[AutoReport], AutoReport], None]


def estimated_seconds(reports: Iterable[AutoReport]) -> float:
    """Of all kernels of the network, by the best schedule of each."""
    return sum(report.task.weight * report.best_seconds for report in reports)


def auto_tune(
    tasks: Sequence[AutoTask],
    measurer: Measurer,
    options: AutoOptions,
    log: RecordLog | None = None,
    known: Iterable[Record] = (),
    watch: Watcher | None = None,
) -> list[AutoReport]:
    """Search schedules of all tasks; returns their reports in order.

    `known` are records to go on from: their schedules are not timed again, and count as trials. `watch` is told of all tasks and
    of the one that has just had a round. The default schedule of each task is the first candidate; all others are timed in turns
    with it, and in the end the best ones once more and longer, so that none is worse.
    """
    session = _Session(tasks, measurer, options, log, watch)
    session.resume(list(known))
    session.start()
    session.search()
    session.finish()
    return session.reports


class _Session:
    """The state of a search."""

    def __init__(
        self,
        tasks: Sequence[AutoTask],
        measurer: Measurer,
        options: AutoOptions,
        log: RecordLog | None,
        watch: Watcher | None,
    ) -> None:
        self._measurer, self._options, self._log, self._watch = measurer, options, log, watch
        experience = Experience(options.seed)
        self.reports = [AutoReport(task) for task in tasks]
        self._searches = [
            KernelSearch(task.name, task.space, experience, options.seed, options.strategy, options.population, task.hints)
            for task in tasks
        ]
        self._rng = np.random.default_rng(options.seed)
        self._started = time.monotonic()

    def resume(self, known: Sequence[Record]) -> None:
        """Take over what records say."""
        for report, search in zip(self.reports, self._searches, strict=True):
            for record in last_timed(known):
                if record.device == self._options.device and report.task.is_of(record):
                    self._take(report, search, record)

    def _take(self, report: AutoReport, search: KernelSearch, record: Record) -> None:
        try:
            made = report.task.made_of(record)
        except TuningError as error:
            _LOG.info("%s: %s: not used: %s", record.source or "the log", report.task.name, error)
            return
        seconds = record.cost
        if made is not None and made.genome not in report.tried:
            search.update(made, seconds)
            report.tried.add(made.genome)
        self._note(report, made, seconds)

    def start(self) -> None:
        """Time the default schedules that no record knows. All others are compared with them."""
        for report in self.reports:
            if math.isinf(report.default_seconds):
                result = self._measurer.default(report.task)
                self._write(report, [(None, result)])
                self._note(report, None, result.cost)
            report.curve.append(report.best_seconds)

    def search(self) -> None:
        """Rounds, until all trials are made or nothing is left to try."""
        left = self._options.trials - sum(report.trials for report in self.reports)
        while left > 0 and time.monotonic() - self._started < self._options.seconds:
            at = self._next()
            if at is None:
                return
            left -= self._round(at, min(self._options.batch, left))

    def _round(self, at: int, count: int) -> int:
        report, search = self.reports[at], self._searches[at]
        started = time.monotonic()
        proposed = search.propose(count)
        report.proposing += time.monotonic() - started
        for made, result in zip(proposed, self._measured(report, proposed), strict=True):
            search.update(made, result.cost)
            if result.error is not ErrorKind.NONE:
                reason = f"{result.error.name.lower()}: {result.message}".strip(": ")
                report.errors[reason] = report.errors.get(reason, 0) + 1
        report.tried.update(made.genome for made in proposed)
        report.fresh = True
        report.curve.append(report.best_seconds)
        if self._watch is not None:
            self._watch(self.reports, report)
        return len(proposed)

    def finish(self) -> None:
        """Time the best schedules of each task once more, and longer, until what is the best has held."""
        for report, search in zip(self.reports, self._searches, strict=True):
            if report.fresh and math.isfinite(report.default_seconds):
                self._confirm(report, search)

    def _confirm(self, report: AutoReport, search: KernelSearch) -> None:
        known = dict(search.timed())
        enough = report.default_seconds * (1 - LEAST_GAIN)
        held: set[Made] = set()
        while True:
            better = sorted((made for made in known if known[made] < enough), key=known.__getitem__)
            open_ones = [made for made in better[:_AT_ONCE] if made not in held]
            if not better or better[0] in held or len(held) >= _MOST_CONFIRMED:
                break
            results = self._measured(report, open_ones, thorough=True)
            held.update(open_ones)
            known.update((made, result.cost) for made, result in zip(open_ones, results, strict=True))
        best = min(held, key=known.__getitem__, default=None)
        report.best, report.best_seconds = None, report.default_seconds
        if best is not None and known[best] < enough:
            self._note(report, best, known[best])

    def _measured(self, report: AutoReport, made: Sequence[Made], thorough: bool = False) -> list[Measurement]:
        """Seconds of schedules, as if all had been timed when the default was."""
        started = time.monotonic()
        parts = self._measurer.measure(report.task, made, thorough)
        report.measuring += time.monotonic() - started
        results = [
            replace(part, costs=tuple(cost * report.default_seconds for cost in part.costs), timestamp=time.time())
            for part in parts
        ]
        self._write(report, list(zip(made, results, strict=True)))
        for item, result in zip(made, results, strict=True):
            self._note(report, item, result.cost)
        return results

    def _note(self, report: AutoReport, made: Made | None, seconds: float) -> None:
        if made is None:
            report.default_seconds = min(report.default_seconds, seconds)
        if seconds < report.best_seconds:
            report.best, report.best_seconds = made, seconds

    def _write(self, report: AutoReport, pairs: Sequence[tuple[Made | None, Measurement]]) -> None:
        if self._log is not None:
            self._log.append([report.task.record(made, result, self._options.device) for made, result in pairs])

    def _next(self) -> int | None:
        """The task whose next round is likely to take most off the weighted time; None where all is tried."""
        open_ones = [
            at
            for at, (report, search) in enumerate(zip(self.reports, self._searches, strict=True))
            if not search.exhausted and math.isfinite(report.default_seconds)
        ]
        if not open_ones:
            return None
        if self._rng.random() < _ANY_SHARE:
            return int(self._rng.choice(open_ones))
        return max(open_ones, key=self._promise)

    def _promise(self, at: int) -> float:
        """Seconds, times the weight, that the next round may save: what the last ones did, and what others like it reach."""
        report = self.reports[at]
        best = _finite(report.best_seconds)
        recent = report.curve[-_WINDOW - 1 :]
        gained = max(0.0, (_finite(recent[0]) - best) / max(1, len(recent) - 1))
        rounds = 1 + report.trials / self._options.batch
        fastest = max((other.gflops for other in self.reports if _alike(other.task, report.task)), default=0.0)
        floor = report.task.operations / (fastest * 1e9) if fastest else 0.0
        hope = min(best / rounds, max(0.0, _LIKE_BEST * best - floor))
        return report.task.weight * (_RECENT_SHARE * gained + (1 - _RECENT_SHARE) * hope)


def _alike(first: AutoTask, second: AutoTask) -> bool:
    return first.operators == second.operators


def _finite(seconds: float) -> float:
    return seconds if math.isfinite(seconds) else 1.0
