"""Estimates of clocks: the mean of what was built, by speed grade; what was built itself; and nothing where nothing tells."""

from dataclasses import replace

import pytest

from vta.bitstream.clock import estimate
from vta.bitstream.clock.build_report import BuildReport, built_systems
from vta.bitstream.clock.estimate import ClockEstimator, estimated_from_others, known_clock, shipped_estimator
from vta.bitstream.report import Resources
from vta.boards.files import find_board, shipped_boards
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters

ECPIX5, ULX3S = find_board("ecpix5"), find_board("ulx3s-85f")
HW = HardwareConfig.named("sim_1x4")
TIMING = TimingParameters(bus_bits=128)


def made(mhz, board=ECPIX5, hw=HW, timing=TIMING, *, ethernet=False, seed=1):
    return BuildReport(board.name, hw, timing, ethernet, seed, 50.0, mhz, {}, Resources(1, 2, 3, 4), {}, {})


def test_the_speed_grade_of_every_board_is_known():
    boards = [find_board(name) for name in shipped_boards()]
    assert {board.fpga.speed_grade for board in boards if board.fpga} == {"5G-8", "6"}


def test_periods_of_slower_grades_are_longer():
    estimator = ClockEstimator([made(100.0), made(50.0)])
    assert estimator.period_ns == pytest.approx(15)
    assert estimator.mhz(ECPIX5) == pytest.approx(1000 / 15)
    assert estimator.mhz(ULX3S) == pytest.approx(1000 / 15 / 1.53)
    assert ClockEstimator([made(estimator.mhz(ULX3S), ULX3S)]).mhz(ECPIX5) == pytest.approx(1000 / 15)


def test_each_is_compared_with_all_others():
    other = replace(HW, log_block=3)
    systems = [made(80.0), made(100.0, hw=other), made(50.0, seed=2)]
    assert [mhz for _, mhz in estimated_from_others(systems)] == pytest.approx([100, 2 / (1 / 80 + 1 / 50), 100])


def test_the_best_of_what_was_built_is_known(monkeypatch):
    monkeypatch.setattr(estimate, "built_systems", lambda: (made(80.0), made(84.0, seed=2), made(30.0, ethernet=True)))
    known = known_clock(replace(HW, target="rtl"), ECPIX5, TIMING)
    assert (known.mhz, known.source, known.error) == (84.0, "built", 0.0)


@pytest.fixture
def few(monkeypatch):
    """Reports of two systems, and of one with Ethernet."""
    systems = (made(80.0), made(100.0, hw=replace(HW, log_block=5)), made(30.0, ethernet=True))
    monkeypatch.setattr(estimate, "built_systems", lambda: systems)
    shipped_estimator.cache_clear()
    yield
    shipped_estimator.cache_clear()


@pytest.mark.parametrize(("board", "mhz"), [(ECPIX5, 88.9), (ULX3S, 58.1)])
def test_others_are_estimated_with_the_error_of_those_left_out(few, board, mhz):
    known = known_clock(HardwareConfig.named("sim_1x8"), board, TIMING)
    assert (known.mhz, known.source, known.error) == (mhz, "estimated", pytest.approx((0.25 + 0.2) / 2))


@pytest.mark.parametrize("name", ["pynq-z1", "ultra96", "zcu104", "de10-nano"])
def test_of_families_that_nobody_routed_nothing_is_known(few, name):
    assert known_clock(HW, find_board(name), TimingParameters(bus_bits=64)) is None


def test_of_a_smaller_fpga_nothing_is_known(few):
    small = replace(ULX3S, fpga=replace(ULX3S.fpga, device="25k"))
    assert known_clock(HW, small, TIMING) is None
    assert known_clock(HW, replace(ULX3S, fpga=replace(ULX3S.fpga, speed=7)), TIMING) is None


def test_with_one_system_there_is_no_error_and_no_estimate(monkeypatch):
    monkeypatch.setattr(estimate, "built_systems", lambda: (made(80.0), made(90.0, seed=2)))
    shipped_estimator.cache_clear()
    assert known_clock(HardwareConfig.named("sim_1x8"), ECPIX5, TIMING) is None
    shipped_estimator.cache_clear()


def test_what_was_built_is_estimated_within_a_tenth():
    reports = [report for report in built_systems() if not report.ethernet]
    assert len(reports) > 1
    assert all(abs(mhz / report.fmax_mhz - 1) < 0.1 for report, mhz in estimated_from_others(reports))
