"""`--requantise`, on a small network that came quantised."""

import json

import numpy as np
import pytest

from tests.tflite_models import small_net
from vta.cli.main import main
from vta.demo import model_path

HINT = "note: pynq cannot multiply, so the host rescales: "
SLOWER = " would be faster on the host by the estimate above"
NOTHING = "note: the network came quantised: calibration and the options of quantisation do nothing"
BUT_CALIBRATION = "note: the network came quantised: the options of quantisation do nothing"
CALIBRATE = "note: rounding the weights again costs accuracy; --calibration"
HINTS = (HINT, NOTHING, BUT_CALIBRATION, CALIBRATE)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "net.tflite").write_bytes(small_net())
    rng = np.random.default_rng(0)
    x = rng.integers(-128, 128, (40, 9, 8, 3)).astype(np.int8)
    np.savez(tmp_path / "data.npz", x=x, y=rng.integers(0, 7, 40))
    np.savez(tmp_path / "samples.npz", x=x)
    return tmp_path


def run(arguments, capsys):
    assert main([str(part) for part in arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("config", "more", "hints"),
    [
        ("pynq", [], {HINT}),
        ("pynq", ["--requantise", "close"], {HINT}),
        ("pynq", ["--requantise", "shift"], {CALIBRATE}),
        ("pynq", ["--requantise", "shift", "--calibration", "samples.npz"], set()),
        ("sim", [], set()),
        ("sim", ["--calibration", "samples.npz"], {NOTHING}),
        ("sim", ["--per-tensor"], {NOTHING}),
        ("sim", ["--requantise", "shift", "--calibration", "samples.npz", "--per-tensor"], {BUT_CALIBRATION}),
        ("sim", ["--requantise", "shift"], {CALIBRATE}),
    ],
)
def test_compile_says_what_else_there_is(config, more, hints, files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    printed = run(["compile", "net.tflite", "-o", "net.vta", "--config", config, *more], capsys)
    notes = [line for line in printed.splitlines() if line.startswith("note: ") and SLOWER not in line]
    assert {hint for hint in HINTS if any(note.startswith(hint) for note in notes)} == hints
    assert len(notes) == len(hints)
    assert "bit-exact: " in run(["run", "net.vta", "--device", "sim", "--check"], capsys)


def test_regions_that_the_host_would_do_faster_are_counted(files, capsys):
    arguments = ["compile", files / "net.tflite", "-o", files / "net.vta", "--config", "pynq"]
    assert SLOWER in run(arguments, capsys)
    assert SLOWER not in run([*arguments, "--min-gain", "1"], capsys)


def test_a_float_network_without_samples_is_warned_of(files, capsys):
    arguments = ["compile", model_path(), "-o", files / "net.vta", "--config", "sim"]
    assert "note: no samples were given: the range of every activation is taken to be -8 to 8" in run(arguments, capsys)
    assert "note: no samples" not in run([*arguments, "--global-scale", "16"], capsys)


def test_a_float_network_is_not_requantized(files, capsys):
    printed = run(["compile", model_path(), "-o", files / "net.vta", "--config", "sim", "--requantise", "shift"], capsys)
    assert "note: --requantise is for networks that came quantised; this one is float" in printed.splitlines()


@pytest.mark.parametrize("way", ["exact", "close", "shift"])
def test_eval_compares_with_the_network_as_it_was_quantized(way, files, capsys):
    arguments = ["eval", files / "net.tflite", "--data", files / "data.npz", "--config", "sim", "--requantise", way, "--json"]
    figures = json.loads(run(arguments, capsys))
    assert figures["bit_exact"] is True
    assert figures["top1"]["interpreter"] == figures["top1"]["device"]
    assert abs(figures["top1"]["float"] - figures["top1"]["device"]) < 0.2
