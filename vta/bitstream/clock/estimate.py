"""At which clock a system is likely to run on an ECP5, without placing and routing it.

The longest paths are control, the same in every core, and four fifths of them are wires across an FPGA over which every system is
spread. So the period is estimated as one time, that of a speed grade, fitted to the systems that were built, without Ethernet. Of
other families none was placed and routed, and there is no estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from vta.bitstream.clock.build_report import BuildReport, built_systems
from vta.boards.description import Board
from vta.boards.files import find_board
from vta.boards.fpga import Fpga
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.support.dataclass import dataclass

__all__ = ["ClockEstimator", "KnownClock", "estimated_from_others", "known_clock", "shipped_estimator"]

_SLOWER = {"5G-8": 1.0, "6": 1.53}
"""By speed grade, periods in relation to those of the fastest: of the places that `sim_1x4` has on a ULX3S, routed for either
grade (57.9 and 88.7 MHz). Of others nothing was routed."""
_SAME_SIZE = "85k"
"""What the names of devices end in on which systems were built."""
_FEWEST = 2
"""Systems of which a mean and its error follow."""


@dataclass(frozen=True)
class KnownClock:
    """How fast a system may run."""

    mhz: float
    source: str
    """``built``, as a build of that core for that board came to; or ``estimated``."""
    error: float
    """Of estimates, as a share: how far they are off on average for systems that they are not fitted to. 0 for what was built."""


class ClockEstimator:
    """The period of `reports` of systems, on average."""

    def __init__(self, reports: Iterable[BuildReport]) -> None:
        periods = [1000 / report.fmax_mhz / _slower(find_board(report.board)) for report in reports]
        self.period_ns = sum(periods) / len(periods)
        """At the fastest speed grade."""

    def mhz(self, board: Board) -> float:
        """As fast as a system on `board` is likely to run."""
        return 1000 / (self.period_ns * _slower(board))


def _slower(board: Board) -> float:
    assert board.fpga is not None, "whoever asks has made sure of it"
    return _SLOWER[board.fpga.speed_grade]


def estimated_from_others(reports: Sequence[BuildReport]) -> list[tuple[BuildReport, float]]:
    """Each build, and the MHz that are estimated for it from those of all other systems; there are two systems or more."""
    return [
        (report, ClockEstimator(other for other in reports if other.system != report.system).mhz(find_board(report.board)))
        for report in reports
    ]


@cache
def shipped_estimator() -> tuple[ClockEstimator, float] | None:
    """The estimates from the reports that come with this package, and their mean error; None with too few of them."""
    reports = [report for report in built_systems() if not report.ethernet]
    if len({report.system for report in reports}) < _FEWEST:
        return None
    errors = [abs(mhz / report.fmax_mhz - 1) for report, mhz in estimated_from_others(reports)]
    return ClockEstimator(reports), sum(errors) / len(errors)


def known_clock(hw: HardwareConfig, board: Board, timing: TimingParameters) -> KnownClock | None:
    """How fast the core of `hw` runs in a system on `board` that is reached by its serial line; None where nothing tells."""
    built = [report.fmax_mhz for report in built_systems() if _is(report, hw, board, timing)]
    if built:
        return KnownClock(max(built), "built", 0.0)
    known = shipped_estimator()
    if known is None or not _is_like_built(board.fpga):
        return None
    estimator, error = known
    return KnownClock(round(estimator.mhz(board), 1), "estimated", round(error, 3))


def _is(report: BuildReport, hw: HardwareConfig, board: Board, timing: TimingParameters) -> bool:
    """Whether `report` is of this system."""
    return (
        not report.ethernet and report.board == board.name and report.config.bitstream == hw.bitstream and report.timing == timing
    )


def _is_like_built(fpga: Fpga | None) -> bool:
    return fpga is not None and fpga.device.endswith(_SAME_SIZE) and fpga.speed_grade in _SLOWER
