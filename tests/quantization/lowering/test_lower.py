from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.partition.fused.find import find_fused_operators
from vta.quantization import QuantizeConfig, lower, quantize, with_bounds

zero_points = st.sampled_from([0, 0, 3, -128, 127])
ratios = st.one_of(st.floats(2.0**-12, 2.0**-3), st.integers(3, 12).map(lambda n: 2.0**-n))


def ops(graph: Graph) -> list[str]:
    return [node.op for node in graph.calls()]


def assert_same_bits(graph: Graph, hw: HardwareConfig, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    inputs = {n.name: rng.integers(-128, 128, n.shape, dtype=np.int8) for n in graph.inputs}
    lowered = lower(graph, hw)
    assert not [op for op in ops(lowered) if op.startswith("qnn.") and op not in ("qnn.quantize", "qnn.dequantize")]
    for found, wanted in zip(evaluate(lowered, inputs), evaluate(with_bounds(graph), inputs), strict=True):
        assert np.array_equal(found, wanted)
    return lowered


def conv(data: Node, channels: int, rng: np.random.Generator, zero_point: int = 0, **attributes) -> Node:
    weight = constant(rng.integers(-127, 128, (channels, data.shape[1] // attributes.get("groups", 1), 3, 3), dtype=np.int8))
    scales = {"input_scale": 1.0, "kernel_scale": 1.0, "input_zero_point": zero_point}
    value = call("qnn.conv2d", [data, weight], "conv", **scales, padding=(1, 1, 1, 1), **attributes)
    return call("nn.bias_add", [value, constant(rng.integers(-5000, 5000, channels, dtype=np.int32))], "conv")


def requantize(value: Node, scale, zero_point: int = 0, **attributes) -> Node:
    return call(
        "qnn.requantize", [value], "conv", input_scale=scale, output_scale=1.0, output_zero_point=zero_point, **attributes
    )


@given(st.lists(ratios, min_size=4, max_size=4), zero_points, zero_points, st.booleans(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_convolution_and_requantization(sim: HardwareConfig, ratio: list, zero_in: int, zero_out: int, relu: bool, seed: int):
    rng = np.random.default_rng(seed)
    data = graph_input("x", (1, 3, 5, 5), "int8")
    value = requantize(conv(data, 4, rng, zero_in), tuple(ratio), zero_out)
    value = call("clip", [value], "act", a_min=zero_out, a_max=100 if zero_out < 100 else 127) if relu else value
    lowered = assert_same_bits(Graph((data,), (value,)), sim, seed)
    assert ops(lowered).count("add") <= 1
    assert ops(lowered).count("clip") == 1


@given(ratios, st.floats(0.5, 2000), zero_points, zero_points, st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_residual_addition(sim: HardwareConfig, ratio: float, multiplier: float, zero_rhs: int, zero_out: int, seed: int):
    rng = np.random.default_rng(seed)
    data = graph_input("x", (1, 4, 5, 5), "int8")
    scales = {"lhs_scale": ratio, "rhs_scale": ratio * multiplier, "output_scale": 1.0}
    points = {"rhs_zero_point": zero_rhs, "output_zero_point": zero_out}
    total = call("qnn.add", [conv(data, 4, rng), data], "sum", **scales, **points)
    lowered = assert_same_bits(Graph((data,), (call("nn.relu", [total], "act"),)), sim, seed)
    assert ops(lowered).count("add") <= 2


@given(st.floats(0.01, 2), st.floats(0.01, 2), zero_points, zero_points, zero_points, st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_addition_of_two_tensors(
    sim: HardwareConfig, lhs: float, rhs: float, zero_lhs: int, zero_rhs: int, zero_out: int, seed: int
):
    left, right = graph_input("l", (2, 6), "int8"), graph_input("r", (2, 6), "int8")
    scales = {"lhs_scale": lhs, "rhs_scale": rhs, "output_scale": 1.0}
    points = {"lhs_zero_point": zero_lhs, "rhs_zero_point": zero_rhs, "output_zero_point": zero_out}
    assert_same_bits(Graph((left, right), (call("qnn.add", [left, right], "sum", **scales, **points),)), sim, seed)


@given(st.floats(0.2, 5), zero_points, zero_points, st.integers(0, 3), st.booleans(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_average_pooling(sim: HardwareConfig, ratio: float, zero_in: int, zero_out: int, pad: int, count: bool, seed: int):
    data = graph_input("x", (1, 3, 8, 9), "int8")
    scales = {"input_scale": ratio, "output_scale": 1.0, "input_zero_point": zero_in, "output_zero_point": zero_out}
    geometry = {"pool_size": (4, 4), "strides": (2, 3), "padding": (pad, 0, 0, pad), "count_include_pad": count}
    pooled = call("qnn.avg_pool2d", [data], "pool", **scales, **geometry)
    whole = call("qnn.global_avg_pool2d", [data], "whole", **scales)
    assert_same_bits(Graph((data,), (pooled, whole)), sim, seed)


@given(ratios, zero_points, zero_points, st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_dense(sim: HardwareConfig, ratio: float, zero_in: int, zero_out: int, seed: int):
    rng = np.random.default_rng(seed)
    data = graph_input("x", (3, 20), "int8")
    weight = constant(rng.integers(-127, 128, (5, 20), dtype=np.int8))
    value = call("qnn.dense", [data, weight], "fc", input_scale=1.0, kernel_scale=1.0, input_zero_point=zero_in)
    assert_same_bits(Graph((data,), (requantize(value, ratio, zero_out), value)), sim, seed)


def test_steps_of_a_shift(sim: HardwareConfig, rng: np.random.Generator):
    """Bias and rounding are one addition, and the activation is the clip that narrowing needs anyway."""
    data = graph_input("x", (1, 4, 5, 5), "int8")
    value = call("nn.relu", [requantize(conv(data, 4, rng), 2.0**-9)], "act")
    lowered = assert_same_bits(Graph((data,), (value,)), sim)
    assert ops(lowered) == ["nn.conv2d", "add", "right_shift", "clip", "cast"]
    shift, clip = lowered.calls()[2], lowered.calls()[3]
    assert shift.inputs[1].value.shape == ()
    assert (clip.attrs.a_min, clip.attrs.a_max, clip.name) == (0, 127, "act")


def test_steps_of_a_residual_addition(sim: HardwareConfig, rng: np.random.Generator):
    data = graph_input("x", (1, 4, 5, 5), "int8")
    scales = {"lhs_scale": (2.0**-9, 2.0**-8, 2.0**-7, 2.0**-9), "rhs_scale": 0.75, "output_scale": 1.0}
    total = call("qnn.add", [conv(data, 4, rng), data], "sum", **scales)
    lowered = assert_same_bits(Graph((data,), (total,)), sim)
    assert ops(lowered) == ["nn.conv2d", "add", "cast", "multiply", "add", "right_shift", "clip", "cast"]
    factor = lowered.calls()[3].inputs[1].value
    assert factor.shape == (1, 4, 1, 1)
    assert factor.reshape(-1).tolist() == [384, 192, 96, 384]


def test_a_long_shift_takes_two_steps(sim: HardwareConfig, rng: np.random.Generator):
    data = graph_input("x", (1, 4, 5, 5), "int8")
    lowered = assert_same_bits(Graph((data,), (requantize(conv(data, 4, rng), 2.0**-18),)), sim)
    amounts = [int(node.inputs[1].value) for node in lowered.calls() if node.op == "right_shift"]
    assert amounts == [15, 3]


def test_an_activation_with_another_reader_is_not_merged(sim: HardwareConfig, rng: np.random.Generator):
    data = graph_input("x", (1, 4, 5, 5), "int8")
    value = requantize(conv(data, 4, rng), 2.0**-9)
    lowered = assert_same_bits(Graph((data,), (call("nn.relu", [value], "act"), value)), sim)
    assert ops(lowered).count("nn.relu") == 1
    assert ops(lowered).count("nn.conv2d") == 1


def test_scaling_each_channel_is_a_multiply_where_the_target_has_one(hw: HardwareConfig):
    data = graph_input("x", (1, 4, 3, 3), "int8")
    weight = constant(np.array([3, -70, 0, 127], np.int8).reshape(4, 1, 1, 1))
    value = call("qnn.conv2d", [data, weight], "bn", input_scale=1.0, kernel_scale=1.0, groups=4)
    lowered = assert_same_bits(Graph((data,), (requantize(value, 2.0**-6),)), hw)
    first = ["cast", "multiply"] if hw.capabilities.multiply else ["nn.conv2d"]
    assert ops(lowered) == [*first, "add", "right_shift", "clip", "cast"]


@pytest.mark.parametrize("zero_point", [0, 5])
def test_padding_stands_for_the_zero_point(sim: HardwareConfig, rng: np.random.Generator, zero_point: int):
    data = graph_input("x", (1, 4, 5, 5), "int8")
    lowered = lower(Graph((data,), (conv(data, 4, rng, zero_point),)), sim)
    assert ("nn.pad" in ops(lowered)) == (zero_point != 0)


def test_every_integer_operator_belongs_to_a_fused_operator(graph: Graph, net, hw: HardwareConfig):
    lowered = lower(quantize(graph, net.samples(graph, 8), QuantizeConfig(), hw), hw)
    _, reasons = find_fused_operators(lowered)
    moving = ("concatenate", "nn.upsampling", "nn.batch_flatten", "qnn.quantize", "qnn.dequantize")
    # What the host quantises, it pads with the zero point, too.
    left = [n for n in reasons if not (n.op == "nn.pad" and n.inputs[0].op == "qnn.quantize")]
    assert [(n.name, n.op, reasons[n]) for n in left if n.dtype != "float32" and n.op not in moving] == []
