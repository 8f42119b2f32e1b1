"""Real networks that came quantised, with fewer passes than exact results take."""

from dataclasses import replace

import pytest

from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.devices.cycle import CycleDevice
from vta.devices.device import RunOptions
from vta.frontend import load_model
from vta.quantization import QuantizeConfig

HW = HardwareConfig.named("cycle")
ETHOS_U55 = {
    "mlperf_tiny/pretrainedResnet_quant.tflite": 142_000,
    "mlperf_tiny/kws_ref_model.tflite": 58_000,
    "mlperf_tiny/vww_96_int8.tflite": 161_000,
    "mobilenet/mobilenet_v1_0.25_224_quant.tflite": 944_000,
    "mobilenet/tf2_mobilenet_v2_1.0_224_ptq.tflite": 5_460_000,
    "mobilenet/mobilenet_v2_quant.onnx": 5_460_000,
}
"""Cycles that Arm's own compiler estimates for an Ethos-U55 with as many multipliers."""


def cycles(graph, way):
    compiled = compile_model(graph, HW, quantize=replace(QuantizeConfig(), requantize=way))
    assert len(compiled.regions) == 1
    device = CycleDevice(HW, timing_only=True)
    return device.run(compiled.regions[0].program.encoded(), RunOptions()).cycles


@pytest.mark.parametrize("model", ETHOS_U55)
def test_shifts_take_fewer_cycles_than_another_accelerator_of_that_size(shared, model):
    graph = load_model(shared / "models" / model)
    close, shift = cycles(graph, "close"), cycles(graph, "shift")
    assert shift < close
    assert shift < ETHOS_U55[model]
