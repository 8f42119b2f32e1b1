"""Estimates of logic: fitted terms give back what they were fitted to, and what lies between."""

import json
from dataclasses import replace

import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from tests.hardware.programs import small_config
from vta.bitstream.fits import core_fits
from vta.boards.files import find_board
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.errors import ConfigError
from vta.hardware.fabric import PLAIN
from vta.hardware.synthesis.estimate import base_of, estimate, estimator_of, reports_of
from vta.hardware.synthesis.report import SynthesisReport, read_report
from vta.hardware.synthesis.resources import FAMILIES, Resources
from vta.hardware.synthesis.terms import UNITS, Estimator, left_out_errors

GEOMETRIES = [(0, 2, 64), (0, 3, 64), (0, 3, 128), (1, 2, 64), (2, 2, 128)]


def made(batch, block, bus_bits, requantize=0, table=0, depthwise=0):
    """A report of a core whose units are as large as simple sums of its lanes, products, bits of a beat and options."""
    lanes, word = 1 << batch + block, bus_bits
    products = lanes << block
    units = {unit: Resources(lut=10, ff=20) for unit in UNITS}
    units["gemm"] = Resources(lut=30 * products + 90 * lanes * depthwise, ff=16 * products + 5 * lanes)
    units["alu"] = Resources(lut=(400 + 150 * requantize) * lanes, ff=300 * lanes * requantize)
    units["table memory"] = Resources(lut=80 * lanes * table, ff=8 * table)
    units["acc memory"] = Resources(lut=64 * lanes, ff=96 * lanes)
    units["load"] = Resources(lut=500 + 3 * word, ff=700 + 2 * word)
    hw = replace(small_config(batch, block, 5), requantize_unit=requantize, table_unit=table, depthwise_unit=depthwise)
    return SynthesisReport(hw, TimingParameters(bus_bits=bus_bits), "ecp5", 1.0, units, PLAIN)


def test_sums_are_found_again():
    options = [(0, 2, 64, 1, 1, 0), (0, 3, 64, 1, 1, 0), (0, 2, 64, 0, 0, 1), (0, 3, 64, 1, 1, 1)]
    cores = [*GEOMETRIES, *options]
    estimator = Estimator(made(*core) for core in cores)
    for core in (*cores, (1, 3, 64), (0, 4, 64, 1, 1, 1), (2, 2, 64, 1)):
        expected = made(*core)
        found = estimator.logic(expected.config, expected.timing, PLAIN)
        for unit in UNITS:
            assert found[unit].lut == pytest.approx(expected.units[unit].lut, rel=0.01, abs=1)
            assert found[unit].ff == pytest.approx(expected.units[unit].ff, rel=0.01, abs=1)


def test_options_that_no_report_has_are_not_known():
    estimator = Estimator([made(0, 2, 64), made(0, 3, 64, 1)])
    for options, known in (((0, 0, 0), True), ((1, 0, 0), True), ((1, 1, 0), False), ((0, 0, 1), False)):
        assert estimator.knows(made(0, 2, 64, *options).config) == known


@pytest.mark.parametrize("family", FAMILIES)
def test_the_cores_that_were_synthesised_are_estimated_within_a_tenth(family):
    estimator = estimator_of(family)
    assert estimator is not None
    for report in reports_of(family):
        found = sum(estimator.logic(report.config, report.timing, report.fabric).values(), Resources())
        assert found.lut == pytest.approx(report.total.lut, rel=0.1)
        assert found.ff == pytest.approx(report.total.ff, rel=0.1)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_estimate_of_a_core_that_was_left_out_is_within_a_tenth(family):
    for name, (lut, ff) in left_out_errors(reports_of(family), base_of(family)).items():
        assert abs(lut) <= 0.1, name
        assert abs(ff) <= 0.1, name


def scaled(report, factors):
    """The report of another family, whose units take as many times as much."""
    units = {
        unit: Resources(lut=found.lut * factors.get(unit, 1.5), ff=found.ff * factors.get(unit, 1.5))
        for unit, found in report.units.items()
    }
    return replace(report, units=units)


@pytest.mark.parametrize("reports", [2, len(GEOMETRIES)])
def test_what_reports_do_not_tell_has_the_proportions_of_another_family(reports):
    """Options that none of the reports has; with few reports, the bus and everything else too."""
    options = [(0, 2, 64, 1, 1, 1), (0, 3, 64, 1, 1, 1), (0, 3, 64, 1, 0, 0), (0, 2, 64, 0, 0, 1)]
    base = Estimator(made(*core) for core in (*GEOMETRIES, *options))
    factors = {"alu": 3.0, "gemm": 0.5}
    estimator = Estimator((scaled(made(*core), factors) for core in GEOMETRIES[-reports:]), base)
    for core in ((1, 3, 64), (0, 3, 128, 1, 0, 0), (1, 3, 64, 1, 0, 1)):
        expected = scaled(made(*core), factors)
        found = estimator.logic(expected.config, expected.timing, PLAIN)
        assert estimator.knows(expected.config)
        for unit in UNITS:
            assert found[unit].lut == pytest.approx(expected.units[unit].lut, rel=0.02, abs=2)


@pytest.mark.parametrize("board", ["pynq-z1", "ultra96", "de10-nano", "ecpix5"])
def test_every_option_is_estimated_on_every_board(board):
    for options in ({}, {"requantize_unit": 1}, {"requantize_unit": 1, "table_unit": 1}, {"depthwise_unit": 1}):
        assert estimate(replace(HardwareConfig.named("sim_1x8"), **options), find_board(board)) is not None


def test_a_report_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "core.json"
    path.write_text(json.dumps(made(0, 3, 128).to_json()), encoding="utf-8")
    assert read_report(path) == made(0, 3, 128)


@pytest.mark.parametrize("text", ["[]", "{}", '{"config": {}, "timing": {}, "family": "ecp5", "seconds": 1, "units": {}}'])
def test_what_is_no_report(text, tmp_path):
    path = tmp_path / "core.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"core\.json"):
        read_report(path)


def test_cores_that_fit_and_one_that_does_not():
    board = find_board("ecpix5")
    configs = {"1x8": HardwareConfig.named("sim_1x8"), "1x32": HardwareConfig.named("sim_1x32")}
    small, large = core_fits(configs, [board])
    assert small.fits
    assert small.resources.dsp == 88
    assert not large.fits
    assert any("DSP of 156" in words for words in large.short)


def test_boards_whose_capacity_is_not_known_are_left_out():
    board = replace(find_board("ecpix5"), capacity=None)
    assert not list(core_fits({"1x8": HardwareConfig.named("sim_1x8")}, [board]))
