"""Infinite values in float networks: masks and paddings keep their meaning, everything else is named."""

from __future__ import annotations

import numpy as np
import pytest

from vta.compiler.compile import compile_model, quantize_model
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.errors import CompileError
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.passes.canonicalize import canonicalize
from vta.quantization import QuantizeConfig
from vta.runtime import Module

SHAPE = (1, 8, 6, 6)
ALL = QuantizeConfig(skip_conv_layers=())
PAD = ((0, 0), (0, 0), (1, 1), (1, 1))


def layer(data: Node, name: str, seed: int) -> Node:
    weight = np.random.default_rng(seed).normal(0, 0.12, (8, 8, 3, 3)).astype(np.float32)
    return call("nn.conv2d", [data, constant(weight, f"{name}_weight")], name, padding=(1, 1, 1, 1))


def masks(kind: str, rng: np.random.Generator) -> np.ndarray:
    shape = (1, 8, 1, 1) if kind == "channels" else SHAPE
    return np.where(rng.random(shape) < 0.4, np.float32(-np.inf), np.float32(0))


def masked(kind: str, rng: np.random.Generator, then: str) -> tuple[Graph, dict[str, np.ndarray]]:
    """Two layers, a mask of minus infinity as constant or input, and what reads that."""
    data, mask = graph_input("x", SHAPE), masks(kind, rng)
    operand = graph_input("mask", SHAPE) if kind == "input" else constant(mask, "mask")
    value = call("add", [layer(layer(data, "first", 1), "second", 2), operand], "masked")
    if then == "softmax":
        value = call("nn.softmax", [value], "weights", axis=1)
    else:
        value = layer(call("nn.relu", [value], "kept"), "third", 3)
    feed = {"x": rng.standard_normal((4, *SHAPE[1:])).astype(np.float32)}
    if kind == "input":
        feed["mask"] = np.repeat(mask, 4, axis=0)
    inputs = (data, operand) if kind == "input" else (data,)
    return Graph(inputs, (value,)), feed


@pytest.mark.parametrize("then", ["softmax", "layer"])
@pytest.mark.parametrize("kind", ["channels", "values", "input"])
def test_masks_of_minus_infinity_mask(sim: HardwareConfig, rng: np.random.Generator, kind: str, then: str):
    graph, samples = masked(kind, rng, then)
    compiled = compile_model(graph, sim, calibration=samples, quantize=ALL)
    feed = {name: value[:1] for name, value in samples.items()}
    with Module(compiled, SimDevice(sim)) as module:
        report = module.check(feed)
    (want,) = evaluate(graph, feed)
    assert report.bit_exact
    assert report.run.macs
    np.testing.assert_allclose(report.run.outputs[0], want, atol=0.05)
    if then == "softmax":
        assert not report.run.outputs[0][want == 0].any()


@pytest.mark.parametrize("kernel", [2, 3])
def test_a_pad_of_minus_infinity_before_a_maximum(sim: HardwareConfig, rng: np.random.Generator, kernel: int):
    """Whether the maximum can take it up, with a kernel of 3, or not: then one window lies in the border."""
    data = graph_input("x", SHAPE)
    width = PAD if kernel == 3 else (*PAD[:2], (2, 2), (2, 2))
    pad = call("nn.pad", [layer(layer(data, "first", 1), "second", 2)], "pad", pad_width=width, pad_value=-np.inf)
    value = call("nn.relu", [call("nn.max_pool2d", [pad], "pool", pool_size=(kernel, kernel), strides=(2, 2))], "kept")
    graph = Graph((data,), (layer(value, "third", 3),))
    samples = {"x": rng.standard_normal((4, *SHAPE[1:])).astype(np.float32)}
    compiled = compile_model(graph, sim, calibration=samples, quantize=ALL)
    with Module(compiled, SimDevice(sim)) as module:
        report = module.check({"x": samples["x"][:1]})
    assert report.bit_exact
    np.testing.assert_allclose(report.run.outputs[0], evaluate(graph, {"x": samples["x"][:1]})[0], atol=0.05)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["first", "second"])
def test_a_bad_weight_is_named(sim: HardwareConfig, rng: np.random.Generator, name: str, value: float):
    data = graph_input("x", SHAPE)
    graph = Graph((data,), (layer(layer(data, "first", 1), "second", 2),))
    weight = next(node.inputs[1] for node in graph.calls() if node.name == name)
    assert weight.value is not None
    weight.value.setflags(write=True)
    weight.value[5, 2, 1, 0] = value
    samples = {"x": rng.standard_normal((2, *SHAPE[1:])).astype(np.float32)}
    for calibration in (samples, None):
        with pytest.raises(
            CompileError, match=rf"'{name}': nn.conv2d has the constant '{name}_weight', which is {value} at \[5, 2"
        ):
            compile_model(graph, sim, calibration=calibration)


def test_an_infinite_pixel_is_named(sim: HardwareConfig, rng: np.random.Generator):
    data = graph_input("x", SHAPE)
    graph = Graph((data,), (layer(layer(data, "first", 1), "second", 2),))
    samples = rng.standard_normal((2, *SHAPE[1:])).astype(np.float32)
    samples[1, 3, 0, 2] = np.inf
    with pytest.raises(CompileError, match=r"layer 'first'.*infinite somewhere|'x' is inf at \[0, 3, 0, 2\]"):
        compile_model(graph, sim, calibration={"x": samples}, quantize=ALL)
    with pytest.raises(CompileError, match=r"layer 'second': .*'x' is inf at \[0, 3, 0, 2\]"):
        compile_model(graph, sim, calibration={"x": samples})


@pytest.mark.parametrize("scales", [(0.05, 0.01, 1e-40), (0.05, 0.01, 1e-45), (3e38, 0.01, 0.1), (0.05, 1e-44, 0.1)])
def test_scales_beyond_all_sense_saturate_as_they_should(sim: HardwareConfig, rng: np.random.Generator, scales: tuple):
    """Of input, weight and output: results are zero, or the ends of int8 by the sign of the sum."""
    data = graph_input("x", SHAPE, "int8")
    weight = constant(rng.integers(-127, 128, (8, 8, 3, 3)).astype(np.int8), "w")
    source, kernel, to = (float(np.float32(scale)) for scale in scales)
    product = call("qnn.conv2d", [data, weight], "conv", input_scale=source, kernel_scale=kernel, padding=(1, 1, 1, 1))
    total = max(float(np.float32(source * kernel)), float(np.finfo(np.float32).smallest_subnormal))
    result = call("qnn.requantize", [product], "conv", input_scale=total, output_scale=to, rounding="even")
    graph = canonicalize(Graph((data,), (result,)))
    feed = {"x": rng.integers(-128, 128, SHAPE).astype(np.int8)}
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        got = evaluate(quantize_model(graph, sim), feed)[0]
    sums = evaluate(Graph((data,), (product,)), feed)[0].astype(np.float64)
    np.testing.assert_array_equal(got, np.clip(np.rint(sums * total / to), -128, 127))
