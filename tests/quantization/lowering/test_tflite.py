"""Networks with the rounding of other frameworks: lowered, compiled and run, against their definition."""

from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from tests.tflite_models import Tflite, conv_options, random_values, small_net
from vta.compiler.compile import compile_model
from vta.devices.sim import SimDevice
from vta.frontend.tflite import import_tflite
from vta.ir.diagnostics import INEXACT, WRAPS, Diagnostics
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.quantization import lower
from vta.runtime import Module


@pytest.mark.parametrize(("dtype", "per_channel"), [("int8", True), ("uint8", False)])
def test_a_network_runs_on_vta_and_gives_the_bytes_of_its_source(dtype, per_channel):
    graph = import_tflite(small_net(np.random.default_rng(1), dtype, per_channel))
    compiled = compile_model(graph, BASELINE)
    assert len(compiled.regions) == 1
    assert {placement.op for placement in compiled.placements if placement.where == "host"} <= {
        "transpose",
        "nn.pad",
        "nn.windows",
        "reshape",
        "qnn.softmax",
        "qnn.requantize",
    }
    with Module(compiled, SimDevice(BASELINE)) as module:
        for seed in range(3):
            values = random_values(graph, seed)
            report = module.check(values)
            assert report.bit_exact, report.mismatch
            np.testing.assert_array_equal(report.run.outputs[0], evaluate(graph, values)[0])


@pytest.mark.parametrize("rounding", ["tflite", "tflite_once", "even"])
@pytest.mark.parametrize("zero", [-128, 3])
def test_requantizations(rounding, zero):
    rng = np.random.default_rng(0)
    x = graph_input("x", (1, 24, 12, 12), "int8")
    weight = constant(rng.integers(-127, 128, (24, 24, 1, 1)).astype(np.int8))
    product = call("qnn.conv2d", [x, weight], "conv", input_scale=1.0, kernel_scale=1.0, input_zero_point=9)
    biased = call("nn.bias_add", [product, constant(rng.integers(-9999, 9999, 24).astype(np.int32))], "conv")
    scales = tuple(float(np.float32(scale)) for scale in rng.uniform(0.0009, 0.01, 24))
    attributes = {"input_scale": scales, "output_scale": 1.0, "output_zero_point": zero, "rounding": rounding}
    graph = Graph((x,), (call("qnn.requantize", [biased], "conv", **attributes),))
    diagnostics = Diagnostics()
    lowered = lower(graph, BASELINE, diagnostics)
    values = random_values(graph)
    difference = np.abs(evaluate(graph, values)[0].astype(int) - evaluate(lowered, values)[0])
    assert difference.max() <= (1 if diagnostics.of(INEXACT) else 0)
    assert set(diagnostics.of(WRAPS)) == {"conv"}


@pytest.mark.parametrize("rounding", ["tflite", "tflite_once", "even"])
def test_close_requantizations_take_the_fewest_steps(rounding):
    rng = np.random.default_rng(0)
    x = graph_input("x", (1, 24, 12, 12), "int8")
    weight = constant(rng.integers(-127, 128, (24, 24, 1, 1)).astype(np.int8))
    product = call("qnn.conv2d", [x, weight], "conv", input_scale=1.0, kernel_scale=1.0)
    scales = tuple(float(np.float32(scale)) for scale in rng.uniform(0.0009, 0.01, 24))
    graph = Graph((x,), (call("qnn.requantize", [product], "conv", input_scale=scales, output_scale=1.0, rounding=rounding),))
    lowered = lower(graph, BASELINE, close=True)
    assert [node.op for node in lowered.calls()] == ["nn.conv2d", "add", "maximum", "minimum", "multiply", "right_shift", "cast"]
    values = random_values(graph)
    difference = np.abs(evaluate(graph, values)[0].astype(int) - evaluate(lowered, values)[0])
    assert difference.max() <= 1
    assert (difference > 0).mean() < 0.01


