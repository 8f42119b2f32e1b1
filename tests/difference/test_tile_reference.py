"""The level of tiles in NumPy gives what programs and graphs give."""

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from vta.compiler.compile import compile_model
from vta.compiler.options import CompileOptions
from vta.config.hardware import HardwareConfig
from vta.difference.stages import compiled_again
from vta.difference.tile_value import tile_value
from vta.ir.interpreter import evaluate_all
from vta.runtime.evaluation.random_inputs import any_value, random_inputs


def compared(model, hw):
    """How many operators of a model were compared with the graph; all must be the same."""
    module = compile_model(model, hw, options=CompileOptions(least_gain=0))
    state = compiled_again(module.graph, hw, CompileOptions(least_gain=0), "inline").stages["lower_to_tiles"]
    values = evaluate_all(state.graph, random_inputs(state.graph, 0, any_value))
    count = 0
    for tile in state.tiles:
        for fused in tile.source.operators:
            sources = {node: values[node] for node in (*fused.sources, *tile.source.inputs)}
            found = tile_value(state, fused.result.name, values[fused.result], sources)
            if found is not None:
                np.testing.assert_array_equal(found, values[fused.result], err_msg=fused.result.name)
                count += 1
    return count


@pytest.mark.parametrize("config", ["sim", "sim_rq"])
def test_residuals_and_requantization(shared, config):
    assert compared(shared / "models/mlperf_tiny/pretrainedResnet_quant.tflite", HardwareConfig.named(config)) > 8


@pytest.mark.parametrize("config", ["sim", "sim_rq"])
def test_depthwise_convolutions_and_borders(shared, config):
    assert compared(shared / "models/mlperf_tiny/kws_ref_model.tflite", HardwareConfig.named(config)) > 8


def test_a_network_quantized_here():
    assert compared("resnet8", BASELINE) > 4
