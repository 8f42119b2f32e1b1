"""Transposed convolutions from float to the integer dialect."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.test_transposed import layers
from tests.integer_graphs import BASELINE, BATCH_2, random_inputs
from vta.compiler.compile import compile_graph
from vta.devices.sim import SimDevice
from vta.ir.diagnostics import INEXACT, Diagnostics
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate, walk
from vta.passes.canonicalize import canonicalize
from vta.quantization import QuantizeConfig, lower, quantize, with_bounds
from vta.quantization.bounds import accumulator_bound, interval
from vta.runtime.module import Module


def generator(groups=1):
    """Two transposed convolutions with a batch norm's factor between, and a tanh."""
    rng = np.random.default_rng(0)
    data = graph_input("data", (1, 12, 3, 3))

    def up(value, name, channels, **attributes):
        weight = rng.normal(0, 0.2, (value.shape[1], channels // groups, 4, 4)).astype(np.float32)
        attributes |= {"strides": (2, 2), "padding": (1, 1, 1, 1), "groups": groups}
        value = call("nn.conv2d_transpose", [value, constant(weight)], name, **attributes)
        factor = rng.uniform(0.3, 1.5, (1, channels, 1, 1)).astype(np.float32)
        return call("nn.relu", [call("multiply", [value, constant(factor)], name)], name)

    value = up(up(data, "one", 8), "two", 4, output_padding=(1, 0))
    return canonicalize(Graph((data,), (call("tanh", [value], "tanh"),)))


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("multipliers", [False, True])
def test_a_generator(groups, multipliers):
    graph = generator(groups)
    rng = np.random.default_rng(1)
    data = {"data": rng.normal(0, 1, (16, 12, 3, 3)).astype(np.float32)}
    quantized = quantize(graph, data, QuantizeConfig(multipliers=multipliers), BASELINE)
    products = [node for node in quantized.calls() if node.op == "qnn.conv2d_transpose"]
    assert [len(node.attrs.kernel_scale) for node in products] == [8, 4]
    sample = {"data": data["data"][:1]}
    (real,), (found,) = evaluate(graph, sample), evaluate(quantized, sample)
    assert np.abs(real - found).max() < 0.06
    lowered = lower(quantized, BASELINE)
    np.testing.assert_array_equal(evaluate(lowered, sample)[0], found)
    compiled = compile_graph(lowered, BASELINE)
    assert len(compiled.regions) == 1
    with Module(compiled, SimDevice(BASELINE, 1 << 24)) as module:
        assert module.check(sample).bit_exact


@st.composite
def quantized_layers(draw):
    """A transposed convolution of values that have a zero point, requantised with the rounding of TFLite or with ours."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    pair = st.tuples(st.integers(1, 3), st.integers(1, 3))
    strides, dilation, kernel = draw(pair), draw(pair), draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    groups = draw(st.sampled_from((1, 2)))
    data = graph_input("x", (1, 2 * draw(st.integers(1, 9)), draw(st.integers(1, 5)), draw(st.integers(1, 5))), "int8")
    weight = rng.integers(-128, 128, (data.shape[1], draw(st.integers(1, 9)), *kernel), np.int8)
    extra = tuple(draw(st.integers(0, stride - 1)) for stride in strides)
    whole = [
        (data.shape[2 + axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilation[axis] + 1 + extra[axis] for axis in (0, 1)
    ]
    before = [draw(st.integers(0, min(4, size - 1))) for size in whole]
    after = [draw(st.integers(0, min(4, size - cut - 1))) for size, cut in zip(whole, before, strict=True)]
    zero_point, rounding = draw(st.integers(-128, 127)), draw(st.sampled_from(("up", "tflite")))
    product = call(
        "qnn.conv2d_transpose",
        [data, constant(weight)],
        "up",
        input_scale=0.02,
        input_zero_point=zero_point,
        kernel_scale=0.01,
        strides=strides,
        dilation=dilation,
        groups=groups,
        padding=(*before, *after),
        output_padding=extra,
    )
    bias = constant(rng.integers(-9999, 9999, product.shape[1], np.int32))
    biased = call("nn.bias_add", [product, bias], "up") if draw(st.booleans()) else product
    to = {"input_scale": 0.0002, "output_scale": 0.13, "output_zero_point": 5, "rounding": rounding}
    return Graph((data,), (call("qnn.requantize", [biased], "up", **to),))


@given(quantized_layers(), st.sampled_from((BASELINE, BATCH_2, replace(BASELINE, target="intelfocl"))))
@settings(max_examples=60)
def test_zero_points_are_exact_and_run_on_vta(graph, hw):
    diagnostics = Diagnostics()
    lowered = lower(graph, hw, diagnostics)
    feed = random_inputs(graph)
    if not diagnostics.of(INEXACT):
        np.testing.assert_array_equal(evaluate(lowered, feed)[0], evaluate(with_bounds(graph), feed)[0])
    compiled = compile_graph(lowered, hw)
    assert {placement.where for placement in compiled.placements if placement.op != "nn.pad"} == {"vta"}
    with Module(compiled, SimDevice(hw, 1 << 24)) as module:
        assert module.check(feed).bit_exact


def test_phases_that_meet_the_same_weights_need_no_values_of_their_own():
    data = graph_input("x", (1, 4, 3, 3), "int8")
    scales = {"input_scale": 1.0, "kernel_scale": 1.0, "input_zero_point": 7}

    def inputs_of(weight):
        node = call("qnn.conv2d_transpose", [data, constant(weight)], "up", strides=(2, 2), **scales)
        (lowered,) = lower(Graph((data,), (node,)), BASELINE).outputs
        return [source.shape for source in (lowered if lowered.op == "nn.conv2d_transpose" else lowered.inputs[0]).inputs[2:]]

    assert inputs_of(np.ones((4, 3, 2, 2), np.int8)) == []
    assert inputs_of(np.ones((4, 3, 3, 2), np.int8)) == [(3, 2, 2)]


@given(layers(), st.integers(0, 99))
@settings(max_examples=40)
def test_bounds_hold(graph, seed):
    for node, value in walk(graph, random_inputs(graph, seed)):
        if node.op == "nn.conv2d_transpose":
            assert np.abs(value).max(initial=0) <= accumulator_bound(node)


@given(st.integers(-128, 127), st.integers(1, 3), st.integers(0, 99))
@settings(max_examples=40)
def test_intervals_are_reached_and_not_left(zero_point, stride, seed):
    rng = np.random.default_rng(seed)
    weight = rng.integers(-128, 128, (2, 3, 3, 2), np.int8)
    data = graph_input("x", (1, 2, 4, 4), "int8")
    scales = {"input_scale": 1.0, "kernel_scale": 1.0, "input_zero_point": zero_point}
    node = call("qnn.conv2d_transpose", [data, constant(weight)], "up", strides=(stride, stride), **scales)
    least, most = interval(node)
    for value in (rng.integers(-128, 128, data.shape, np.int8), np.full(data.shape, 127, np.int8)):
        (found,) = evaluate(Graph((data,), (node,)), {"x": value})
        assert (found.min(axis=(0, 2, 3)) >= least).all()
        assert (found.max(axis=(0, 2, 3)) <= most).all()
    if stride == 1:
        # Each weight meets its worst value at an output that they all reach.
        for bound, pick in ((most, weight > 0), (least, weight < 0)):
            for channel in range(3):
                image = np.where(pick[:, channel, ::-1, ::-1], 127, -128).astype(np.int8)
                inside = np.zeros(data.shape, np.int8)
                inside[0, :, :3, :2] = image
                (found,) = evaluate(Graph((data,), (node,)), {"x": inside})
                assert found[0, channel, 2, 1] == bound[channel]
