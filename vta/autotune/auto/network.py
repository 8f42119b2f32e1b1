"""What schedules are worth in their network: one that makes the whole slower is not the best of its kernel.

A kernel alone finds its data in the cache, and the caches to itself. In a network it does not.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from vta.autotune.auto.session import AutoReport
from vta.records.log import RecordLog
from vta.records.measurement import Measurement
from vta.records.record import Record
from vta.support.dataclass import dataclass

__all__ = ["InNetwork", "NetworkTimer", "confirm_in_network"]


class NetworkTimer(Protocol):
    """Times a network by schedules of its kernels."""

    def seconds(self, choices: Sequence[Sequence[Record]]) -> list[float]:
        """The least seconds of a run by the records of each choice, in turns; other kernels have their default."""


@dataclass(frozen=True)
class InNetwork:
    """What came of it."""

    default_seconds: float
    """Of a run by default schedules."""
    seconds: float
    """Of a run by the schedules that are left."""
    dropped: tuple[str, ...]
    """Names of tasks whose schedule the network is faster without."""


def confirm_in_network(
    reports: Sequence[AutoReport], timer: NetworkTimer, log: RecordLog | None, device: str, most_seconds: float
) -> InNetwork | None:
    """Drop schedules that the network is faster without, those that save least first; None if there are none to begin with.

    A schedule that is dropped is recorded once more, with its default's time. After `most_seconds` no other is tried.
    """
    end = time.monotonic() + most_seconds
    kept = sorted((report for report in reports if report.best is not None), key=_saved)
    if not kept:
        return None
    dropped: list[AutoReport] = []
    for report in tuple(kept):
        if time.monotonic() > end:
            break
        others = [other for other in kept if other is not report]
        with_it, without_it = timer.seconds([_records(kept, device), _records(others, device)])
        if without_it < with_it:
            kept = others
            dropped.append(report)
    default, left = timer.seconds([[], _records(kept, device)])
    if left > default:
        dropped += kept
        left = default
    for report in dropped:
        _drop(report, log, device)
    return InNetwork(default, left, tuple(report.task.name for report in dropped))


def _saved(report: AutoReport) -> float:
    return report.task.weight * (report.default_seconds - report.best_seconds)


def _records(reports: Sequence[AutoReport], device: str) -> list[Record]:
    return [
        report.task.record(made, Measurement((seconds,)), device)
        for report in reports
        for made, seconds in ((None, report.default_seconds), (report.best, report.best_seconds))
    ]


def _drop(report: AutoReport, log: RecordLog | None, device: str) -> None:
    if log is not None:
        result = replace(Measurement((report.default_seconds,)), timestamp=time.time())
        log.append([report.task.record(report.best, result, device)])
    report.best, report.best_seconds = None, report.default_seconds
