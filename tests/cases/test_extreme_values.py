"""The largest sums, accumulators that are too narrow, and constants beyond 16 bits."""

import logging

import numpy as np
import pytest

from tests.cases._nets import (
    NARROW,
    SHIPPED,
    assert_all_on_vta,
    config,
    crc,
    int8_data,
    narrowed,
    reference_convolution,
    run_verified,
)
from vta.compiler.compile import compile_graph
from vta.devices.sim import SimDevice
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.runtime import Module

ONES = (1, 1, 1, 1)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize(
    ("value", "center", "wide", "floor", "half_up"),
    [(127, 74322432, 0x8D76B5CC, 0x33A1203A, 0xF15F457A), (-128, 75497472, 0xFCBC75B7, 0x7C3440F8, 0x7C3440F8)],
)
def test_4608_extreme_products(name, value, center, wide, floor, half_up):
    x, weights = (np.full(shape, value, np.int8) for shape in ((1, 512, 6, 6), (16, 512, 3, 3)))
    data = graph_input("x", x.shape, "int8")
    acc, low, near = (call("nn.conv2d", [data, constant(weights)], layer, padding=ONES) for layer in ("acc", "low", "near"))
    graph = Graph((data,), (acc, narrowed(low, 19, "low"), narrowed(near, 19, "near", half_up=True)))
    compiled = compile_graph(graph, config(name))
    assert_all_on_vta(compiled)
    for report in run_verified(compiled, {"x": x}):
        assert [crc(output) for output in report.outputs] == [wide, floor, half_up]
        assert report.outputs[0][0, 0, 2, 2] == center


def test_a_16_bit_accumulator_wraps_and_the_compiler_warns(caplog):
    """64 products of 127 * 127 are 1032256, and -16320 in 16 bits: seen by its low and its high byte."""
    x, weights = np.full((1, 64), 127, np.int8), np.full((16, 64), 127, np.int8)
    data = graph_input("x", x.shape, "int8")
    low, high = (call("nn.dense", [data, constant(weights)], layer) for layer in ("low", "high"))
    graph = Graph((data,), (call("cast", [low], "low", dtype="int8"), narrowed(high, 8, "high")))
    with caplog.at_level(logging.WARNING, logger="vta"):
        compiled = compile_graph(graph, config("sim", **NARROW))
    assert "low: nn.dense may reach 1040384, but 16-bit accumulators hold at most 32767; larger values wrap" in caplog.messages
    assert_all_on_vta(compiled)
    results = [report.outputs for report in run_verified(compiled, {"x": x})]
    results.append(evaluate(compiled.graph, {"x": x}))
    for low_byte, high_byte in results:
        assert low_byte.shape == high_byte.shape == (1, 16)
        assert (high_byte.astype(int) * 256 + low_byte.view(np.uint8) == -16320).all()
    with Module(compiled, SimDevice(compiled.hw)) as module:
        assert module.check({"x": x}).bit_exact


@pytest.mark.parametrize(("changes", "weight"), [({}, 127), (NARROW, 3)])
def test_accumulators_that_hold_everything_give_no_warning(changes, weight, caplog):
    data = graph_input("x", (1, 64), "int8")
    product = call("nn.dense", [data, constant(np.full((16, 64), weight, np.int8))], "product")
    compile_graph(Graph((data,), (narrowed(product, 8, "product"),)), config("sim", **changes))
    assert caplog.messages == []


def wide_constants():
    """Steps that name constants beyond 16 bits, each with what it computes."""
    bias = np.where(np.arange(20) % 2, 100000, -100000)
    column = bias.astype(np.int32).reshape(1, 20, 1, 1)
    return {
        "minimum-40000": ("minimum", np.int32(40000), lambda a: np.minimum(a, 40000)),
        "minimum--70000": ("minimum", np.int32(-70000), lambda a: np.minimum(a, -70000)),
        "maximum-70000": ("maximum", np.int32(70000), lambda a: np.maximum(a, 70000)),
        "maximum--40000": ("maximum", np.int32(-40000), lambda a: np.maximum(a, -40000)),
        "add-100000": ("add", np.int32(100000), lambda a: a + 100000),
        "add--100000": ("add", np.int32(-100000), lambda a: a - 100000),
        "add-by-channel": ("add", column, lambda a: a + column),
        "bias-by-channel": ("nn.bias_add", bias.astype(np.int32), lambda a: a + column),
        "clip": ("clip", (-70000, 40000), lambda a: np.clip(a, -70000, 40000)),
        "one-bit-too-wide": ("minimum", np.int32(32768), lambda a: np.minimum(a, 32768)),
    }


def apply(step, operand, node, layer):
    if step == "clip":
        return call(step, [node], layer, a_min=operand[0], a_max=operand[1])
    return call(step, [node, constant(operand)], layer)


@pytest.mark.parametrize("name", SHIPPED)
def test_constants_beyond_16_bits_are_never_truncated(name):
    """On sums of up to about 300000, so that every limit binds somewhere."""
    x, weights = int8_data((1, 32, 6, 5), seed=1), int8_data((20, 32, 3, 3), seed=2)
    data = graph_input("x", x.shape, "int8")
    steps = wide_constants()
    outputs = [
        apply(step, operand, call("nn.conv2d", [data, constant(weights)], layer, padding=ONES), layer)
        for layer, (step, operand, _) in steps.items()
    ]
    compiled = compile_graph(Graph((data,), tuple(outputs)), config(name))
    assert_all_on_vta(compiled)
    acc = reference_convolution(x, weights, ONES)
    assert acc.min() < -100000
    assert acc.max() > 100000
    for report in run_verified(compiled, {"x": x}):
        for output, (layer, (_, _, reference)) in zip(report.outputs, steps.items(), strict=True):
            np.testing.assert_array_equal(output, reference(acc), err_msg=layer)


@pytest.mark.parametrize(("low", "high"), [(-70000, 40000), (40000, 70000), (-70000, -40000)])
def test_limits_beyond_16_bit_accumulators_mean_what_they_say(low, high):
    """No 16-bit value reaches such limits: they bound nothing, or everything, but never wrap around themselves."""
    x, weights = int8_data((1, 16, 4, 4), seed=1), int8_data((16, 16, 1, 1), seed=2) // 8
    data = graph_input("x", x.shape, "int8")
    product = call("nn.conv2d", [data, constant(weights)], "conv")
    limited = call("clip", [product], "conv", a_min=low, a_max=high)
    compiled = compile_graph(Graph((data,), (narrowed(limited, 8, "conv"),)), config("sim", **NARROW))
    acc = reference_convolution(x, weights, (0, 0, 0, 0))
    assert np.abs(acc).max() < 1 << 15
    expected = np.clip(np.clip(acc, low, high) >> 8, -128, 127)
    for report in run_verified(compiled, {"x": x}):
        np.testing.assert_array_equal(report.outputs[0], expected)
