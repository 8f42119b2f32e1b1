"""Reports of builds: what the description of a bitstream says, written and read again; and what is none."""

import json
from dataclasses import replace

import pytest

from vta.bitstream.clock.build_report import built_systems, read_build_report, report_of
from vta.bitstream.report import Resources
from vta.boards.ethernet import Network
from vta.boards.files import find_board
from vta.boards.package import BuildRecord, Package
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.errors import ConfigError

HW = HardwareConfig.named("sim_1x4")
BUILD = BuildRecord("0" * 64, 50.0, 7, {"yosys": "1"}, {"synth": 3.5}, {"lut": 7, "ff": 5, "dsp": 1, "bram": 3}, {}, True)


def package(**clocks):
    build = replace(BUILD, fmax_mhz=clocks)
    return Package("ecpix5", "core", HW, TimingParameters(bus_bits=128), f"{HW.bitstream}.bit", build, None)


def test_what_is_reported_of_a_build_is_read_again(tmp_path):
    report = report_of(package(clk=61.5, oscillator=300.0))
    assert (report.fmax_mhz, report.wanted_mhz, report.seed, report.ethernet) == (61.5, 50.0, 7, False)
    assert report.others_mhz == {"oscillator": 300.0}
    assert report.resources == Resources(7, 5, 1, 3)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report.to_json()))
    assert read_build_report(path) == report


def test_a_system_with_one_clock_runs_at_it():
    assert report_of(package(oscillator=41.0)).fmax_mhz == 41.0


def test_with_a_name_on_the_network_it_has_ethernet():
    network = Network("10.0.0.1", "10:e2:d5:00:00:01")
    assert report_of(replace(package(clk=61.5), network=network)).name == f"{HW.bitstream} on ecpix5, Ethernet, seed 7"


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (package(), "none of its clocks is clk: it has none"),
        (package(one=1.0, other=2.0), "none of its clocks is clk: one, other"),
        (replace(package(), build=None), "was not built here"),
    ],
)
def test_descriptions_without_a_clock_of_the_system(made, words):
    with pytest.raises(ConfigError, match=f"{HW.bitstream}.bit: {words}"):
        report_of(made)


@pytest.mark.parametrize("text", ["[]", "{}", '{"board": "ecpix5", "config": {}, "timing": {}}'])
def test_what_is_no_report(text, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"report\.json"):
        read_build_report(path)


def test_the_reports_that_are_here_are_of_boards_that_are_here():
    assert built_systems()
    for report in built_systems():
        assert find_board(report.board).fpga is not None
        assert 10 < report.fmax_mhz < 500
