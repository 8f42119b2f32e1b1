"""Time on the command line."""

import json

import pytest

from tests.hand_made_modules import make_module
from vta.cli.main import main
from vta.runtime.compiled_module import save

UNITS = {"load", "compute", "store", "fetch"}


@pytest.fixture
def artifact(tmp_path):
    path = tmp_path / "net.vta"
    save(make_module(), path)
    return str(path)


def run_json(capsys, *arguments):
    assert main(["run", *arguments, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_a_run_counts_cycles(artifact, capsys):
    figures = run_json(capsys, artifact, "--device", "cycle", "--check")
    assert figures["bit_exact"]
    assert figures["cycles"] > 0
    assert set(figures["units"]) == UNITS
    assert all(sum(unit.values()) == figures["cycles"] for unit in figures["units"].values())
    assert set(figures["units"]["load"]) == {"busy", "token", "memory", "idle"}
    assert figures["bytes"]["out"] > 0
    alone = run_json(capsys, artifact, "--device", "cycle", "--timing-only")
    assert (alone["cycles"], alone["units"], alone["bytes"]) == (figures["cycles"], figures["units"], figures["bytes"])


def test_the_simulator_counts_none(artifact, capsys):
    figures = run_json(capsys, artifact)
    assert figures["cycles"] is None
    assert figures["units"] == {}


@pytest.mark.parametrize(
    ("preset", "words"), [("rtl", "to the cycle"), ("chisel", "an approximation"), ("hls", "an approximation")]
)
def test_every_number_comes_with_its_preset(artifact, capsys, preset, words):
    assert main(["run", artifact, "--device", "cycle", "--preset", preset]) == 0
    assert words in capsys.readouterr().out
    assert run_json(capsys, artifact, "--device", "cycle", "--preset", preset)["preset"] == preset


def test_timing_from_a_file_and_the_bus_from_the_command_line(artifact, capsys, tmp_path):
    path = tmp_path / "timing.json"
    path.write_text('{"read_latency": 300, "bus_bits": 128}')
    arguments = (artifact, "--device", "cycle", "--timing", str(path))
    default = run_json(capsys, artifact, "--device", "cycle")
    slow = run_json(capsys, *arguments)
    wide = run_json(capsys, *arguments, "--bus-bits", "512")
    assert slow["cycles"] > default["cycles"]
    assert slow["read_beats"] < default["read_beats"]
    assert wide["read_beats"] < slow["read_beats"]


def test_a_timeline_is_written(artifact, capsys, tmp_path):
    path = tmp_path / "trace.json"
    assert main(["run", artifact, "--device", "cycle", "--timeline", str(path)]) == 0
    assert "intervals" in capsys.readouterr().out
    assert json.loads(path.read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--timing-only"], "--timing-only needs --device cycle"),
        (["--preset", "hls"], "--preset needs --device cycle"),
        (["--timeline", "t.json"], "--timeline needs --device cycle"),
        (["--bus-bits", "128"], "--timing and --bus-bits need a device that counts cycles"),
        (["--device", "cycle", "--timing-only", "--check"], "--check needs outputs, and --timing-only computes none"),
        (["--device", "cycle", "--bus-bits", "100"], "bus_bits = 100 is not a power of two"),
        (["--device", "cycle", "--preset", "fpga"], "'fpga'"),
    ],
)
def test_wrong_use_is_explained(artifact, capsys, monkeypatch, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert main(["run", artifact, *arguments]) != 0
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"), [("{", "not JSON"), ("[1]", "a JSON object is needed, not list"), ('{"speed": 1}', "unknown key speed")]
)
def test_a_bad_timing_file_is_named(artifact, capsys, tmp_path, text, words):
    path = tmp_path / "timing.json"
    path.write_text(text)
    assert main(["run", artifact, "--device", "cycle", "--timing", str(path)]) == 1
    printed = capsys.readouterr().err
    assert words in printed
    assert str(path) in printed


def test_energy_and_area_by_given_figures(artifact, capsys, tmp_path):
    plain = run_json(capsys, artifact, "--device", "cycle", "--timing-only")
    assert plain["energy_pj"] == run_json(capsys, artifact)["energy_pj"]
    path = tmp_path / "cheap.json"
    path.write_text('{"name": "cheap", "dram_byte_pj": 1}')
    cheap = run_json(capsys, artifact, "--technology", str(path))
    assert cheap["technology"] == "cheap"
    assert cheap["energy_pj"]["total"] < plain["energy_pj"]["total"]
    assert cheap["area_um2"] == plain["area_um2"]
    assert 0 < sum(cheap["operator_energy_pj"].values()) <= cheap["energy_pj"]["total"]
    assert main(["run", artifact, "--energy", "--technology", str(path)]) == 0
    assert "energy of the run and area (cheap)" in capsys.readouterr().out
    path.write_text('{"sram": 1}')
    assert main(["run", artifact, "--technology", str(path)]) != 0
    assert "unknown key sram" in capsys.readouterr().err
