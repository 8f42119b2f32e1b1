"""Quantised networks on targets without MUL: products on VTA, requantisation on the host, and the same bytes."""

import numpy as np
import pytest

from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.frontend import load_model
from vta.ir.interpreter import evaluate
from vta.quantization import QuantizeConfig
from vta.runtime.module import Module

MODELS = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "str_ww_ref_model", "vww_96_int8")
MUL = "The target's ALU has no MUL, so only a tensor operand may be multiplied"
ALLOWED = ("no VTA template for ", "padded on the host", "too little to pay for the transfer", "its int32 ")


@pytest.mark.parametrize("config", ["pynq_4x8", "tsim", "ultra96"])
@pytest.mark.parametrize("model", MODELS)
def test_mlperf_tiny_without_a_multiplier(shared, model, config):
    hw = HardwareConfig.named(config)
    assert not hw.capabilities.multiply
    graph = load_model(shared / "models" / "mlperf_tiny" / f"{model}.tflite")
    compiled = compile_model(graph, hw)
    assert sum(record.macs for region in compiled.regions for record in region.operators) == compiled.total_macs
    reasons = {placement.reason for placement in compiled.placements if placement.where == "host"}
    assert MUL in reasons
    assert all(reason == MUL or reason.startswith(ALLOWED) for reason in reasons), reasons
    assert_same_bytes(compiled, graph, hw)


@pytest.mark.parametrize("config", ["pynq_4x8", "tsim", "ultra96"])
@pytest.mark.parametrize("model", MODELS)
def test_mlperf_tiny_by_shifts_is_one_region(shared, model, config):
    hw = HardwareConfig.named(config)
    graph = load_model(shared / "models" / "mlperf_tiny" / f"{model}.tflite")
    compiled = compile_model(graph, hw, quantize=QuantizeConfig(requantize="shift"))
    assert len(compiled.regions) == 1
    reasons = {placement.reason for placement in compiled.placements if placement.where == "host"}
    assert all(reason.startswith(("no VTA template for ", "padded on the host")) for reason in reasons), reasons
    assert_same_bytes(compiled, compiled.graph, hw)


def assert_same_bytes(compiled, graph, hw):
    (entry,) = graph.inputs
    inputs = {entry.name: np.random.default_rng(0).integers(-128, 128, entry.shape).astype(entry.dtype)}
    with Module(compiled, SimDevice(hw, 1 << 26)) as module:
        assert np.array_equal(module.run(inputs).outputs[0], evaluate(graph, inputs)[0])
