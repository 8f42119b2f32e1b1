"""Networks whose cycles are explained: all of them, and what is predicted comes true."""

from dataclasses import replace

import numpy as np
import pytest

import vta
from tests.integer_graphs import BASELINE
from vta.compiler.compile import compile_graph, compile_model
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters, timing_of
from vta.devices.engine.cycle_engine import CycleEngine, Preset
from vta.errors import UsageError
from vta.explanation.causes import Cause
from vta.explanation.explain import explain_module
from vta.explanation.suggestion import Estimate
from vta.ir.graph import Graph
from vta.quantization import QuantizeConfig


def cycles_of(module, timing=None, preset=Preset.RTL):
    engine = CycleEngine(module.hw, timing, preset)
    return sum(engine.run(region.program.encoded()).cycles for region in module.regions)


def adds_up(told):
    layers = all(layer.total == layer.bound + sum(layer.lost.values()) for layer in told.layers)
    return layers and told.total == told.bound + sum(told.lost.values())


@pytest.fixture(scope="module")
def resnet8():
    return compile_model("resnet8", HardwareConfig.named("cycle"), quantize=QuantizeConfig(skip_conv_layers=()))


@pytest.fixture(scope="module")
def told(resnet8):
    return explain_module(resnet8)


def test_every_cycle_of_a_network_has_a_cause(resnet8, told):
    assert told.total == cycles_of(resnet8)
    assert adds_up(told)
    assert min(min(layer.lost.values()) for layer in told.layers) >= 0
    assert 0 < told.bound < told.roofline <= told.total


def test_the_bound_is_of_full_products(resnet8, told):
    macs = {record.name: record.macs for region in resnet8.regions for record in region.operators}
    for layer in told.layers:
        assert layer.bound <= -(-macs[layer.layer] // 256)


@pytest.mark.parametrize("preset", [Preset.CHISEL, Preset.HLS])
def test_other_presets_and_memories_add_up(resnet8, preset):
    slow = TimingParameters(bus_bits=128, read_latency=70, burst_beats=16, beat_interval=2)
    told = explain_module(resnet8, slow, preset, suggest=False)
    assert told.total == cycles_of(resnet8, slow, preset)
    assert adds_up(told)
    assert told.suggestions == ()


def test_the_sums_of_networks_that_came_quantized(shared):
    path = shared / "models/mlperf_tiny/kws_ref_model.tflite"
    module = compile_model(path, HardwareConfig.named("cycle"))
    told = explain_module(module)
    assert told.total == cycles_of(module)
    assert adds_up(told)
    assert told.lost[Cause.DEPTHWISE] > told.bound
    found = {suggestion.name: suggestion for suggestion in told.suggestions}
    unit = compile_model(path, replace(module.hw, requantize_unit=1))
    assert found["REQUANTIZE_UNIT"].estimate is Estimate.COMPILED
    assert found["REQUANTIZE_UNIT"].predicted_cycles == cycles_of(unit)


def test_predictions_of_the_engine_come_true(resnet8, told):
    found = {suggestion.name: suggestion for suggestion in told.suggestions}
    wide = replace(timing_of(resnet8.hw), bus_bits=128)
    assert found["bus_bits"].predicted_cycles == cycles_of(resnet8, wide)
    block = replace(resnet8.hw, log_block=found["LOG_BLOCK"].change["LOG_BLOCK"])
    bigger = compile_model("resnet8", block, quantize=QuantizeConfig(skip_conv_layers=()))
    assert found["LOG_BLOCK"].predicted_cycles == cycles_of(bigger)
    assert all(suggestion.predicted_cycles + suggestion.gain_cycles == told.total for suggestion in told.suggestions)


def test_the_requantize_unit_is_predicted_by_programs_that_use_it(resnet8, told):
    found = {suggestion.name: suggestion for suggestion in told.suggestions}
    unit = compile_model("resnet8", replace(resnet8.hw, requantize_unit=1), quantize=QuantizeConfig(skip_conv_layers=()))
    assert found["REQUANTIZE_UNIT"].predicted_cycles == cycles_of(unit) < told.total


@pytest.mark.parametrize("config", ["pynq", "de10nano", "ultra96", "sim_4x8", "sim_rq"])
def test_networks_for_any_target_are_explained(config):
    module = compile_model("resnet8", HardwareConfig.named(config), quantize=QuantizeConfig(skip_conv_layers=()))
    told = explain_module(module)
    assert adds_up(told)
    changes = {key for suggestion in told.suggestions for key in suggestion.change}
    assert config.startswith("sim") or not any(key.endswith("_UNIT") for key in changes)


def test_the_same_network_gets_the_same_suggestions(demo_plain):
    assert explain_module(demo_plain).suggestions == explain_module(demo_plain).suggestions != ()


def test_a_network_that_stays_on_the_host_has_nothing_to_explain():
    source = vta.load_model("resnet8")
    module = compile_graph(Graph(source.inputs, source.inputs, "nothing"), BASELINE)
    told = vta.explain(module)
    assert (told.total, told.bound, told.layers, told.suggestions) == (0, 0, (), ())


def test_from_python(resnet8, tmp_path):
    resnet8.save(tmp_path / "net.vta")
    told = vta.explain(tmp_path / "net.vta", suggest=False)
    assert told.to_json() == vta.explain(resnet8, suggest=False).to_json()
    assert f"{told.total:,} cycles" in repr(told)
    assert told._repr_html_().count("<table>") == 3
    with pytest.raises(UsageError, match="preset 'tsim' is unknown; allowed: rtl, chisel, hls"):
        vta.explain(resnet8, preset="tsim")


def test_regions_without_origins_are_one_layer(resnet8):
    none = np.zeros(0, np.int32)
    plain = [replace(region.program, operators=(), operator_index=none, tile_index=none) for region in resnet8.regions]
    regions = tuple(replace(region, program=program) for region, program in zip(resnet8.regions, plain, strict=True))
    told = explain_module(replace(resnet8, regions=regions), suggest=False)
    assert [layer.layer for layer in told.layers] == [region.name for region in resnet8.regions]
    assert told.total == cycles_of(resnet8)
    assert adds_up(told)
