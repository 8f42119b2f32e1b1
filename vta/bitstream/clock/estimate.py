"""At which clock a system is likely to run on an ECP5, without placing and routing it.

The longest paths are control, the same in every core, and four fifths of them are wires across an FPGA over which every system is
spread. So the period is estimated as one time, that of a speed grade, fitted to the systems that were built, without Ethernet. Of
other families none was placed and routed, and there is no estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from vta.bitstream.clock.build_report import BuildReport, built_systems
from vta.boards.description import Board
from vta.boards.files import find_board
from vta.boards.fpga import Fpga
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.hardware.need import need_of
from vta.support.dataclass import dataclass

__all__ = ["ClockEstimator", "KnownClock", "known_clock", "left_out_errors", "shipped_estimator"]

_SLOWER = {8: 1.0, 7: 1.15, 6: 1.3}
"""By speed grade, periods in relation to those of grade 8."""
_SAME_SIZE = "85k"
"""What the names of devices end in on which systems were built."""
_FEWEST = 3
"""Systems of which a line and its error follow."""


@dataclass(frozen=True)
class KnownClock:
    """How fast a system may run."""

    mhz: float
    source: str
    """``built``, as a build of that core for that board came to; or ``estimated``."""
    error: float
    """Of estimates, as a share: how far they are off for systems that they are not fitted to, on average. 0 for what was built."""


@dataclass(frozen=True)
class _Point:
    """A system as estimates see it."""

    memories: float
    slower: float

    @property
    def terms(self) -> tuple[float, float]:
        """Of the period in ns."""
        return self.slower, self.slower * math.sqrt(self.memories)


def _point(hw: HardwareConfig, timing: TimingParameters, board: Board) -> _Point:
    assert board.fpga is not None, "whoever asks has made sure of it"
    return _Point(need_of(hw, timing, board.family, board.capacity).block_memories, _SLOWER[board.fpga.speed])


class ClockEstimator:
    """Periods fitted to `reports` of systems without Ethernet."""

    def __init__(self, reports: Iterable[BuildReport]) -> None:
        reports = list(reports)
        rows = np.array([_point(report.config, report.timing, find_board(report.board)).terms for report in reports], float)
        periods = np.array([1000 / report.fmax_mhz for report in reports], float)
        terms, *_ = np.linalg.lstsq(rows / periods[:, None], np.ones(len(reports)), rcond=None)
        self.terms = tuple(float(term) for term in terms)
        """Nanoseconds of any system, and of each step across its memories, at speed grade 8."""

    def mhz(self, hw: HardwareConfig, timing: TimingParameters, board: Board) -> float:
        """As fast as the system of a core is likely to run."""
        return 1000 / float(np.dot(self.terms, _point(hw, timing, board).terms))


def left_out_errors(reports: Sequence[BuildReport]) -> dict[str, float]:
    """How far estimates are off, as shares of the clock that was reached, for each system estimated from all others."""
    errors = {}
    for report in reports:
        others = [other for other in reports if other is not report]
        estimator = ClockEstimator(others)
        errors[report.name] = estimator.mhz(report.config, report.timing, find_board(report.board)) / report.fmax_mhz - 1
    return errors


@cache
def shipped_estimator() -> tuple[ClockEstimator, float] | None:
    """The estimates from the reports that come with this package, and their mean error; None with too few of them."""
    reports = [report for report in built_systems() if not report.ethernet]
    if len(reports) < _FEWEST:
        return None
    errors = left_out_errors(reports).values()
    return ClockEstimator(reports), sum(map(abs, errors)) / len(errors)


def known_clock(hw: HardwareConfig, board: Board, timing: TimingParameters) -> KnownClock | None:
    """How fast the core of `hw` runs in a system on `board` that is reached by its serial line; None where nothing tells."""
    built = [report.fmax_mhz for report in built_systems() if _is(report, hw, board, timing)]
    if built:
        return KnownClock(max(built), "built", 0.0)
    known = shipped_estimator()
    if known is None or not _is_like_built(board.fpga):
        return None
    estimator, error = known
    return KnownClock(round(estimator.mhz(hw, timing, board), 1), "estimated", round(error, 3))


def _is(report: BuildReport, hw: HardwareConfig, board: Board, timing: TimingParameters) -> bool:
    """Whether `report` is of this system."""
    return (
        not report.ethernet and report.board == board.name and report.config.bitstream == hw.bitstream and report.timing == timing
    )


def _is_like_built(fpga: Fpga | None) -> bool:
    return fpga is not None and fpga.device.endswith(_SAME_SIZE)
