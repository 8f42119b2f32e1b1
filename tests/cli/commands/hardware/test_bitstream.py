"""`vta bitstream`: what it prints and refuses; the tools are stand-ins."""

import json
from dataclasses import asdict

import pytest
import yaml

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from tests.bitstream.flow import HW, SMALL_BOARD, Flow
from vta.bitstream import fits, tools
from vta.bitstream.clock import estimate
from vta.bitstream.clock.build_report import read_build_report
from vta.bitstream.clock.estimate import KnownClock
from vta.bitstream.report import Resources
from vta.boards.files import shipped_boards
from vta.cli.main import main
from vta.support.folder_lock import alone_in

TIMING = {"burst_beats": 16, "queue_depth": 64, "load_fifo": 32, "acc_fifo": 16, "fetch_fifo": 16}


@pytest.fixture
def flow(tmp_path, monkeypatch):
    """Without the core's Verilog, which takes seconds."""
    monkeypatch.setattr("vta.hardware.system.board_system.system_verilog", lambda *_, **__: "module vta_system; endmodule\n")
    flow = Flow(tmp_path)
    monkeypatch.setattr(tools, "find_tools", lambda dram, network: flow.tools)
    (tmp_path / "small.json").write_text(json.dumps(HW.to_json()))
    (tmp_path / "timing.json").write_text(json.dumps(TIMING))
    return flow


def build(tmp_path, *more):
    where = ["--board", f"board:{SMALL_BOARD}", "-o", str(tmp_path / "build"), "--timing", str(tmp_path / "timing.json")]
    return main(["bitstream", "build", str(tmp_path / "small.json"), *where, *more])


def test_build_show_list_and_check(flow, tmp_path, capsys):
    assert build(tmp_path, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) == {"bitstream", "seconds", "resources", "fmax_mhz", "fits", "seed"}
    assert list(result["seconds"]) == ["rtl", "system", "synth", "arrange", "place_route", "pack"]
    assert result["resources"] == {"lut": 7, "ff": 5, "dsp": 1, "bram": 3}
    assert (result["fmax_mhz"], result["fits"]) == ({"clock": 30.0}, True)
    file = result["bitstream"]
    assert main(["bitstream", "show", file, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["board"], shown["config"]["LOG_BLOCK"], shown["build"]["fits"]) == ("small", 2, True)
    assert main(["bitstream", "list", str(tmp_path), "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["bitstreams"]
    assert (listed["file"], listed["state"]) == (file, "good")
    assert main(["bitstream", "check", file, "--config", "sim_1x8"]) == 1
    assert "built for config 1x4_i8w8a32_10_10_11_12, and not 1x8_" in capsys.readouterr().err
    assert main(["bitstream", "check", file]) == 0
    assert "good; 1x4_i8w8a32_10_10_11_12 for board small" in capsys.readouterr().out


def test_a_clock_that_is_missed_ends_with_an_error_and_the_result(flow, tmp_path, capsys):
    flow.behavior["mhz"]["1"] = 20.0
    assert build(tmp_path, "--json") == 1
    printed = capsys.readouterr()
    assert not json.loads(printed.out)["fits"]
    assert "the clock is not met: clock may have 20 MHz of 25; a lower clock or other seeds may help" in printed.err


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (
            KnownClock(24.0, "estimated", 0.07),
            "25 MHz are wanted; the estimate, 7% off on average, is 24 MHz: the clock may be missed",
        ),
        (KnownClock(24.5, "built", 0.0), "25 MHz are wanted; a build came to 24.5 MHz: the clock may be missed"),
        (KnownClock(25.0, "built", 0.0), None),
        (None, None),
    ],
)
def test_a_clock_that_may_be_missed_is_told_before_the_build(known, words, flow, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(estimate, "known_clock", lambda hw, board, timing: known)
    assert build(tmp_path, "--json") == 0
    said = capsys.readouterr().err
    assert (words or "") in said
    assert ("MHz are wanted" in said) == (words is not None)


def test_a_tool_that_fails_is_one_line(flow, tmp_path, capsys):
    flow.behavior["fails"] = "nextpnr"
    assert build(tmp_path) == 1
    complaint = capsys.readouterr().err.strip().splitlines()[-1]
    assert complaint.startswith("vta bitstream: error: place and route failed: ERROR: the tool is out of luck; its log is ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["sim", "--board", "ecpix5"],
            "does not fit board ecpix5, LFE5UM5G-85F-8BG554I: by our count it needs 304 DSP of 156 and",
        ),
        (["sim_1x8", "--board", "pynq-z1"], "board pynq-z1 is built with its vendor's tools"),
        (
            ["sim_1x8", "--board", "ecpix5", "--ethernet", "--clock", "20"],
            "20 MHz is too slow for Ethernet at 1 Gb/s; allowed: 36 MHz or more",
        ),
        (["sim_1x4", "--board", "ulx3s-85f", "--ethernet"], "board ulx3s-85f has no Ethernet\n"),
        (["sim_1x8", "--board", "ecpix5", "--ip", "10.0.0.0"], "'10.0.0.0' is no address of a board; allowed: one of IPv4"),
        (["sim_1x8", "--board", "ecpix5", "--mac", "01:00:00:00:00:01"], "is no Ethernet address of a board; allowed: six bytes"),
        (["sim_1x4", "--board", "ulx3s-85f", "--ip", "10.0.0.1"], "board ulx3s-85f has no Ethernet, and so no address 10.0.0.1"),
        (["sim_1x8", "--board", "ecpix5", "--clock", "3"], "3 MHz is too slow for a serial line of 1000000 baud"),
    ],
)
def test_what_cannot_be_built_leaves_nothing(tmp_path, capsys, arguments, words):
    where = tmp_path / "build"
    assert main(["bitstream", "build", *arguments, "-o", str(where)]) == 2
    assert words in capsys.readouterr().err
    assert not where.exists()


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [("clock", None, "fpga: field clock is missing"), ("speed", 6, "fpga: speed = 6; allowed: 8")],
)
def test_a_board_file_with_a_mistake_leaves_nothing(tmp_path, capsys, field, value, words):
    values = yaml.safe_load(shipped_boards()["ecpix5"].read_text(encoding="utf-8"))
    values["fpga"].pop(field) if value is None else values["fpga"].update({field: value})
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(values))
    where = tmp_path / "build"
    assert main(["bitstream", "build", "sim_1x8", "--board", f"board:{tmp_path / 'mine.yaml'}", "-o", str(where)]) == 1
    assert words in capsys.readouterr().err
    assert not where.exists()


