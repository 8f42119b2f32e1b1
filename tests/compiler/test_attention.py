"""A transformer block, from its file to the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.defs import onnx_opset_version

import vta
from tests.tflite_models import reference
from vta.frontend.onnx import import_onnx
from vta.frontend.tflite import import_tflite
from vta.ir import names as ops
from vta.ir.arithmetic.decibels import decibels
from vta.ir.interpreter import evaluate
from vta.quantization.config import QuantizeConfig
from vta.testing.tflite_model import Tflite
from vta.testing.transformer_block import Sizes, causal_mask, distance_bias, onnx_block, tflite_block

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


@pytest.mark.parametrize(
    ("config", "sizes"), [("sim_rq", Sizes(20, 2, 16, 48)), ("sim_rq", Sizes(32, 3, 8, 40)), ("sim_rq_1x8", Sizes(64, 4, 32, 32))]
)
def test_a_block_of_floats(config: str, sizes: Sizes):
    """One region where the config has the units: softmax, norms and GELU are in it, and the host only quantizes and moves."""
    module, wanted, output = float_block(sizes, config)
    assert decibels(wanted, output) > 30
    assert len(module.regions) == 1
    on_host = {placement.op for placement in module.placements if placement.where == "host"}
    assert on_host - MOVES == {ops.QNN_QUANTIZE, ops.QNN_DEQUANTIZE}
    products = [record for record in module.regions[0].operators if record.macs]
    # The host's layers of float are none; what scales norms joined the dense layers.
    assert sum(record.macs for record in products) == module.total_macs


def test_softmax_and_norms_that_are_named_stay_in_float():
    softmax, second = "Softmax_15", "LayerNormalization_22"
    module, wanted, output = float_block(Sizes(16, 1, 16, 16), "sim_rq", QuantizeConfig(skip_layers=(softmax, second)))
    assert decibels(wanted, output) > 30
    on_host = {placement.layer for placement in module.placements if placement.op in (ops.SOFTMAX, ops.SQRT)}
    assert on_host == {softmax, second}


def test_a_block_of_floats_without_the_units():
    """Softmax, norms and GELU are between regions."""
    module, wanted, output = float_block(Sizes(20, 2, 16, 48), "sim")
    assert decibels(wanted, output) > 28
    assert len(module.regions) == 4


@pytest.mark.skipif(onnx_opset_version() < 23, reason="the package onnx has Attention from 1.18 on")
@pytest.mark.parametrize(
    ("causal", "mask", "regions"),
    [
        (0, None, 1),
        (1, None, 1),
        (0, np.tri(16, dtype=bool), 1),
        (1, distance_bias(16, 2), 1),
        (0, np.array([True] * 9 + [False] * 7)[None], 1),
        (0, "input", 2),
    ],
    ids=["plain", "causal", "of truth values", "biased", "padding", "input"],
)
def test_the_operator_attention_is_what_defines_it(causal: int, mask: np.ndarray | str | None, regions: int):
    """One region, with its numbers on both sides of the product as one; a mask that is an input is added by the host."""
    rng, dim, rows = np.random.default_rng(1), 32, 16
    weights = {name: (rng.standard_normal((dim, dim)) * 0.3).astype(np.float32) for name in ("wq", "wk", "wv", "wo")}
    nodes = [helper.make_node("MatMul", ["x", f"w{part}"], [part], name=part) for part in "qkv"]
    heads = {"q_num_heads": 2, "kv_num_heads": 2, "is_causal": causal}
    nodes += [
        helper.make_node("Attention", ["q", "k", "v", *(["mask"] if mask is not None else [])], ["a"], name="attention", **heads),
        helper.make_node("MatMul", ["a", "wo"], ["y"], name="o"),
    ]
    places = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (1, rows, dim)) for name in "xy"]
    given = {"x": rng.standard_normal((8, rows, dim)).astype(np.float32)}
    if isinstance(mask, np.ndarray):
        weights["mask"] = np.broadcast_to(mask, (*mask.shape[:-2], rows, rows)).copy()
    elif mask is not None:
        given["mask"] = np.stack([causal_mask(rows)] * 8)
        places.insert(1, helper.make_tensor_value_info("mask", onnx.TensorProto.FLOAT, (1, rows, rows)))
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    net = helper.make_graph(nodes, "net", places[:-1], places[-1:], constants)
    model = helper.make_model(net, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    graph = import_onnx(model)
    module = vta.compile(graph, "sim_rq", calibration=given)
    one = {name: values[:1] for name, values in given.items()}
    assert decibels(evaluate(graph, one)[0], run(module, **one)) > 25
    assert len(module.regions) == regions
    rules = {placement.rule for placement in module.placements if placement.op == ops.SOFTMAX}
    assert rules == ({"computed_mask"} if isinstance(mask, str) else set())


@pytest.mark.parametrize("causal", [False, True], ids=["biased", "causal"])
@pytest.mark.parametrize(
    ("config", "sizes"), [("sim_rq", Sizes(20, 2, 16, 48)), ("sim_rq", Sizes(33, 3, 8, 40)), ("sim_rq_1x8", Sizes(48, 4, 32, 32))]
)
def test_masks_and_biases_of_scores_are_added_on_the_device(config: str, sizes: Sizes, causal: bool):
    """The block is one region, and as near to real numbers as without."""
    bias = distance_bias(sizes.tokens, sizes.heads)
    module, wanted, output = float_block(sizes, config, bias=bias, causal=causal)
    assert decibels(wanted, output) > 30
    assert len(module.regions) == 1
    on_host = {placement.op for placement in module.placements if placement.where == "host"}
    assert on_host - MOVES == {ops.QNN_QUANTIZE, ops.QNN_DEQUANTIZE}


@pytest.mark.parametrize("masked", ["ADD", "SELECT_V2"])
def test_tflites_float_attention_with_a_mask(masked: str):
    """TFLite's values of four dimensions are taken as images, which must not keep a softmax from its product."""
    sizes, rng, net = Sizes(24, 2, 16), np.random.default_rng(0), Tflite()
    whole, apart = (1, sizes.tokens, sizes.features), (1, sizes.tokens, sizes.heads, sizes.head)
    square = 1, sizes.heads, sizes.tokens, sizes.tokens

    def made(kind: str, inputs: list[int], shape: tuple[int, ...], options: str | None = None, **fields: Any) -> int:
        result = net.tensor(shape, "float32")
        net.operator(kind, inputs, result, options, **fields)
        return result

    def dense(value: int) -> int:
        weights = net.constant(rng.standard_normal((sizes.features, sizes.features)) * 0.3, "float32")
        inputs = [value, weights, net.constant(np.zeros(sizes.features), "float32")]
        return made("FULLY_CONNECTED", inputs, whole, "FullyConnectedOptions", FusedActivationFunction=0, KeepNumDims=True)

    def heads(value: int) -> int:
        split = made("RESHAPE", [value, net.constant(apart, "int32")], apart, "ReshapeOptions")
        return made("TRANSPOSE", [split, net.constant([0, 2, 1, 3], "int32")], tuple(apart[axis] for axis in (0, 2, 1, 3)))

    def product(left: int, right: int, shape: tuple[int, ...], turned: bool) -> int:
        return made("BATCH_MATMUL", [left, right], shape, "BatchMatMulOptions", AdjX=False, AdjY=turned)

    x = net.tensor(whole, "float32")
    query, key, values = (heads(dense(x)) for _ in range(3))
    scores = product(query, key, square, turned=True)
    scaled = made("MUL", [scores, net.constant(0.25, "float32")], square, "MulOptions", FusedActivationFunction=0)
    mask = np.maximum(causal_mask(sizes.tokens), -1e9)[None, None]
    if masked == "ADD":
        kept = made("ADD", [scaled, net.constant(mask, "float32")], square, "AddOptions", FusedActivationFunction=0)
    else:
        kept = made("SELECT_V2", [net.constant(mask < 0, "bool"), net.constant(-1e9, "float32"), scaled], square)
    shares = made("SOFTMAX", [kept], square, "SoftmaxOptions", Beta=1.0)
    attended = product(shares, values, tuple(apart[axis] for axis in (0, 2, 1, 3)), turned=False)
    joined = made("TRANSPOSE", [attended, net.constant([0, 2, 1, 3], "int32")], apart)
    joined = made("RESHAPE", [joined, net.constant(whole, "int32")], whole, "ReshapeOptions")
    graph = import_tflite(net.build([x], [dense(joined)]))
    name, samples = graph.inputs[0].name, rng.standard_normal((8, *whole[1:])).astype(np.float32)
    module = vta.compile(graph, "sim_rq", calibration={name: samples})
    assert len(module.regions) == 1
    one = {name: samples[:1]}
    assert decibels(evaluate(graph, one)[0], run(module, **one)) > 27


def float_block(sizes: Sizes, config: str, quantize: QuantizeConfig | None = None, **masks: Any):
    graph = import_onnx(onnx.load_model_from_string(onnx_block(sizes, **masks)))
    samples = np.random.default_rng(0).standard_normal((8, *graph.inputs[0].shape[1:])).astype(np.float32)
    module = vta.compile(graph, config, calibration={"x": samples}, quantize=quantize)
    return module, evaluate(graph, {"x": samples[:1]})[0], run(module, x=samples[:1])


def test_products_stay_in_float_where_vta_cannot_multiply_by_tensors():
    graph = import_onnx(onnx.load_model_from_string(onnx_block(Sizes(16, 1, 16, 16))))
    samples = np.random.default_rng(0).standard_normal((2, *graph.inputs[0].shape[1:])).astype(np.float32)
    for config, quantize in (("sim_4x8", QuantizeConfig()), ("sim", QuantizeConfig(skip_dense=True))):
        module = vta.compile(graph, config, calibration={"x": samples}, quantize=quantize)
        assert [node.op for node in module.graph.calls()].count(ops.MATMUL) == 2
