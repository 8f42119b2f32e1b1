"""Networks of which inputs have no batch axis: scalars, vectors, single images."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from vta.cli.main import main


def model(path, nodes, inputs, constants, outputs=("y",)):
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def figures(arguments, capsys):
    assert main([*map(str, arguments), "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def weights(*shape):
    return (np.random.default_rng(len(shape)).standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "samples"), [((), (12,)), ((), ()), ((8, 1, 1), (12, 8, 1, 1)), ((8, 1, 1), (8, 1, 1)), ((1,), (12,))]
)
def test_a_gain_is_calibrated_and_run(tmp_path, capsys, shape, samples):
    constants = {"w0": weights(8, 3, 3, 3), "w1": weights(8, 8, 3, 3)}
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1] * 4),
        helper.make_node("Mul", ["a", "gain"], ["b"]),
        helper.make_node("Conv", ["b", "w1"], ["y"], pads=[1] * 4),
    ]
    model(tmp_path / "net.onnx", nodes, {"x": (1, 3, 8, 8), "gain": shape}, constants)
    rng = np.random.default_rng(0)
    images, gains = rng.standard_normal((12, 3, 8, 8)).astype(np.float32), rng.uniform(0.5, 1, samples).astype(np.float32)
    np.savez(tmp_path / "samples.npz", x=images, gain=gains)
    np.savez(tmp_path / "one.npz", x=images[:1], gain=np.full(shape, 0.7, np.float32))
    common = ["--config", "sim", "--calibration", tmp_path / "samples.npz"]
    assert figures(["compile", tmp_path / "net.onnx", "-o", tmp_path / "net.vta", *common], capsys)["regions"]
    run = ["run", tmp_path / "net.vta", "--device", "sim", "--check"]
    assert figures([*run, "--inputs", tmp_path / "one.npz"], capsys)["bit_exact"]
    assert figures(run, capsys)["bit_exact"]


def test_single_images_are_evaluated_and_every_output_is_reported(tmp_path, capsys):
    constants = {"w0": weights(16, 3, 3, 3), "w1": weights(16, 16, 3, 3), "axis": np.array([0]), "flat": np.array([-1])}
    nodes = [
        helper.make_node("Unsqueeze", ["x", "axis"], ["image"]),
        helper.make_node("Conv", ["image", "w0"], ["a"], pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w1"], ["c"], pads=[1] * 4),
        helper.make_node("GlobalAveragePool", ["c"], ["d"]),
        helper.make_node("Reshape", ["d", "flat"], ["y"]),
        helper.make_node("Tanh", ["c"], ["z"]),
    ]
    model(tmp_path / "net.onnx", nodes, {"x": (3, 8, 8)}, constants, ("y", "z"))
    rng = np.random.default_rng(1)
    np.savez(tmp_path / "data.npz", x=rng.standard_normal((9, 3, 8, 8)).astype(np.float32), y=rng.integers(0, 16, 9))
    found = figures(
        ["eval", tmp_path / "net.onnx", "--data", tmp_path / "data.npz", "--config", "sim", "--device", "sim"], capsys
    )
    assert (found["n"], found["bit_exact"]) == (9, True)
    ratios = [row["snr_db"] for row in found["outputs"]]
    assert len(ratios) == 2
    assert ratios == sorted(ratios)
    assert min(ratios) > 15
