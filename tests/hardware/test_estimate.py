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
from vta.hardware.estimate import UNITS, Estimator
from vta.hardware.synthesis import Resources
from vta.hardware.synthesis_report import SynthesisReport, read_report, reported_cores

GEOMETRIES = [(0, 2, 64), (0, 3, 64), (0, 3, 128), (1, 2, 64), (2, 2, 128)]


def made(batch, block, bus_bits):
    """A report of a core whose units are as large as simple sums of its lanes, products and bits of a beat."""
    lanes, word = 1 << batch + block, bus_bits
    products = lanes << block
    units = {unit: Resources(lut=10, ff=20) for unit in UNITS}
    units |= {"gemm": Resources(lut=30 * products, ff=16 * products + 5 * lanes), "alu": Resources(lut=900 * lanes)}
    units["acc memory"] = Resources(lut=64 * lanes, ff=96 * lanes)
    units["load"] = Resources(lut=500 + 3 * word, ff=700 + 2 * word)
    return SynthesisReport(small_config(batch, block, 5), TimingParameters(bus_bits=bus_bits), "ecp5", 1.0, units)


def test_sums_are_found_again():
    estimator = Estimator(made(*geometry) for geometry in GEOMETRIES)
    for geometry in (*GEOMETRIES, (1, 3, 64)):
        expected = made(*geometry)
        found = estimator.logic(expected.config, expected.timing)
        for unit in UNITS:
            assert found[unit].lut == pytest.approx(expected.units[unit].lut, rel=0.01, abs=1)
            assert found[unit].ff == pytest.approx(expected.units[unit].ff, rel=0.01, abs=1)


@pytest.mark.parametrize("family", ["xilinx", "ecp5"])
def test_the_cores_that_were_synthesised_are_estimated_within_a_tenth(family):
    reports = [report for report in reported_cores() if report.family == family and not report.config.requantize_unit]
    assert len(reports) >= len(GEOMETRIES)
    estimator = Estimator(reports)
    for report in reports:
        found = sum(estimator.logic(report.config, report.timing).values(), Resources())
        assert found.lut == pytest.approx(report.total.lut, rel=0.1)
        assert found.ff == pytest.approx(report.total.ff, rel=0.1)


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