@pytest.mark.parametrize("rounding", ["tflite", "even", "even_unsigned"])
def test_additions_of_all_pairs(rounding):
    a, b = graph_input("a", (1, 1, 256, 256), "int8"), graph_input("b", (1, 1, 256, 256), "int8")
    scales = {"lhs_scale": 0.031, "rhs_scale": 0.0457, "output_scale": 0.052}
    zeros = {"lhs_zero_point": -5, "rhs_zero_point": 30, "output_zero_point": 3}
    graph = Graph((a, b), (call("qnn.add", [a, b], "sum", rounding=rounding, a_min=-60, **scales, **zeros),))
    diagnostics = Diagnostics()
    lowered = lower(graph, BASELINE, diagnostics)
    grid = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
    values = {name: part.astype(np.int8)[None, None] for name, part in zip("ab", grid, strict=True)}
    difference = np.abs(evaluate(graph, values)[0].astype(int) - evaluate(lowered, values)[0])
    assert difference.max() <= (1 if diagnostics.of(INEXACT) else 0)


@pytest.mark.parametrize("rounding", ["tflite", "even"])
@pytest.mark.parametrize("ratio", [0.97, 1.0, 1.1809733258286887, 2.3])
def test_results_finer_than_what_they_are_made_of(rounding, ratio):
    x = graph_input("x", (1, 1, 16, 16), "int8")
    scales = {"input_scale": float(np.float32(ratio)), "output_scale": 1.0, "input_zero_point": -7, "output_zero_point": -33}
    graph = Graph((x,), (call("qnn.requantize", [x], "scale", rounding=rounding, **scales),))
    values = {"x": np.arange(-128, 128, dtype=np.int8).reshape(1, 1, 16, 16)}
    diagnostics = Diagnostics()
    lowered = evaluate(lower(graph, BASELINE, diagnostics), values)[0].astype(int)
    difference = np.abs(lowered - evaluate(graph, values)[0])
    assert difference.max() <= (1 if diagnostics.of(INEXACT) else 0)


def test_padded_averages_stay_on_the_host():
    x = graph_input("x", (1, 3, 7, 7), "int8")
    pool = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1), "input_scale": 1.0, "output_scale": 1.0}
    zeros = {"input_zero_point": 5, "output_zero_point": 5}
    graph = Graph((x,), (call("qnn.avg_pool2d", [x], "pool", rounding="tflite", **pool, **zeros),))
    assert [node.op for node in lower(graph, BASELINE).calls()] == ["qnn.avg_pool2d"]


def test_a_layer_that_is_not_exact_is_noted_where_it_is_placed():
    rng = np.random.default_rng(2)
    net = Tflite()
    x = net.tensor((1, 400), scale=0.05, zero=1, name="x")
    weight = net.constant(rng.integers(-127, 128, (60, 400)), scale=0.002)
    bias = net.constant(rng.integers(-200000, 200000, 60), "int32")
    y = net.tensor((1, 60), scale=0.9, zero=11, name="y")
    net.operator("CONV_2D", [x, weight, bias], y, **conv_options())
    net.tensors[x]["shape"], net.tensors[y]["shape"] = (1, 1, 1, 400), (1, 1, 1, 60)
    net.tensors[weight]["shape"] = (60, 1, 1, 400)
    net.tensors[weight]["scale"] = rng.uniform(0.000002, 0.00003, 60)
    compiled = compile_model(import_tflite(net.build([x], [y])), BASELINE)
    reasons = {placement.reason for placement in compiled.placements if placement.where == "vta"}
    diagnostics = Diagnostics()
    lower(import_tflite(net.build([x], [y])), BASELINE, diagnostics)
    assert any("1 off at some values in" in reason for reason in reasons) == bool(diagnostics.of(INEXACT))


@pytest.mark.parametrize("target", ["pynq", "tsim"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_target_without_multiplier_leaves_requantization_to_the_host(target, dtype):
    hw = replace(BASELINE, target=target)
    graph = import_tflite(small_net(np.random.default_rng(1), dtype, dtype == "int8"))
    compiled = compile_model(graph, hw)
    products = [placement for placement in compiled.placements if placement.op in ("nn.conv2d", "nn.dense")]
    assert all(placement.where == "vta" for placement in products)
    layers = {placement.layer for placement in products}
    scaled = [placement for placement in compiled.placements if placement.op == "multiply" and placement.layer in layers]
    assert scaled
    assert all(placement.reason.startswith("The target's ALU has no MUL") for placement in scaled)
    with Module(compiled, SimDevice(hw)) as module:
        values = random_values(graph, 0)
        np.testing.assert_array_equal(module.run(values).outputs[0], evaluate(graph, values)[0])
