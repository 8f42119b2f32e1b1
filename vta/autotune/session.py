"""Tuning tasks: propose, measure, learn, record, until the trials are used up or nothing gets better."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from math import isfinite, isinf
from typing import Any, Generic, TypeVar

from vta.autotune.measure.measure import Candidate, MeasureOption, Releasing, measure
from vta.autotune.task import Task
from vta.autotune.tunable import Tunable
from vta.autotune.tuners import Experience, Tuner, make_tuner
from vta.errors import TuningError
from vta.records.log import Record, RecordLog, with_scalar_operands
from vta.records.measurement import ErrorKind, Measured, Measurement, failed, measured_on
from vta.records.objective import FEWEST_CYCLES, Objective
from vta.support.dataclass import dataclass

__all__ = ["TaskReport", "TuneOptions", "tune", "tune_task"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class TuneOptions:
    """How to tune each task."""

    tuner: str = "xgb"
    trials: int = 256
    """At most; never more than the space has points."""
    early_stopping: int | None = None
    """Stop when this many trials in a row have not found anything better."""
    seed: int = 0
    transfer: bool = True
    """Tuners that learn also learn from the tasks tuned before."""
    device: str = "cycle"
    """What records say where they were measured."""
    objective: Objective = FEWEST_CYCLES
    """What is to be small. Where that is energy, the runner has to know it."""


TaskT = TypeVar("TaskT", bound=Tunable)


@dataclass
class TaskReport(Generic[TaskT]):
    """How far a task is."""

    task: TaskT
    planned: int
    trials: int = 0
    default_cycles: int | None = None
    default_cost: float = float("inf")
    best: Any = None
    """The schedule, if a trial succeeded."""
    best_cost: float = float("inf")
    best_value: float = float("inf")
    """Of the objective: the cost, if that is cycles."""
    least_value: float = 0.0
    """Below which a model says that it cannot be."""
    default_energy_pj: float | None = None
    """Where energy is judged."""
    best_energy_pj: float | None = None
    best_cycles: int | None = None
    current_cycles: int | None = None
    """Of the last trial."""
    current_cost: float = float("inf")
    errors: dict[str, int] = field(default_factory=dict)
    """Failed trials by message."""
    curve: list[tuple[int, float]] = field(default_factory=list)
    """Trials done and the best value of the objective then, where it changed."""
    seconds: float = 0.0

    @property
    def share(self) -> float:
        """What a model says is the least over the best, in the objective: at most 1 where that is a bound."""
        return self.least_value / self.best_value

    @property
    def gops(self) -> float:
        """Billion operations a second, two for each multiply-accumulate, at the clock of the config's platform."""
        return 2 * self.task.macs / self.best_cost / 1e9 if self.best_cost else 0.0


Watcher = Callable[[TaskReport[TaskT]], None]
Hints = Callable[[TaskT], Iterable[Any]]
"""Schedules of a task that are known to be good."""


def tune(
    tasks: Sequence[TaskT],
    option: MeasureOption,
    options: TuneOptions,
    log: RecordLog | None = None,
    known: Iterable[Record] = (),
    watch: Watcher[TaskT] | None = None,
    hints: Hints[TaskT] | None = None,
) -> list[TaskReport[TaskT]]:
    """Tune tasks, the last one first; returns their reports in the order of `tasks`.

    `known` are records to go on from: their points are not measured again. `watch` is told after every batch. What `hints` gives
    is measured beside the trials, and searched around.
    Raises `TuningError` if a task has no valid candidate; what was recorded before stays.
    """
    experience = Experience() if options.transfer else None
    records = list(known)
    reports = []
    try:
        for task in reversed(tasks):
            tuner = make_tuner(options.tuner, task, options.seed, experience)
            reports.append(tune_task(task, tuner, option, options, log, records, watch, hints))
    finally:
        # Whoever evaluates what was found may need the very device that it was found on.
        if isinstance(option.runner, Releasing):
            option.runner.release()
    return reports[::-1]