def test_one_process_at_a_time_builds_in_a_folder(flow, tmp_path, capsys):
    (tmp_path / "build").mkdir()
    with alone_in(tmp_path / "build", wait=False):
        assert build(tmp_path) == 1
    assert "build: another process builds there; wait for it, or name another folder" in capsys.readouterr().err
    assert not list((tmp_path / "build").iterdir())
    assert build(tmp_path) == 0


def test_a_build_is_kept_as_a_report(flow, tmp_path, capsys):
    assert build(tmp_path) == 0
    (file,) = (tmp_path / "build").glob("*.bit")
    capsys.readouterr()
    report = tmp_path / "report.json"
    assert main(["bitstream", "record", str(file), "-o", str(report), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["file"], result["fmax_mhz"], result["wanted_mhz"]) == (str(report), 30.0, 25.0)
    assert read_build_report(report).resources == Resources(7, 5, 1, 3)
    description = tmp_path / "build" / "package.json"
    before = description.read_bytes()
    assert main(["bitstream", "record", str(file), "-o", str(description)]) == 2
    assert "is the description of the bitstream" in capsys.readouterr().err
    assert description.read_bytes() == before
    file.write_text("other bits")
    assert main(["bitstream", "record", str(file), "-o", str(tmp_path / "other.json")]) == 1
    assert "damaged, or another file" in capsys.readouterr().err
    assert not (tmp_path / "other.json").exists()


def test_missing_tools_are_all_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(tools, "_version", lambda package: None)
    monkeypatch.setattr(tools.shutil, "which", lambda name: None)
    assert main(["bitstream", "build", "sim_1x8", "--board", "ecpix5", "--ethernet", "-o", str(tmp_path / "build")]) == 1
    missing = "missing: amaranth, litedram, liteeth, yosys, nextpnr-ecp5, ecppack; install with: pip install 'vta[fpga]'"
    assert missing in capsys.readouterr().err


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (KnownClock(44.4, "estimated", 0.07), "44 est., 7% off"),
        (KnownClock(44.4, "built", 0.0), "44.4"),
        (KnownClock(60.0, "estimated", 0.0), "60 est., 0% off"),
        (None, None),
    ],
)
def test_resources_with_the_clock(known, words, capsys, monkeypatch):
    monkeypatch.setattr(fits, "known_clock", lambda hw, board, timing: known)
    monkeypatch.setenv("COLUMNS", "200")
    arguments = ["bitstream", "resources", "sim_1x8", "--board", "ecpix5"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert words is None or words in printed
    assert ("50, too fast" in printed) == (known is not None and known.mhz < 50)
    assert main([*arguments, "--json"]) == 0
    (core,) = json.loads(capsys.readouterr().out)["cores"]
    assert (core["clock"], core["wanted_mhz"]) == (known and asdict(known), 50.0)


def test_resources_of_all_shipped_cores_and_of_one(capsys):
    assert main(["bitstream", "resources", "--board", "pynq-z1", "--json"]) == 0
    cores = {core["config"]: core for core in json.loads(capsys.readouterr().out)["cores"]}
    assert cores["sim"]["fits"]
    assert not cores["sim_1x32"]["fits"]
    assert main(["bitstream", "resources", "sim_1x32", "--board", "pynq-z1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cores"] == [cores["sim_1x32"]]
