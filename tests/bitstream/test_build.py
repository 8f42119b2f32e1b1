"""A build goes stage by stage, goes on where it stopped, and leaves nothing half made. The tools are stand-ins."""

import json
from dataclasses import replace

import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from tests.bitstream.flow import Flow
from vta.bitstream.build import build_bitstream
from vta.bitstream.folder import check_built, listed_bitstreams
from vta.bitstream.stages import PART, STAGES
from vta.boards.files import find_board
from vta.boards.manifest import add_bitstream, find_bitstream
from vta.boards.package import read_package
from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError, DeviceError, UsageError

ALL_TOOLS = ["synth", "nextpnr", "pack"]


@pytest.fixture
def flow(tmp_path, monkeypatch):
    """Without the core's Verilog, which takes seconds."""
    monkeypatch.setattr("vta.hardware.system.board_system.system_verilog", lambda *_, **__: "module vta_system; endmodule\n")
    return Flow(tmp_path)


def run(flow, **options):
    stages = []
    built = build_bitstream(flow.plan(**options), flow.directory, flow.tools, stages.append)
    return built, stages


def left_over(flow):
    return list(flow.directory.rglob(f"*{PART}*"))


def test_the_stages_in_their_order(flow):
    built, stages = run(flow)
    assert tuple(stages) == STAGES == tuple(built.seconds)
    assert flow.calls == ALL_TOOLS
    assert built.fits
    assert built.bitstream.read_bytes().endswith(b"bits of config 1")
    assert {name: clock.mhz for name, clock in built.report.clocks.items()} == {"clock": 30.0}
    assert (built.report.resources.lut, built.report.resources.bram) == (7, 3)
    assert not left_over(flow)
    for name in ("system.v", "top.v", "board.lpf", "synth.ys", "build.sh", "package.json"):
        assert (flow.directory / name).is_file()


def test_what_is_complete_is_not_made_again(flow):
    first, _ = run(flow)
    assert flow.calls == ALL_TOOLS
    second, stages = run(flow)
    assert (stages, flow.calls) == ([], [])
    assert second == first


@pytest.mark.parametrize(
    ("tool", "what", "again"),
    [("synth", "the synthesis", ALL_TOOLS), ("nextpnr", "place and route", ALL_TOOLS[1:]), ("pack", "packing", ["pack"])],
)
def test_a_tool_that_fails_is_named_and_the_build_goes_on_there(flow, tool, what, again):
    flow.behavior["fails"] = tool
    with pytest.raises(DeviceError, match=f"{what} failed: ERROR: the tool is out of luck; its log is .*\\.log"):
        run(flow)
    assert not left_over(flow)
    assert not (flow.directory / "package.json").exists()
    del flow.behavior["fails"]
    assert flow.calls
    built, _ = run(flow)
    assert flow.calls == again
    assert built.fits


def test_a_file_that_was_changed_is_made_again(flow):
    built, _ = run(flow)
    assert flow.calls == ALL_TOOLS
    for file, stage in (("mapped.json", "synth"), ("netlist.json", "arrange")):
        (flow.directory / file).write_text("tampered")
        built, stages = run(flow)
        assert stages == [stage]
    built.bitstream.write_text("tampered")
    assert run(flow)[1] == ["pack"]


def test_seeds_are_tried_until_one_meets_the_clock(flow):
    flow.behavior["mhz"] |= {"4": 20.0, "5": 24.0, "6": 26.0}
    built, _ = run(flow, seed=4, attempts=4)
    assert (built.seed, built.fits) == (6, True)
    assert flow.calls.count("nextpnr") == 3
    assert read_package(built.bitstream).build.seed == 6


def test_the_best_of_those_that_miss_the_clock_is_kept_and_says_so(flow):
    flow.behavior["mhz"] |= {"1": 20.0, "2": 24.0, "3": 22.0}
    built, _ = run(flow, attempts=3, jobs=3)
    assert (built.seed, built.fits) == (2, False)
    assert built.report.missed["clock"].wanted_mhz == 25.0
    with pytest.raises(DeviceError, match=r"its clock of 25 MHz is not met"):
        check_built(built.bitstream, None, None)


