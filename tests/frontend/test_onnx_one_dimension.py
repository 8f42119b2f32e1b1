"""Convolutions and windows over signals: float, between quantised tensors, and quantised themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto

from tests.integer_graphs import BASELINE
from tests.onnx_models import Quantized, check
from tests.onnx_oracle import onnx_values
from vta.compiler.compile import compile_model
from vta.devices.sim import SimDevice
from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx
from vta.runtime import Module

SIGNAL = (2, 8, 20)


@st.composite
def windows(draw, transposed=False):
    """Attributes of a convolution over `SIGNAL`, and the length of its kernel."""
    length = draw(st.integers(1, 5))
    attributes = {"strides": [draw(st.integers(1, 3))], "dilations": [draw(st.integers(1, 2))]}
    attributes["group"] = draw(st.sampled_from([1, 2, 8]))
    padding = draw(st.sampled_from(["none", "pads", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    if padding == "pads":
        attributes["pads"] = [draw(st.integers(0, length - 1)), draw(st.integers(0, length - 1))]
    elif padding != "none" and not transposed:
        attributes["auto_pad"] = padding
        attributes["dilations"] = [1]
    if transposed and draw(st.booleans()):
        attributes["output_padding"] = [draw(st.integers(0, attributes["strides"][0] - 1))]
    return length, attributes


def weights(net, length, group, transposed=False):
    shape = (8, 8 // group, length)
    return net.random.integers(-128, 128, shape).astype(np.int8)


@settings(max_examples=60)
@given(
    op=st.sampled_from(["QLinearConv", "ConvInteger"]),
    window=windows(),
    dtype=st.sampled_from([np.int8, np.uint8]),
    seed=st.integers(0, 99),
)
def test_quantized_convolutions(op, window, dtype, seed):
    length, attributes = window
    net = Quantized(seed)
    zero = net.constant(dtype(110))
    weight, weight_zero = net.constant(weights(net, length, attributes["group"])), net.constant(np.int8(0))
    scale, weight_scale, y_scale = (net.constant(np.float32(value)) for value in (0.03, 0.01, 0.1))
    q = net.node("QuantizeLinear", "x", scale, zero)
    if op == "QLinearConv":
        y = net.node(op, q, scale, zero, weight, weight_scale, weight_zero, y_scale, zero, **attributes)
        y = net.node("DequantizeLinear", y, y_scale, zero)
    else:
        y = net.node("Cast", net.node(op, q, weight, zero, weight_zero, **attributes), to=TensorProto.FLOAT)
    feed = {"x": net.random.standard_normal(SIGNAL).astype(np.float32)}
    check(net.model(feed, y), feed, 0.1 if op == "QLinearConv" else 0)


@settings(max_examples=60)
@given(data=st.data(), op=st.sampled_from(["Conv", "ConvTranspose"]), each=st.booleans(), bias=st.booleans())
def test_convolutions_between_quantized_tensors(data, op, each, bias):
    length, attributes = data.draw(windows(op == "ConvTranspose"))
    net = Quantized(5)
    axis = int(op == "ConvTranspose")
    levels = weights(net, length, attributes["group"])
    scale = net.random.uniform(0.005, 0.02, levels.shape[axis]) if each else 0.01
    weight = net.dequantized(levels, scale, axis=axis)
    added = [net.constant(net.random.standard_normal(8).astype(np.float32))] if bias else []
    y = net.node("Relu", net.node(op, net.pair("x", 0.03, np.int8(4)), weight, *added, **attributes))
    feed = {"x": net.random.standard_normal(SIGNAL).astype(np.float32)}
    graph = check(net.model(feed, net.pair(y, 0.1, np.int8(-128))), feed, 0.1)
    assert not {"nn.conv2d", "nn.conv2d_transpose", "nn.relu"}.intersection(call.op for call in graph.calls())


@settings(max_examples=60)
@given(window=windows(transposed=True), sized=st.sampled_from(["", "output_shape", "SAME_UPPER", "SAME_LOWER"]))
def test_transposed_convolutions(window, sized):
    length, attributes = window
    net = Quantized(6)
    if sized:
        attributes = {"strides": attributes["strides"], "group": attributes["group"]}
        reach = (SIGNAL[2] - 1) * attributes["strides"][0] + length
        if sized == "output_shape":
            attributes["output_shape"] = [reach - 1]
        elif SIGNAL[2] * attributes["strides"][0] <= reach:
            attributes["auto_pad"] = sized
    weight = net.constant(net.random.standard_normal((8, 8 // attributes["group"], length)).astype(np.float32))
    y = net.node("ConvTranspose", "x", weight, **attributes)
    feed = {"x": net.random.standard_normal(SIGNAL).astype(np.float32)}
    check(net.model(feed, y), feed)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"])
@pytest.mark.parametrize("quantized", [False, True])
def test_windows(op, quantized):
    net = Quantized()
    attributes = {} if op.startswith("Global") else {"kernel_shape": [3], "strides": [2], "pads": [1, 0]}
    y = net.node(op, net.pair("x", 0.03, np.int8(4)) if quantized else "x", **attributes)
    feed = {"x": net.random.standard_normal(SIGNAL).astype(np.float32)}
    graph = check(net.model(feed, net.pair(y, 0.03, np.int8(4)) if quantized else y), feed, 0.03 if quantized else 0)
    if quantized and op != "AveragePool":
        assert not {"nn.global_avg_pool2d", "mean", "max"}.intersection(call.op for call in graph.calls())


def test_products_run_on_the_accelerator():
    net = Quantized()
    y = net.pair("x", 0.03, np.int8(4))
    for stride in (1, 2):
        weight = net.dequantized(net.random.integers(-128, 128, (16, 16, 3)).astype(np.int8), 0.01)
        y = net.pair(net.node("Relu", net.node("Conv", y, weight, strides=[stride], pads=[1, 1])), 0.1, np.int8(-128))
    weight = net.dequantized(net.random.integers(-128, 128, (16, 16, 2)).astype(np.int8), 0.005)
    y = net.pair(net.node("ConvTranspose", y, weight, strides=[2]), 0.1, np.int8(0))
    feed = {"x": net.random.standard_normal((1, 16, 40)).astype(np.float32)}
    network = net.model(feed, y)
    compiled = compile_model(import_onnx(network), BASELINE)
    with Module(compiled, SimDevice(BASELINE)) as module:
        report = module.check(feed)
    assert report.bit_exact
    assert report.run.macs == compiled.total_macs >= 16 * 16 * (3 * 40 + 3 * 20 + 2 * 20)
    np.testing.assert_allclose(report.run.outputs[0], onnx_values(network, feed)[0], atol=0.21)


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose", "ConvInteger"])
def test_three_dimensions_are_refused(op):
    net = Quantized()
    dtype = np.uint8 if op == "ConvInteger" else np.float32
    kind = np.int8 if op == "ConvInteger" else np.float32
    net.node(op, "x", net.constant(np.ones((4, 4, 2, 2, 2), kind)), outputs=["y"])
    with pytest.raises(ImportModelError, match=rf"{op}: 3-D kernel \(only 1-D and 2-D convolutions can be imported\)"):
        import_onnx(net.model({"x": np.zeros((1, 4, 5, 5, 5), dtype)}, "y"))


@pytest.mark.parametrize("kernel", [(4, 4, 2), (4, 4, 2, 2, 2)])
def test_a_kernel_of_other_dimensions_than_its_data(kernel):
    net = Quantized()
    net.node("Conv", "x", net.constant(np.ones(kernel, np.float32)), outputs=["y"])
    with pytest.raises(ImportModelError, match=r"a kernel of shape|3-D kernel"):
        import_onnx(net.model({"x": np.zeros((1, 4, 5, 5), np.float32)}, "y"))
