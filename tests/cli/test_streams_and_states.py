"""Networks with states on the command line."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.onnx_models import model
from tests.tflite_streams import streaming_convolution
from vta.cli.main import main
from vta.frontend.tflite import import_tflite
from vta.testing.tflite_model import reference_stream


def run_json(arguments, capsys, status=0):
    assert main([*map(str, arguments), "--json"]) == status, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    content = streaming_convolution(np.random.default_rng(0), channels=16, filters=16)
    (folder / "net.tflite").write_bytes(content)
    (argument,) = import_tflite(content).arguments
    data = np.random.default_rng(1).integers(-128, 128, (5, *argument.shape)).astype(np.int8)
    np.savez(folder / "stream.npz", x=data)
    np.savez(folder / "head.npz", x=data[:3])
    np.savez(folder / "tail.npz", x=data[3:])
    np.savez(folder / "wanted.npz", y=np.stack([values[0] for values in reference_stream(content, data)]))
    assert main(["compile", str(folder / "net.tflite"), "-o", str(folder / "net.vta"), "--config", "sim"]) == 0
    return folder


def outputs(path):
    with np.load(path) as found:
        return found["y"]


def test_frames_of_a_file_are_those_of_litert(folder, capsys):
    run = ["run", folder / "net.vta", "--frames", folder / "stream.npz", "--outputs", folder / "out.npz", "--device", "cycle"]
    figures = run_json([*run, "--check"], capsys)
    assert (figures["bit_exact"], figures["frames"], figures["device_runs"]) == (True, 5, 5)
    assert figures["cycles"] == 5 * figures["frame_cycles"] > 0
    np.testing.assert_array_equal(outputs(folder / "out.npz"), outputs(folder / "wanted.npz"))


def test_a_stream_goes_on_with_the_states_of_another_run(folder, capsys):
    run = ["run", folder / "net.vta", "--outputs", folder / "out.npz"]
    run_json([*run, "--frames", folder / "head.npz", "--save-state", folder / "state.npz"], capsys)
    run_json([*run, "--frames", folder / "tail.npz", "--load-state", folder / "state.npz"], capsys)
    np.testing.assert_array_equal(outputs(folder / "out.npz"), outputs(folder / "wanted.npz")[3:])


def test_random_frames_are_the_same_for_the_same_seed(folder, capsys):
    found = []
    for seed in (1, 1, 2):
        run_json(["run", folder / "net.vta", "--frames", 3, "--seed", seed, "--outputs", folder / "out.npz"], capsys)
        found.append(outputs(folder / "out.npz"))
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


def test_what_was_run_is_said(folder, capsys):
    assert main(["run", str(folder / "net.vta"), "--frames", "3", "--device", "cycle", "--check"]) == 0
    text = capsys.readouterr().out
    assert "3 frames in 3 device runs" in text
    assert "cycles a frame" in text
    assert "bit-exact" in text


def test_one_run_takes_and_leaves_states(folder, capsys):
    with np.load(folder / "stream.npz") as data:
        np.savez(folder / "one.npz", x=data["x"][0])
    run_json(["run", folder / "net.vta", "--inputs", folder / "one.npz", "--save-state", folder / "state.npz"], capsys)
    with np.load(folder / "state.npz") as found, np.load(folder / "one.npz") as given:
        np.testing.assert_array_equal(found["past"][0, :, -1, 0], given["x"][0, 0, 0])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--frames", "3", "--order", "1"], "--order is for one run; --frames makes many"),
        (["--frames", "0"], "0"),
        (["--frames", "nowhere.npz"], "nowhere.npz"),
    ],
)
def test_what_does_not_go_together(folder, options, reason, capsys):
    try:
        status = main(["run", str(folder / "net.vta"), *options])
    except SystemExit as end:
        status = end.code
    assert status
    assert reason in capsys.readouterr().err


def test_states_of_another_network_are_refused(folder, capsys):
    np.savez(folder / "other.npz", h=np.zeros(3))
    assert main(["run", str(folder / "net.vta"), "--frames", "1", "--load-state", str(folder / "other.npz")])
    assert "other.npz: state 'past' is missing; the file holds h" in capsys.readouterr().err


@pytest.fixture
def recurrent(tmp_path):
    """A recurrent layer whose state is an input and an output."""
    rng = np.random.default_rng(0)
    feed = {"x": np.zeros((1, 1, 16), np.float32), "h": np.zeros((1, 1, 16), np.float32)}
    weights = {name: rng.standard_normal((1, 16, 16)).astype(np.float32) / 4 for name in ("w", "r")}
    node = helper.make_node("RNN", ["x", "w", "r", "", "", "h"], ["y", "after"], hidden_size=16)
    onnx.save(model([node], feed, weights, ["y", "after"], opset=14), tmp_path / "net.onnx")
    return tmp_path


def test_pairs_become_states(recurrent, capsys):
    np.savez(recurrent / "c.npz", x=np.random.default_rng(1).standard_normal((6, 1, 1, 16)).astype(np.float32))
    arguments = ["compile", recurrent / "net.onnx", "-o", recurrent / "net.vta", "--state", "h=after"]
    run_json([*arguments, "--calibration", recurrent / "c.npz"], capsys)
    figures = run_json(["run", recurrent / "net.vta", "--frames", recurrent / "c.npz", "--check"], capsys)
    assert (figures["bit_exact"], figures["frames"]) == (True, 6)


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        (["h=z"], "net.onnx: 'z' is no output of graph 'net'; its outputs are: y, after"),
        (["h=after", "h=y"], "--state h is given twice: after and y"),
    ],
)
def test_pairs_that_there_are_not(recurrent, pairs, reason, capsys):
    options = [text for pair in pairs for text in ("--state", pair)]
    assert main(["compile", str(recurrent / "net.onnx"), "-o", str(recurrent / "net.vta"), *options])
    assert reason in capsys.readouterr().err


@pytest.fixture
def kept(recurrent, capsys):
    """The recurrent layer, compiled with its state and, as stateless.vta, without."""
    np.savez(recurrent / "c.npz", x=np.random.default_rng(1).standard_normal((6, 1, 1, 16)).astype(np.float32))
    compile_it = ["compile", recurrent / "net.onnx", "-o"]
    run_json([*compile_it, recurrent / "net.vta", "--state", "h=after", "--calibration", recurrent / "c.npz"], capsys)
    run_json([*compile_it, recurrent / "stateless.vta"], capsys)
    return recurrent


def test_one_run_of_a_network_whose_state_is_quantised(kept, capsys):
    np.savez(kept / "one.npz", x=np.zeros((1, 1, 16), np.float32))
    assert run_json(["run", kept / "net.vta", "--inputs", kept / "one.npz", "--check"], capsys)["bit_exact"]


ROW = np.zeros((1, 1, 16), np.float32)


@pytest.mark.parametrize(
    ("arrays", "options", "reason"),
    [
        ({"x": ROW, "h": ROW}, ["--inputs"], "a.npz: array 'h' is for a state of the network, which is no input"),
        ({"x": ROW[None], "h": ROW[None]}, ["--frames"], "a.npz: array 'h' is for a state of the network, which is no input"),
        ({"x": ROW[None, ..., :8]}, ["--frames"], "its frames are of shape (time, 1, 1, 16); got (1, 1, 1, 8)"),
        ({"z": ROW[None]}, ["--frames"], "a.npz: no array 'x' for the network's input; it holds z"),
        ({"h": ROW[..., :8]}, ["--frames", "2", "--load-state"], "a.npz: state 'h' must be float32[1, 1, 16], got"),
        ({"h": ROW.astype(np.float64)}, ["--frames", "2", "--load-state"], "a.npz: state 'h' must be float32[1, 1, 16]"),
        ({"h": ROW * np.nan}, ["--frames", "2", "--load-state"], "a.npz: state 'h' is nan at [0, 0, 0]; expected numbers"),
        ({"h": ROW, "g": ROW}, ["--frames", "2", "--load-state"], "a.npz: 'g' is no state of graph 'net'; its states are: h"),
    ],
)
def test_wrong_states_and_frames_are_named(kept, arrays, options, reason, capsys):
    np.savez(kept / "a.npz", **arrays)
    assert main(["run", str(kept / "net.vta"), *options, str(kept / "a.npz")])
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("way", [[], ["--frames", "2"]])
@pytest.mark.parametrize("flag", ["--save-state", "--load-state"])
def test_states_of_a_network_without_any(kept, way, flag, capsys):
    np.savez(kept / "s.npz")
    assert main(["run", str(kept / "stateless.vta"), *way, flag, str(kept / "s.npz")])
    assert f"{flag} {kept / 's.npz'}: the network keeps no states" in capsys.readouterr().err


def test_more_frames_than_memory_holds_are_refused(kept, capsys):
    assert main(["run", str(kept / "net.vta"), "--frames", "9" * 20])
    assert "is out of range; allowed: 1 to 1000000" in capsys.readouterr().err


def test_calibration_samples_of_a_state_are_refused(kept, capsys):
    np.savez(kept / "a.npz", x=ROW[None], h=ROW[None])
    compile_it = ["compile", kept / "net.onnx", "-o", kept / "b.vta", "--state", "h=after", "--calibration", kept / "a.npz"]
    assert main(list(map(str, compile_it)))
    assert "a.npz: array 'h' is for a state of the network, which is no input" in capsys.readouterr().err
