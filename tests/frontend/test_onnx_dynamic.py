"""Layers of dynamic quantisation taken as the float layers that they were made from."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.onnx_models import model
from tests.onnx_oracle import onnx_values
from vta.errors import ImportModelError, UsageError
from vta.frontend import load_model
from vta.frontend.onnx import import_onnx
from vta.ir.arithmetic.decibels import decibels
from vta.ir.interpreter import evaluate

RNG = np.random.default_rng(0)


def layer(op, shape, kernel, channels, *, bias=False, per_channel=False, zero=3, **attributes):
    """A layer as dynamic quantisation leaves it, and the float constants that it was made from."""
    axis = [1] * len(kernel)
    axis[0 if op == "ConvInteger" else -1] = -1
    scale = RNG.uniform(0.01, 0.03, channels if per_channel else 1).astype(np.float32)
    constants = {"w": RNG.integers(-127, 128, kernel).astype(np.int8), "zw": np.int8(zero), "sw": scale.reshape(-1)}
    added = RNG.standard_normal(channels).astype(np.float32)
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node(op, ["q", "w", "z", "zw"], ["i"], name="layer", **attributes),
        helper.make_node("Mul", ["s", "sw"], ["t"]),
    ]
    if bias:
        constants |= {"b": added, "shape": np.array([1, channels, 1, 1])}
        nodes += [
            helper.make_node("Div", ["b", "t"], ["levels"]),
            helper.make_node("Floor", ["levels"], ["whole"]),
            helper.make_node("Cast", ["whole"], ["wide"], to=TensorProto.INT32),
            helper.make_node("Reshape", ["wide", "shape"], ["moved"]),
            helper.make_node("Add", ["i", "moved"], ["sum"]),
        ]
    moved = per_channel and op == "ConvInteger"
    if moved:
        constants["axes"] = np.array([1, channels, 1, 1])
        nodes.append(helper.make_node("Reshape", ["t", "axes"], ["u"]))
    nodes.append(helper.make_node("Cast", ["sum" if bias else "i"], ["f"], to=TensorProto.FLOAT))
    nodes.append(helper.make_node("Mul", ["f", "u" if moved else "t"], ["y"]))
    network = model(nodes, {"x": np.zeros(shape, np.float32)}, constants)
    real = (constants["w"].astype(np.float32) - zero) * scale.reshape(axis)
    return network, real, added if bias else np.zeros(channels, np.float32)


@pytest.mark.parametrize(("bias", "per_channel"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("attributes", [{}, {"pads": [1, 0, 2, 1], "strides": [1, 2]}, {"auto_pad": "SAME_UPPER"}])
def test_convolutions(bias, per_channel, attributes):
    network, weight, added = layer("ConvInteger", (1, 3, 6, 5), (4, 3, 3, 3), 4, bias=bias, per_channel=per_channel, **attributes)
    graph = import_onnx(network, static_ranges=True)
    assert [node.op for node in graph.calls()] == ["nn.conv2d"] + ["nn.bias_add"] * bias
    assert graph.calls()[0].name == "layer"
    data = RNG.standard_normal((1, 3, 6, 5)).astype(np.float32)
    conv = helper.make_node("Conv", ["x", "w", "b"], ["y"], **attributes)
    real = model([conv], {"x": data}, {"w": weight, "b": added})
    (found,) = evaluate(graph, {"x": data})
    np.testing.assert_allclose(found, onnx_values(real, {"x": data})[0], rtol=1e-5, atol=1e-5)
    assert decibels(found, onnx_values(network, {"x": data})[0]) > 30


@pytest.mark.parametrize("shape", [(3, 8), (2, 3, 8)])
@pytest.mark.parametrize("per_channel", [False, True])
def test_products_of_matrices(shape, per_channel):
    network, weight, _ = layer("MatMulInteger", shape, (8, 5), 5, per_channel=per_channel)
    data = RNG.standard_normal(shape).astype(np.float32)
    graph = import_onnx(network, static_ranges=True)
    assert "min" not in [node.op for node in graph.calls()]
    np.testing.assert_allclose(evaluate(graph, {"x": data})[0], data @ weight, rtol=1e-5, atol=1e-5)


def test_ranges_stay_without_being_asked():
    network, _, _ = layer("MatMulInteger", (3, 8), (8, 5), 5)
    assert "min" in [node.op for node in import_onnx(network).calls()]


@pytest.mark.parametrize("change", ["shown", "other zero point", "computed weights", "no scale"])
def test_other_forms_stay_as_they_are(change):
    network, _, _ = layer("MatMulInteger", (3, 8), (8, 5), 5)
    product, cast = network.graph.node[1], network.graph.node[-2]
    if change == "shown":
        network.graph.output.append(helper.make_tensor_value_info("i", TensorProto.INT32, None))
    elif change == "other zero point":
        network.graph.initializer.append(onnx.numpy_helper.from_array(np.uint8(7), "seven"))
        product.input[2] = "seven"
    elif change == "computed weights":
        network.graph.node.insert(0, helper.make_node("Identity", ["w"], ["same"]))
        product.input[1] = "same"
    else:
        cast.output[0] = "y"
        del network.graph.node[-1]
    data = RNG.standard_normal((3, 8)).astype(np.float32)
    found, plain = (evaluate(import_onnx(network, static_ranges=static), {"x": data}) for static in (True, False))
    for left, right in zip(found, plain, strict=True):
        np.testing.assert_array_equal(left, right)


def test_a_circle_is_refused():
    network, _, _ = layer("ConvInteger", (1, 3, 6, 5), (4, 3, 3, 3), 4, bias=True)
    network.graph.node[5].input[0] = "wide"
    with pytest.raises(ImportModelError):
        import_onnx(network, static_ranges=True)


def test_they_are_of_onnx_files(tmp_path):
    path = tmp_path / "net.tflite"
    path.write_bytes(b"")
    with pytest.raises(UsageError, match=r"static_ranges are for \.onnx files"):
        load_model(path, static_ranges=True)
