"""The timeline of the compute unit without gaps: every cycle of a run belongs to one instruction, in one way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vta.devices.device import TIMELINE_KINDS, TIMELINE_UNITS, RunResult
from vta.support.dataclass import dataclass

__all__ = ["BUSY", "IDLE", "MEMORY", "TOKEN", "Activity", "Segments", "activity_of", "segments_of"]

Ints = NDArray[np.int64]

BUSY, TOKEN, MEMORY = (TIMELINE_KINDS.index(kind) for kind in ("busy", "token", "memory"))
IDLE = len(TIMELINE_KINDS)


@dataclass(frozen=True)
class Segments:
    """Cycles [start, end) of the compute unit, one after the other from 0 to the end of the run; all of shape (n,)."""

    start: Ints
    end: Ints
    kind: Ints
    """`BUSY`, `TOKEN`, `MEMORY` or `IDLE`."""
    instruction: Ints
    """That the unit works on or waits with; of idle cycles the one that follows, or the last."""


@dataclass(frozen=True)
class Activity:
    """How many cycles a unit has spent in one way, at any time."""

    start: Ints
    end: Ints
    before: Ints
    """Shape (n + 1,): cycles of all intervals before each."""

    def within(self, start: Ints, end: Ints) -> Ints:
        """Cycles spent in [start, end), elementwise; 0 where `end` is not above `start`."""
        return np.where(end > start, self._until(end) - self._until(start), 0)

    def _until(self, cycle: Ints) -> Ints:
        index = np.searchsorted(self.start, cycle, "right")
        if not len(self.start):
            return np.zeros_like(cycle)
        last = np.maximum(index - 1, 0)
        partial = np.clip(cycle - self.start[last], 0, self.end[last] - self.start[last])
        return np.where(index > 0, self.before[last] + partial, 0)


def segments_of(result: RunResult) -> Segments:
    """Cut the run of a timeline (`RunOptions.timeline`) into what the compute unit did."""
    rows = _rows(result, "compute")
    end, cycles = rows["end"], result.cycles or 0
    before = np.concatenate([[0], end])
    gap = np.concatenate([rows["start"], [cycles]]) - before
    follower = np.concatenate([rows["instruction"], rows["instruction"][-1:]])
    gaps = np.flatnonzero(gap > 0)
    start = np.concatenate([rows["start"], before[gaps]])
    order = np.argsort(start, kind="stable")
    return Segments(
        start[order],
        np.concatenate([end, (before + gap)[gaps]])[order],
        np.concatenate([rows["kind"], np.full(len(gaps), IDLE)])[order],
        np.concatenate([rows["instruction"], follower[gaps]])[order],
    )


def activity_of(result: RunResult, unit: str, kind: int) -> Activity:
    """When a unit (of `TIMELINE_UNITS`) was `BUSY`, or waited with `TOKEN` or `MEMORY`."""
    rows = _rows(result, unit)
    chosen = rows["kind"] == kind
    start, end = rows["start"][chosen], rows["end"][chosen]
    return Activity(start, end, np.concatenate([[0], np.cumsum(end - start)]))


def _rows(result: RunResult, unit: str) -> dict[str, Ints]:
    """The intervals of a unit in the order of time, without what lies behind the end of the run."""
    timeline = result.timeline
    assert timeline is not None, "the run was made with a timeline"
    rows = timeline[timeline["unit"] == TIMELINE_UNITS.index(unit)]
    rows = rows[np.argsort(rows["start"], kind="stable")]
    return {name: rows[name].astype(np.int64) for name in ("start", "end", "instruction", "kind")}
