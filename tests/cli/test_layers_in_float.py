"""What stays in float by itself is printed, and whoever names layers has the last word."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest

from tests.onnx_models import Quantized
from vta.cli.main import main

SIZE = 8


@pytest.fixture
def files(tmp_path):
    """A detector whose boxes, in pixels, and scores are one tensor, scaled for each channel."""
    net, rng = Quantized(), np.random.default_rng(2)

    def layer(value, channels, depth, size, factor=1.0):
        weight = rng.normal(0, 1.4 / (depth * size**2) ** 0.5, (channels, depth, size, size)) * factor
        return net.node("Conv", value, net.constant(weight.astype(np.float32)), pads=[size // 2] * 4)

    body = net.node("Relu", layer("x", 8, 3, 3))
    scores = net.node("Sigmoid", layer(body, 6, 8, 1))
    joined = net.node("Concat", layer(body, 4, 8, 1, 200), scores, axis=1)
    found = net.node("Mul", joined, net.constant(rng.uniform(0.9, 1.1, (1, 10, 1, 1)).astype(np.float32)))
    samples = rng.standard_normal((4, 3, SIZE, SIZE)).astype(np.float32)
    onnx.save(net.model({"x": samples[:1]}, found), tmp_path / "detector.onnx")
    np.savez(tmp_path / "samples.npz", x=samples)
    return tmp_path


def printed(files, capsys, *more):
    arguments = ["detector.onnx", "-o", "detector.vta", "--config", "sim", "--calibration", "samples.npz", *more]
    assert main(["compile", *arguments]) == 0
    return [line for line in capsys.readouterr().out.splitlines() if "stays in float, as output 0 has " in line]


def test_the_head_of_a_detector_stays_in_float_unless_layers_are_named(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    assert len(printed(files, capsys)) == 2
    assert not printed(files, capsys, "--quantize-first")


@pytest.fixture
def separable(tmp_path):
    """A layer of each channel by itself behind another one, and samples of which each has large values in other channels."""
    net, rng, channels = Quantized(), np.random.default_rng(0), 24
    pass_on = net.constant(np.eye(channels, dtype=np.float32).reshape(channels, channels, 1, 1))
    value = net.node("Relu", net.node("Conv", "x", pass_on))
    weight = net.constant(rng.uniform(0.5, 1, (channels, 1, 1, 1)).astype(np.float32))
    sizes = np.where(rng.uniform(size=(4, channels, 1, 1)) < 0.1, 1.0, 0.15)
    samples = (sizes * np.abs(rng.standard_normal((4, channels, 4, 4)))).astype(np.float32)
    onnx.save(net.model({"x": samples[:1]}, net.node("Conv", value, weight, group=channels)), tmp_path / "separable.onnx")
    np.savez(tmp_path / "samples.npz", x=samples, y=np.zeros(4, np.int64))
    return tmp_path


def test_layers_are_compared_with_channels_as_they_are_where_these_were_left(separable, capsys, monkeypatch):
    monkeypatch.chdir(separable)
    options = ["--config", "sim", "--calibration", "samples.npz"]
    assert main(["compile", "separable.onnx", "-o", "separable.vta", *options]) == 0
    assert "channels are left as they are: " in capsys.readouterr().out
    assert main(["eval", "separable.onnx", "--data", "samples.npz", *options, "--layers", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["layers"]
    assert rows
    assert all(row["own_db"] > 25 for row in rows)
