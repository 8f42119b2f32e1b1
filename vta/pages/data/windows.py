"""The device runs of a network laid end to end on one axis of cycles, and the stretch that each operator completes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from vta.codegen.region_program import RegionProgram
from vta.devices.device import RunResult
from vta.runtime.operator_cycles import operator_cycles
from vta.support.dataclass import dataclass

__all__ = ["DeviceRun", "Results", "Window", "device_runs", "windows"]

Results = Sequence[tuple[RegionProgram, RunResult]]


@dataclass(frozen=True)
class DeviceRun:
    """A device run, and the cycle at which it starts if each follows the one before."""

    start: int
    region: RegionProgram
    result: RunResult

    @property
    def end(self) -> int:
        """The cycle after its last one."""
        return self.start + (self.result.cycles or 0)


@dataclass(frozen=True)
class Window:
    """Cycles [start, end) from the completion of the operators before to that of this one: windows do not overlap."""

    operator: str
    region: str
    start: int
    end: int
    first: int
    """Cycle in which the first instruction of the operator was accepted: before `start` where operators overlap."""


def device_runs(results: Results) -> list[DeviceRun]:
    """The runs one after the other; what the host does between them takes no time here."""
    starts = accumulate((result.cycles or 0 for _, result in results), initial=0)
    return [DeviceRun(start, region, result) for start, (region, result) in zip(starts, results, strict=False)]


def windows(runs: Sequence[DeviceRun]) -> list[Window]:
    """One for each operator, by time: together they are all cycles of the runs, as in `network_cost`."""
    return [window for run in runs for window in _of_run(run)]


def _of_run(run: DeviceRun) -> list[Window]:
    rows = sorted(operator_cycles(run.region, run.result), key=lambda row: row.total.last)
    if not rows:
        return [Window(run.region.name, run.region.name, run.start, run.end, run.start)]
    ends = [run.start + row.total.last for row in rows]
    ends[-1] = max(ends[-1], run.end)
    starts = [run.start, *ends[:-1]]
    return [
        Window(row.operator, run.region.name, start, end, run.start + row.total.first)
        for row, start, end in zip(rows, starts, ends, strict=True)
    ]
