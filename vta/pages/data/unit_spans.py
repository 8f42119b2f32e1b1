"""What each unit did when: the intervals of a run, few enough to be drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from vta.codegen.region_program import MOVE_SUFFIX
from vta.devices.device import TIMELINE_KINDS, TIMELINE_UNITS
from vta.isa.instruction import Opcode
from vta.pages.data.coverage import covered
from vta.pages.data.windows import DeviceRun
from vta.support.dataclass import dataclass

__all__ = ["IDLE", "STATES", "UnitShares", "UnitSpan", "UnitSpans", "unit_shares", "unit_spans"]

IDLE = "idle"
STATES = {"busy": "works", "token": "waits for another unit", "memory": "waits for memory"}
"""Words for `TIMELINE_KINDS`."""
_MOST_SPANS = 9000
_BINS = 1500
"""Of a run with more spans: in each the state that takes most of it is drawn."""


@dataclass(frozen=True)
class UnitSpan:
    """Cycles [start, end) of one unit in one state."""

    unit: str
    start: int
    end: int
    state: str
    """One of the words of `STATES`."""
    operator: str
    what: str
    """The instruction; "" where several stand for one another."""


@dataclass(frozen=True)
class UnitSpans:
    """The spans of all units by time."""

    spans: tuple[UnitSpan, ...]
    step: int
    """Cycles that one span is a multiple of, where what is shorter was drawn together; 1: each is as it was."""


@dataclass(frozen=True)
class UnitShares:
    """Of equal stretches of time, the part that a unit spent in each state."""

    unit: str
    edges: tuple[float, ...]
    shares: dict[str, tuple[float, ...]]
    """By the words of `STATES`, one entry for each stretch."""


def unit_spans(runs: Sequence[DeviceRun], most: int = _MOST_SPANS) -> UnitSpans:
    """All spans of runs with a timeline, or at most about `most` in their place."""
    count = sum(len(run.result.timeline) for run in runs if run.result.timeline is not None)
    if count <= most:
        spans = [span for run in runs for span in _each(run)]
        return UnitSpans(tuple(sorted(spans, key=lambda span: (span.start, span.unit))), 1)
    end = runs[-1].end
    step = max(1, -(-end // _BINS))
    spans = [span for run in runs for span in _together(run, step)]
    return UnitSpans(tuple(sorted(spans, key=lambda span: (span.start, span.unit))), step)


def unit_shares(runs: Sequence[DeviceRun], bins: int) -> list[UnitShares]:
    """How busy each unit was in each of `bins` equal stretches of all runs."""
    edges = np.linspace(0, max(1, runs[-1].end), bins + 1)
    found = []
    for unit, name in enumerate(TIMELINE_UNITS):
        sums = {state: np.zeros(bins) for state in STATES.values()}
        for run in runs:
            own = _of_unit(run, unit)
            for kind, key in enumerate(TIMELINE_KINDS):
                rows = own[own["kind"] == kind]
                starts, ends = (rows[end].astype(np.float64) + run.start for end in ("start", "end"))
                sums[STATES[key]] += covered(starts, ends, edges)
        width = np.diff(edges)
        shares = {state: tuple(np.round(total / width, 4).tolist()) for state, total in sums.items()}
        found.append(UnitShares(name, tuple(edges.tolist()), shares))
    return found


def _of_unit(run: DeviceRun, unit: int) -> NDArray[np.void]:
    assert run.result.timeline is not None
    own = run.result.timeline[run.result.timeline["unit"] == unit]
    ordered: NDArray[np.void] = own[np.argsort(own["start"], kind="stable")]
    return ordered


def _each(run: DeviceRun) -> Iterator[UnitSpan]:
    for unit, name in enumerate(TIMELINE_UNITS):
        for start, end, instruction, _, kind in _of_unit(run, unit).tolist():
            what = Opcode(int(run.region.program.instructions["opcode"][instruction])).name
            yield UnitSpan(
                name, run.start + start, run.start + end, STATES[TIMELINE_KINDS[kind]], _operator(run, instruction), what
            )


def _together(run: DeviceRun, step: int) -> Iterator[UnitSpan]:
    """Steps of `step` cycles, neighbours of the same state and operator in one span; idle ones are left out."""
    length = max(1, run.end - run.start)
    edges = np.append(np.arange(0, length, step, dtype=np.float64), float(length))
    for unit, name in enumerate(TIMELINE_UNITS):
        own = _of_unit(run, unit)
        if not len(own):
            continue
        shares = np.stack([_covered_of_kind(own, kind, edges) for kind in range(len(TIMELINE_KINDS))])
        idle = np.diff(edges) - shares.sum(axis=0)
        state = np.argmax(np.vstack([shares, idle]), axis=0)
        middle = np.searchsorted(own["start"], (edges[:-1] + edges[1:]) / 2, side="right") - 1
        instruction = own["instruction"][np.maximum(middle, 0)].astype(np.int64)
        keys = [(kind, _operator(run, int(index))) for kind, index in zip(state.tolist(), instruction.tolist(), strict=True)]
        for (kind, operator), places in groupby(range(len(keys)), key=keys.__getitem__):
            if kind < len(TIMELINE_KINDS):
                where = list(places)
                first, last = int(edges[where[0]]), int(edges[where[-1] + 1])
                yield UnitSpan(name, run.start + first, run.start + last, STATES[TIMELINE_KINDS[kind]], operator, "")


def _covered_of_kind(own: NDArray[np.void], kind: int, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = own[own["kind"] == kind]
    return covered(rows["start"].astype(np.float64), rows["end"].astype(np.float64), edges)


def _operator(run: DeviceRun, instruction: int) -> str:
    origin = run.region.program.origin(instruction)
    return "" if origin is None else origin.operator.removesuffix(MOVE_SUFFIX)
