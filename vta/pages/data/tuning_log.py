"""A tuning log: for each workload of each config its trials in order, and how the best of them fell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from vta.errors import TuningError
from vta.pages.data.workload_label import distinct_names, workload_label
from vta.records.log import Record, read_log
from vta.records.measurement import Measured
from vta.support.dataclass import dataclass

__all__ = ["Trial", "TunedWorkload", "TuningLog", "load_log"]

_MOST_TRIALS = 500
"""Of a workload, that are drawn one by one: the best, and of the others some."""
_BEST = 150


@dataclass(frozen=True)
class Trial:
    """One record of a log."""

    number: int
    """From 1, among those of its workload."""
    cost: float
    """Cycles where all of the workload have them, or microseconds; infinite where the trial failed."""
    knobs: tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class TunedWorkload:
    """What a log has of a workload on a config."""

    name: str
    """Short, and different from those of the others."""
    identity: str
    model: str
    """Of the config."""
    unit: str
    """``cycles`` or ``us``."""
    trials: tuple[Trial, ...]
    """In order; of many, some."""
    count: int
    failed: int
    curve: tuple[tuple[int, float], ...]
    """Trial and cost, wherever a better one was found."""

    @property
    def best(self) -> float:
        """The least cost."""
        return self.curve[-1][1] if self.curve else math.inf

    @property
    def first(self) -> float:
        """The first cost that was found: often that of the compiler's own schedule."""
        return self.curve[0][1] if self.curve else math.inf


@dataclass(frozen=True)
class TuningLog:
    """All workloads, in the order in which they come first."""

    workloads: tuple[TunedWorkload, ...]
    problems: int
    """Lines that are no record."""


def load_log(path: str | Path) -> TuningLog:
    """Read a log of `vta tune`. Raises `TuningError` if it has no record."""
    lines = read_log(path)
    groups: dict[tuple[str, str], list[Record]] = {}
    for line in lines:
        if line.record is not None:
            groups.setdefault((line.record.model or line.record.target, line.record.workload.identity), []).append(line.record)
    if not groups:
        raise TuningError(f"{path}: has no tuning record")
    models = {model for model, _ in groups}
    labels = [workload_label(records[0].workload) for records in groups.values()]
    names = [f"{label}, {model}" if len(models) > 1 else label for label, (model, _) in zip(labels, groups, strict=True)]
    short = distinct_names(names)
    found = tuple(
        _workload(name, model, identity, records)
        for name, ((model, identity), records) in zip(short, groups.items(), strict=True)
    )
    return TuningLog(found, sum(bool(line.problem) for line in lines))


def _workload(name: str, model: str, identity: str, records: Sequence[Record]) -> TunedWorkload:
    good = [record for record in records if math.isfinite(record.cost)]
    kind = min((record.measured for record in good), default=Measured.CYCLES)
    in_cycles = kind is Measured.CYCLES and all(record.cycles is not None for record in good)
    trials = [
        Trial(number, _cost(record, kind, in_cycles), tuple((knob, _plain(value)) for knob, _, value in record.entity))
        for number, record in enumerate(records, 1)
    ]
    failed = sum(not math.isfinite(trial.cost) for trial in trials)
    return TunedWorkload(
        name, identity, model, "cycles" if in_cycles else "us", tuple(_some(trials)), len(trials), failed, tuple(_curve(trials))
    )


def _cost(record: Record, kind: Measured, in_cycles: bool) -> float:
    """Only costs of one kind can be compared."""
    if not math.isfinite(record.cost) or record.measured is not kind:
        return math.inf
    return float(record.cycles or 0) if in_cycles else record.cost * 1e6


def _plain(value: object) -> object:
    """A knob's value as a number or a text."""
    if isinstance(value, list | tuple):
        return " x ".join(map(str, value))
    return value if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _some(trials: Sequence[Trial]) -> list[Trial]:
    if len(trials) <= _MOST_TRIALS:
        return list(trials)
    best = sorted(trials, key=lambda trial: trial.cost)[:_BEST]
    step = math.ceil(len(trials) / (_MOST_TRIALS - _BEST))
    return sorted({trial.number: trial for trial in (*best, *trials[::step])}.values(), key=lambda trial: trial.number)


def _curve(trials: Iterable[Trial]) -> Iterable[tuple[int, float]]:
    best = math.inf
    for trial in trials:
        if trial.cost < best:
            best = trial.cost
            yield trial.number, best