def tune_task(
    task: TaskT,
    tuner: Tuner,
    option: MeasureOption,
    options: TuneOptions,
    log: RecordLog | None = None,
    known: Iterable[Record] = (),
    watch: Watcher[TaskT] | None = None,
    hints: Hints[TaskT] | None = None,
) -> TaskReport[TaskT]:
    """Tune one task, see `tune`. The default schedule is measured first, beside the trials, so the best is never worse."""
    report = TaskReport(task, min(options.trials, task.space.size), least_value=_least_value(task, options.objective))
    run = _Run(task, tuner, report, log, options)
    started = time.perf_counter()
    run.resume(known)
    run.start(option, hints(task) if hints is not None else ())
    since_best = 0
    while report.trials < report.planned and (options.early_stopping is None or since_best < options.early_stopping):
        best = report.best_value
        proposed = tuner.propose(min(tuner.batch_size, report.planned - report.trials))
        if not proposed:
            break
        run.measure(proposed, option)
        since_best = 0 if report.best_value < best else since_best + len(proposed)
        report.seconds = time.perf_counter() - started
        if watch is not None:
            watch(report)
    if report.best is None:
        reasons = "; ".join(f"{count} trials: {message}" for message, count in report.errors.items())
        raise TuningError(f"{task.name}: no valid candidate: {task.space.rejections()}; {reasons or 'no trial was made'}")
    return report


def _least_value(task: Tunable, objective: Objective) -> float:
    """Of the objective of a task. Raises `TuningError` for energies of what has none."""
    if not objective.has_energy:
        return objective.value(task.least_seconds, None)
    if not isinstance(task, Task):
        raise TuningError(f"{task.name}: objective {objective.text}: energy is known of operators of the accelerator alone")
    return objective.value(task.least_seconds, task.least_energy_pj(objective.technology))