def test_a_netlist_that_is_too_large_is_refused_before_it_is_placed(flow):
    flow.behavior["cells"] = {"LUT4": 20000, "CCU2C": 3000, "DP16KD": 57}
    with pytest.raises(UsageError, match=r"LFE5U-25F.*: the synthesis needs 26000 LUT of 24288 and 57 BRAM of 56"):
        run(flow)
    assert flow.calls == ["synth"]


def test_a_bitstream_says_what_it_is(flow):
    built, _ = run(flow)
    package = check_built(built.bitstream, flow.board, HardwareConfig("sim", "0.0.2", 3, 3, 5, 0, 2, 10, 10, 11, 12))
    assert (package.board, package.design, package.bitstream) == ("small", "core", built.bitstream.name)
    assert package.build.tools == {"yosys": "1", "nextpnr-ecp5": "2", "ecppack": "3"}
    assert package.build.resources == {"lut": 7, "ff": 5, "dsp": 1, "bram": 3}
    assert [(entry.file, entry.state) for entry in listed_bitstreams(flow.directory.parent)] == [(built.bitstream, "good")]


def test_a_bitstream_is_filed_with_its_description(flow, tmp_path):
    built, _ = run(flow)
    hw = HardwareConfig("sim", "0.0.2", 3, 3, 5, 0, 2, 10, 10, 11, 12)
    add_bitstream(tmp_path / "store", flow.board, flow.board.design(), hw, built.bitstream, "built here")
    filed = find_bitstream(tmp_path / "store", flow.board, flow.board.design(), hw)
    assert read_package(filed) == read_package(built.bitstream)
    assert [entry.state for entry in listed_bitstreams(tmp_path / "store")] == ["good"]


def test_another_bitstream_is_refused(flow):
    built, _ = run(flow)
    same = replace(find_board("ecpix5"), name="small")
    with pytest.raises(DeviceError, match="built for part LFE5U-25F-6CABGA381; board small has LFE5UM5G-85F-8BG554I"):
        check_built(built.bitstream, same, None)
    with pytest.raises(DeviceError, match="built for board small, and not ecpix5"):
        check_built(built.bitstream, find_board("ecpix5"), None)
    with pytest.raises(DeviceError, match="built for config 1x4_i8w8a32_10_10_11_12, and not 1x8_"):
        check_built(built.bitstream, None, HardwareConfig.named("sim_1x8"))
    built.bitstream.write_text("other bits")
    with pytest.raises(DeviceError, match="damaged, or another file: its SHA-256 sum is"):
        check_built(built.bitstream, None, None)
    assert [entry.state for entry in listed_bitstreams(flow.directory)] == ["damaged"]
    built.bitstream.unlink()
    assert [entry.state for entry in listed_bitstreams(flow.directory)] == ["missing"]


def test_a_description_that_is_none_is_named(flow):
    built, _ = run(flow)
    path = flow.directory / "package.json"
    values = json.loads(path.read_text())
    del values["board"]
    path.write_text(json.dumps(values))
    with pytest.raises(ConfigError, match=r"package\.json: not the description of a bitstream: KeyError: 'board'"):
        read_package(built.bitstream)


def test_what_no_plan_can_be_made_of(flow):
    flow.board = find_board("pynq-z1")
    with pytest.raises(UsageError, match=r"board pynq-z1 is built with its vendor's tools: .* has no section fpga"):
        flow.plan()
    flow.board = find_board("ulx3s-85f")
    with pytest.raises(UsageError, match="3 MHz is too slow for a serial line of 1000000 baud; allowed: 4 MHz or more"):
        flow.plan(clock_mhz=3)
    slow = replace(flow.plan(), design=replace(flow.plan().design, clock_mhz=31.0))
    with pytest.raises(ConfigError, match="no PLL makes 31 MHz of 25 MHz; the nearest is"):
        _ = slow.pll
