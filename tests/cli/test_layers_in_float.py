"""What stays in float by itself is printed, and whoever names layers has the last word."""

from __future__ import annotations

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