class _Run(Generic[TaskT]):
    """The state of tuning one task."""

    def __init__(
        self, task: Tunable, tuner: Tuner, report: TaskReport[TaskT], log: RecordLog | None, options: TuneOptions
    ) -> None:
        self._task = task
        self._tuner = tuner
        self._report = report
        self._log = log
        self._device = options.device
        self._objective = options.objective
        self._measured: Measured | None = None
        """What the first cost was, and all must be."""

    def resume(self, known: Iterable[Record]) -> None:
        """Take over what records of the same task, config and device say."""
        numbers, scores = [], []
        ours = [record for record in known if record.device == self._device and self._task.is_of(record)]
        self._measured = min((record.measured for record in ours if not record.error), default=None)
        for record in ours:
            if not record.error and record.measured is not self._measured:
                continue
            try:
                schedule = self._task.schedule_of(record)
            except TuningError as error:
                # A schedule that was tried and found not to fit is no mistake of the log.
                if not record.error:
                    _LOG.warning("%s: %s: not used: %s", record.source or "the log", self._task.name, error)
                continue
            number = self._task.space.find(schedule)
            if number is None or number in self._tuner.visited:
                continue
            if not record.error and isinf(self._objective.of(record)):
                # Its energy is not known: it is measured again.
                continue
            self._tuner.visited.add(number)
            costs = record.costs if not record.error else ()
            result = Measurement(
                costs, record.cycles, ErrorKind(record.error), energy_pj=record.energy_pj, technology=record.technology
            )
            self._note(Candidate(self._task, schedule, number), result, 1, "from the log")
            numbers.append(number)
            scores.append(self._score(result))
        if numbers:
            self._tuner.update(numbers, scores)

    def start(self, option: MeasureOption, hints: Iterable[Any]) -> None:
        """Measure the schedule that the compiler takes without records, and the hints."""
        schedules = dict.fromkeys([self._task.default(), *hints])
        numbers = [self._task.space.find(schedule) for schedule in schedules]
        candidates = [
            Candidate(self._task, schedule, -1 if number is None else number)
            for schedule, number in zip(schedules, numbers, strict=True)
        ]
        results = self._comparable(measure(candidates, option))
        self._report.default_cycles = results[0].cycles
        self._report.default_cost = results[0].cost
        self._report.default_energy_pj = results[0].energy_pj
        kinds = ["default", *["known"] * (len(candidates) - 1)]
        for candidate, result, kind in zip(candidates, results, kinds, strict=True):
            self._note(candidate, result, 0, kind)
        self._write(candidates, results)
        points = [(number, self._score(result)) for number, result in zip(numbers, results, strict=True) if number is not None]
        if points:
            self._tuner.start_from(*map(list, zip(*points, strict=True)))

    def measure(self, numbers: Sequence[int], option: MeasureOption) -> None:
        """Measure points of the space, and let the tuner learn from them."""
        candidates = [Candidate(self._task, self._task.space.schedule(number), number) for number in numbers]
        results = self._comparable(measure(candidates, option))
        for candidate, result in zip(candidates, results, strict=True):
            self._note(candidate, result, 1, "trial")
        self._write(candidates, results)
        self._tuner.update(numbers, [self._score(result) for result in results])

    def _comparable(self, results: Iterable[Measurement]) -> list[Measurement]:
        """The results, those with a cost of another kind than the first one as failures."""
        return [self._checked(result) for result in results]

    def _checked(self, result: Measurement) -> Measurement:
        if not result.costs:
            return result
        kind = measured_on(self._device, result.cycles)
        if self._measured is None:
            self._measured = kind
        if kind is self._measured and isfinite(self._value(result)):
            return result
        if kind is self._measured:
            return failed(ErrorKind.UNKNOWN, "what it was measured on does not count what energy is made of", result.seconds)
        message = f"its cost is {kind.words}, that of the others {self._measured.words}: they cannot be compared"
        return failed(ErrorKind.UNKNOWN, message, result.seconds)

    def _score(self, result: Measurement) -> float:
        return self._report.least_value / self._value(result) if result.costs else 0.0

    def _value(self, result: Measurement) -> float:
        return self._objective.value(result.cost, result.energy_pj)

    def _note(self, candidate: Candidate, result: Measurement, trials: int, kind: str) -> None:
        report = self._report
        report.trials += trials
        if _LOG.isEnabledFor(logging.DEBUG):
            _LOG.debug("%s", _said(candidate, result, f"{kind} {report.trials} of {report.planned}" if trials else kind))
        report.current_cycles, report.current_cost = result.cycles, result.cost
        if result.error is not ErrorKind.NONE:
            reason = f"{result.error.name.lower()}: {result.message}".strip(": ")
            report.errors[reason] = report.errors.get(reason, 0) + 1
        elif (value := self._value(result)) < report.best_value:
            report.best, report.best_value = candidate.schedule, value
            report.best_cost, report.best_cycles, report.best_energy_pj = result.cost, result.cycles, result.energy_pj
            report.curve.append((report.trials, value))

    def _write(self, candidates: Sequence[Candidate], results: Sequence[Measurement]) -> None:
        if self._log is None:
            return
        task = self._task
        made = [
            task.record(candidate.schedule, candidate.number, result, self._device)
            for candidate, result in zip(candidates, results, strict=True)
        ]
        self._log.append(with_scalar_operands(made))


def _said(candidate: Candidate, result: Measurement, what: str) -> str:
    """One line that says all of a trial."""
    task = candidate.task
    if result.error is ErrorKind.NONE:
        cycles = f"{result.cycles:,} cycles, " if result.cycles is not None else ""
        speed = f", {2 * task.macs / result.cost / 1e9:.2f} GOPS" if task.macs else ""
        energy = f", {result.energy_pj * 1e-6:.3f} uJ" if result.energy_pj is not None else ""
        outcome = f"{cycles}{result.cost * 1e3:.3f} ms{speed}{energy}"
    else:
        outcome = f"failed: {result.error.name.lower()}: {result.message or 'no message'}"
    values = vars(candidate.schedule)
    knobs = " ".join(f"{name}={int(value)}" for name, value in values.items())
    return f"{task.name}: {what}: {outcome}; {result.seconds:.3f} s; {knobs}"
