"""Networks that keep a state, without Python: the same bytes as with it, frame after frame."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from tests.state_nets import counter, frames, streaming_net
from tests.tflite_streams import integer_lstm
from vta.compiler.compile import compile_graph, compile_model
from vta.devices.sim import SimDevice
from vta.host.llvm.target import host_target
from vta.runtime import Module, save
from vta.runtime.host_library.build import build_host_library


def saved(module, path):
    save(replace(module, host=build_host_library(module, host_target())), path)
    return path


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """A network whose states lie on the device, seven frames, what Python gives for them, and the states after."""
    folder, rng = tmp_path_factory.mktemp("stream"), np.random.default_rng(3)
    module = compile_graph(streaming_net(rng), BASELINE)
    x = frames(rng, module.graph, 7)
    np.save(folder / "x.npy", x)
    np.save(folder / "flat.npy", x[:, 0])
    with Module(module, SimDevice(module.hw)) as loaded:
        wanted = loaded.run_frames(x=x).outputs
        kept = {name: loaded.state[name] for name in loaded.state}
    return saved(module, folder / "net.vta"), wanted, kept


@pytest.mark.parametrize("name", ["x", "flat"])
def test_frames_give_the_bytes_of_python(vta_run, stream, tmp_path, name):
    net, wanted, kept = stream
    out, state = tmp_path / "out.npz", tmp_path / "state.npz"
    status, printed, complaint = vta_run(
        net, f"--input=x={net.with_name(name)}.npy", "--frames", "--output", out, "--save-state", state, "--repeat", 2, "--json"
    )
    assert (status, complaint) == (0, "")
    assert json.loads(printed)["frames"] == 7
    with np.load(out) as found:
        assert found.files == list(wanted.names)
        np.testing.assert_array_equal(found["y"], wanted["y"])
    with np.load(state) as found:
        assert sorted(found.files) == sorted(kept)
        for key in found.files:
            np.testing.assert_array_equal(found[key], kept[key])


def test_a_stream_goes_on_from_states_that_are_given(vta_run, tmp_path):
    module = compile_graph(counter(), BASELINE)
    net = saved(module, tmp_path / "count.vta")
    np.save(tmp_path / "x.npy", np.array([[[1, 2]], [[3, 4]]], np.int32))
    np.save(tmp_path / "one.npy", np.array([[1, 2]], np.int32))
    np.save(tmp_path / "count.npy", np.array([[100, 200]], np.int32))
    given = ["--input", f"x={tmp_path}/x.npy", "--input", f"count={tmp_path}/count.npy", "--frames"]
    assert vta_run(net, *given, "--output", tmp_path / "out.npy")[0] == 0
    assert np.load(tmp_path / "out.npy").tolist() == [[[100, 200]], [[101, 202]]]
    assert vta_run(net, "--input", f"x={tmp_path}/one.npy", "--output", tmp_path / "out.npz")[0] == 0
    with np.load(tmp_path / "out.npz") as found:
        assert {name: found[name].tolist() for name in found.files} == {"y": [[5, -5]], "count": [[6, -3]]}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--frames"], 2, "input 'x' (int32 (1, 2)) is not given"),
        (["--input", "x={dir}/one.npy", "--frames"], 0, ""),
        (["--input", "x={dir}/wide.npy", "--frames"], 1, "int32 (4, 3); a frame of input 'x' is int32 (1, 2)"),
        (["--input", "x={dir}/none.npy", "--frames"], 1, "none.npy: holds no frames"),
        (
            ["--input", "x={dir}/one.npy", "--save-state", "s.npy"],
            2,
            "--save-state 's.npy'; allowed are names that end with .npz",
        ),
    ],
)
def test_what_is_no_stream_is_refused(vta_run, tmp_path, arguments, status, message):
    net = saved(compile_graph(counter(), BASELINE), tmp_path / "count.vta")
    for name, shape in {"one": (1, 2), "wide": (4, 3), "none": (0, 1, 2)}.items():
        np.save(tmp_path / f"{name}.npy", np.zeros(shape, np.int32))
    found, _, complaint = vta_run(net, *(word.format(dir=tmp_path) for word in arguments))
    assert (found, message in complaint) == (status, True), complaint


def test_an_integer_lstm_with_layer_normalisation(vta_run, tmp_path):
    rng, file = np.random.default_rng(5), tmp_path / "lstm.tflite"
    file.write_bytes(integer_lstm(rng, normalized=True))
    module = compile_model(file, BASELINE)
    (given,) = module.graph.arguments
    x = rng.integers(-128, 128, (4, *given.shape)).astype(given.dtype)
    np.save(tmp_path / "x.npy", x)
    with Module(module, SimDevice(module.hw)) as loaded:
        wanted = loaded.run_frames(x).outputs[0]
    net, out = saved(module, tmp_path / "net.vta"), tmp_path / "out.npz"
    status, _, complaint = vta_run(net, f"--input={given.name}={tmp_path / 'x.npy'}", "--frames", "--output", out)
    assert (status, complaint) == (0, "")
    with np.load(out) as found:
        np.testing.assert_array_equal(found[found.files[0]], wanted)
