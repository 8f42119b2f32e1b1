"""TRANSPOSE_CONV against LiteRT's reference kernels, byte for byte where it is integer."""

import numpy as np
import pytest
import tflite

from tests.frontend.test_tflite_converters import ACTIVATIONS, same
from tests.integer_graphs import BASELINE
from tests.tflite_models import Tflite, conv_options, is_refused, random_values, reference
from vta.compiler.compile import compile_model
from vta.devices.sim import SimDevice
from vta.frontend.tflite import import_tflite
from vta.ir.interpreter import evaluate
from vta.runtime.module import Module

RNG = np.random.default_rng(3)


def layer(
    dtype="int8",
    padding="SAME",
    strides=(2, 2),
    kernel=(3, 3),
    size=(4, 5),
    output=None,
    bias=True,
    channels=(5, 6),
    per_channel=True,
    activation="NONE",
    zero=-17,
):
    """A model of one layer; returns it with its input and output."""
    net = Tflite()
    quantized = dtype != "float32"
    middle = {"int8": 0, "uint8": 128, "float32": 0}[dtype]
    x = net.tensor((1, *size, channels[0]), dtype, 0.03 if quantized else None, zero + middle, name="x")
    if dtype == "uint8":
        weight = net.constant(RNG.integers(0, 256, (channels[1], *kernel, channels[0])), dtype, 0.01, 121)
    else:
        values = RNG.integers(-127, 128, (channels[1], *kernel, channels[0])) * (1 if quantized else 0.01)
        scale = RNG.uniform(0.001, 0.03, channels[1] if per_channel else 1) if quantized else None
        weight = net.constant(values, dtype, scale)
    if output is None:
        same_size = [side * stride for side, stride in zip(size, strides, strict=True)]
        valid = [(side - 1) * stride + reach for side, stride, reach in zip(size, strides, kernel, strict=True)]
        output = same_size if padding == "SAME" else valid
    shape = net.constant([1, *output, channels[1]], "int32")
    inputs = [shape, weight, x]
    if bias:
        inputs.append(net.constant(RNG.integers(-9000, 9000, channels[1]), "int32" if quantized else "float32"))
    y = net.tensor((1, *output, channels[1]), dtype, 0.06 if quantized else None, 20 + middle, name="y")
    options = {"Padding": getattr(tflite.Padding, padding), "StrideH": strides[0], "StrideW": strides[1]}
    fused = {"FusedActivationFunction": ACTIVATIONS[activation]}
    net.operator("TRANSPOSE_CONV", inputs, y, "TransposeConvOptions", **options, **fused)
    return net, x, y


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (3, 2)])
@pytest.mark.parametrize("kernel", [(1, 1), (3, 2), (4, 4)])
def test_geometries(padding, strides, kernel):
    net, x, y = layer(padding=padding, strides=strides, kernel=kernel)
    same(net, [x], [y])


@pytest.mark.parametrize("output", [(7, 9), (8, 10), (7, 10)])
def test_outputs_of_any_size_that_gives_the_input_back(output):
    net, x, y = layer(output=output)
    same(net, [x], [y])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations(activation):
    net, x, y = layer(activation=activation)
    same(net, [x], [y])


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_scales_and_biases(per_channel, bias):
    net, x, y = layer(per_channel=per_channel, bias=bias)
    same(net, [x], [y], seeds=6)


def test_unsigned_bytes():
    net, x, y = layer("uint8", zero=-6)
    same(net, [x], [y])


@pytest.mark.parametrize("activation", ["NONE", "RELU"])
def test_floats(activation):
    net, x, y = layer("float32", activation=activation)
    same(net, [x], [y], largest=1e-3)


@pytest.mark.parametrize("zero", [0, -17, -128])
@pytest.mark.parametrize("strides", [(1, 1), (2, 2), (3, 1)])
def test_the_bytes_that_vta_computes(zero, strides):
    net, x, y = layer(strides=strides, kernel=(4, 3), channels=(20, 18), zero=zero)
    graph = import_tflite(net.build([x], [y]))
    compiled = compile_model(graph, BASELINE)
    assert sum(record.macs for region in compiled.regions for record in region.operators) == compiled.total_macs
    with Module(compiled, SimDevice(BASELINE, 1 << 24)) as module:
        for seed in range(3):
            values = random_values(graph, seed)
            assert module.check(values).bit_exact
            np.testing.assert_array_equal(module.run(values).outputs[0], evaluate(graph, values)[0])


def test_what_does_not_fit_is_named():
    net, x, y = layer(channels=(5, 6))
    net.tensors[1]["shape"] = (6, 3, 3, 4)
    net.tensors[1]["value"] = net.tensors[1]["value"][..., :4]
    text = is_refused(import_tflite, net.build([x], [y]))
    assert "TRANSPOSE_CONV" in text
    assert "weight of shape (6, 3, 3, 4) does not fit an input of shape (1, 5, 4, 5)" in text
    net, x, y = layer()
    net.tensors[2]["value"] = np.array([1, 8, 10, 7], np.int32)
    assert "its output has shape (1, 8, 10, 7); expected 1 images of 6 channels" in is_refused(import_tflite, net.build([x], [y]))
    net, x, y = layer()
    net.tensors[2]["value"] = None
    assert "the shape of its output must be constant" in is_refused(import_tflite, net.build([x, 2], [y]))


def generator():
    """A convolution and two transposed ones, as at the end of a network that segments images, with zero points throughout."""
    net = Tflite()
    x = net.tensor((1, 4, 4, 12), scale=0.03, zero=-17, name="x")
    value, channels = x, 12
    for index, (kind, wider, size) in enumerate([("CONV_2D", 20, 4), ("TRANSPOSE_CONV", 18, 8), ("TRANSPOSE_CONV", 3, 16)]):
        weight = net.constant(RNG.integers(-127, 128, (wider, 3, 3, channels)), scale=RNG.uniform(0.001, 0.01, wider))
        bias = net.constant(RNG.integers(-3000, 3000, wider), "int32")
        zero = -128 if index < 2 else 10
        y = net.tensor((1, size, size, wider), scale=0.04, zero=zero, name=f"layer{index}")
        if kind == "CONV_2D":
            net.operator(kind, [value, weight, bias], y, **conv_options(activation="RELU"))
        else:
            shape = net.constant([1, size, size, wider], "int32")
            options = {"Padding": tflite.Padding.SAME, "StrideH": 2, "StrideW": 2, "FusedActivationFunction": 1 - index // 2}
            net.operator(kind, [shape, weight, value, bias], y, "TransposeConvOptions", **options)
        value, channels = y, wider
    return net.build([x], [value])


def test_a_network_is_one_region_and_gives_the_bytes_of_litert():
    content = generator()
    graph = import_tflite(content)
    compiled = compile_model(graph, BASELINE)
    assert len(compiled.regions) == 1
    assert sum(record.macs for record in compiled.regions[0].operators) == compiled.total_macs
    assert not [placement for placement in compiled.placements if "1 off" in placement.reason]
    pytest.importorskip("ai_edge_litert")
    with Module(compiled, SimDevice(BASELINE, 1 << 24)) as module:
        for seed in range(3):
            values = random_values(graph, seed)
            assert module.check(values).bit_exact
            np.testing.assert_array_equal(module.run(values).outputs[0], reference(content, *values.values())[0])
