"""A transformer block, from its file to the device."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import vta
from tests.tflite_models import reference
from vta.frontend.onnx import import_onnx
from vta.frontend.tflite import import_tflite
from vta.ir import names as ops
from vta.ir.decibels import decibels
from vta.ir.interpreter import evaluate
from vta.quantization.config import QuantizeConfig
from vta.testing.transformer_block import Sizes, onnx_block, tflite_block

MOVES = {ops.RESHAPE, ops.TRANSPOSE, ops.STRIDED_SLICE, ops.PAD}


def run(module, **values):
    with vta.open_device("sim", module.hw) as device, device.load(module) as loaded:
        assert loaded.check(**values).bit_exact
        return loaded.run(**values).outputs[0]


@pytest.mark.parametrize(("config", "sizes"), [("sim", Sizes(20, 2, 16, 32)), ("sim_rq_1x8", Sizes(20, 3, 12, 40))])
def test_every_byte_is_that_of_litert(config: str, sizes: Sizes):
    """Without layer norms, which the host rounds to within 1, all is exact: only the softmax is left to the host."""
    block = tflite_block(sizes, norm=False, gelu=False)
    graph = import_tflite(block.content)
    name = graph.inputs[0].name
    (wanted,) = reference(block.content, block.levels)
    np.testing.assert_array_equal(evaluate(graph, {name: block.levels})[0], wanted)
    module = vta.compile(graph, config)
    np.testing.assert_array_equal(run(module, **{name: block.levels}), wanted)
    assert len(module.regions) == 2
    on_host = {placement.op for placement in module.placements if placement.where == "host"}
    assert on_host - MOVES == {ops.QNN_SOFTMAX}
    assert block.error(wanted) > 30


def test_a_block_of_floats():
    """Three regions where the config has tables: before the softmax, up to the second layer norm, and the rest."""
    graph = import_onnx(onnx.load_model_from_string(onnx_block(Sizes(20, 2, 16, 48))))
    samples = np.random.default_rng(0).standard_normal((8, *graph.inputs[0].shape[1:])).astype(np.float32)
    module = vta.compile(graph, "sim_rq", calibration={"x": samples})
    output = run(module, x=samples[:1])
    assert decibels(evaluate(graph, {"x": samples[:1]})[0], output) > 28
    assert len(module.regions) == 3
    assert sum(record.macs for region in module.regions for record in region.operators) == module.total_macs


def test_products_stay_in_float_where_vta_cannot_multiply_by_tensors():
    graph = import_onnx(onnx.load_model_from_string(onnx_block(Sizes(16, 1, 16, 16))))
    samples = np.random.default_rng(0).standard_normal((2, *graph.inputs[0].shape[1:])).astype(np.float32)
    for config, quantize in (("sim_4x8", QuantizeConfig()), ("sim", QuantizeConfig(skip_dense=True))):
        module = vta.compile(graph, config, calibration={"x": samples}, quantize=quantize)
        assert [node.op for node in module.graph.calls()].count(ops.MATMUL) == 2
