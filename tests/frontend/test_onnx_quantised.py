"""Quantised ONNX operators against ONNX Runtime."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.integer_graphs import BASELINE
from vta.compiler import compile_model
from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx
from vta.ir.interpreter import evaluate
from vta.runtime import Module
from vta.runtime.devices.sim import SimDevice

RNG = np.random.default_rng(11)


def model(nodes, inputs, outputs, constants, opset=17):
    info = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    stored = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "net", info, results, stored)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def runtime(network, feed):
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(network.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feed)


def scalars(**values):
    """Scales as float32; zero points, whose names begin with z, as they are."""
    return {name: value if name.startswith("z") else np.float32(value) for name, value in values.items()}


@pytest.mark.parametrize(("dtype", "per_channel"), [(np.uint8, False), (np.int8, True), (np.uint8, True)])
def test_qlinear_convolutions(dtype, per_channel):
    low, high, middle = (0, 256, 128) if dtype is np.uint8 else (-128, 128, 0)
    scale = RNG.uniform(0.001, 0.02, 6).astype(np.float32) if per_channel else np.float32(0.01)
    zero = np.full(6, 0, np.int8) if per_channel else dtype(middle + 3)
    weight = (
        RNG.integers(-127, 128, (6, 4, 3, 3)).astype(np.int8)
        if per_channel
        else RNG.integers(low, high, (6, 4, 3, 3)).astype(dtype)
    )
    node = helper.make_node(
        "QLinearConv", ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"], ["y"], pads=[1, 0, 1, 2], strides=[2, 1]
    )
    constants = scalars(sx=0.03, zx=dtype(middle - 9), sy=0.05, zy=dtype(middle + 4))
    constants |= {"w": weight, "sw": scale, "zw": zero, "b": RNG.integers(-900, 900, 6).astype(np.int32)}
    kind = TensorProto.UINT8 if dtype is np.uint8 else TensorProto.INT8
    network = model([node], {"x": (kind, (1, 4, 9, 8))}, {"y": kind}, constants)
    feed = {"x": RNG.integers(low, high, (1, 4, 9, 8)).astype(dtype)}
    np.testing.assert_array_equal(evaluate(import_onnx(network), feed)[0], runtime(network, feed)[0])


def test_qlinear_matrices_and_sums():
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["q"]),
        helper.make_node("QLinearMatMul", ["q", "sx", "zx", "w", "sw", "zw", "sp", "zp"], ["p"]),
        helper.make_node("QLinearAdd", ["p", "sp", "zp", "c", "sc", "zc", "sy", "zy"], ["a"], domain="com.microsoft"),
        helper.make_node("DequantizeLinear", ["a", "sy", "zy"], ["y"]),
    ]
    zeros = {"zx": np.uint8(120), "zw": np.uint8(130), "zp": np.uint8(99), "zc": np.uint8(128), "zy": np.uint8(101)}
    constants = scalars(sx=0.03, sw=0.01, sp=0.05, sc=0.002, sy=0.051) | zeros
    constants |= {"w": RNG.integers(0, 256, (30, 20)).astype(np.uint8), "c": RNG.integers(0, 256, 20).astype(np.uint8)}
    network = model(nodes, {"x": (TensorProto.FLOAT, (4, 30))}, {"y": TensorProto.FLOAT}, constants)
    feed = {"x": RNG.standard_normal((4, 30)).astype(np.float32)}
    np.testing.assert_array_equal(evaluate(import_onnx(network), feed)[0], runtime(network, feed)[0])


def test_qlinear_global_averages():
    node = helper.make_node(
        "QLinearGlobalAveragePool", ["x", "sx", "zx", "sy", "zy"], ["y"], domain="com.microsoft", channels_last=0
    )
    constants = scalars(sx=0.03, zx=np.uint8(7), sy=0.02, zy=np.uint8(3))
    network = model([node], {"x": (TensorProto.UINT8, (1, 9, 7, 7))}, {"y": TensorProto.UINT8}, constants)
    feed = {"x": RNG.integers(0, 256, (1, 9, 7, 7)).astype(np.uint8)}
    np.testing.assert_array_equal(evaluate(import_onnx(network), feed)[0], runtime(network, feed)[0])


@pytest.mark.parametrize("operator", ["ConvInteger", "MatMulInteger"])
def test_integer_operators(operator):
    shape, weight = ((1, 4, 6, 6), (5, 4, 3, 3)) if operator == "ConvInteger" else ((3, 8), (8, 5))
    nodes = [
        helper.make_node(operator, ["x", "w", "zx", "zw"], ["p"]),
        helper.make_node("Cast", ["p"], ["y"], to=TensorProto.FLOAT),
    ]
    constants = {"w": RNG.integers(0, 256, weight).astype(np.uint8), "zx": np.uint8(100), "zw": np.uint8(131)}
    network = model(nodes, {"x": (TensorProto.UINT8, shape)}, {"y": TensorProto.FLOAT}, constants)
    feed = {"x": RNG.integers(0, 256, shape).astype(np.uint8)}
    np.testing.assert_array_equal(evaluate(import_onnx(network), feed)[0], runtime(network, feed)[0])


def float_net():
    """Convolution, ReLU, residual convolution, global average, dense."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c2", "r1"], ["s"]),
        helper.make_node("Relu", ["s"], ["r2"]),
        helper.make_node("GlobalAveragePool", ["r2"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], transB=1),
    ]
    shapes = {"w1": (8, 3, 3, 3), "b1": (8,), "w2": (8, 8, 3, 3), "b2": (8,), "w3": (5, 8), "b3": (5,)}
    constants = {name: (RNG.standard_normal(shape) * 0.3).astype(np.float32) for name, shape in shapes.items()}
    return model(nodes, {"x": (TensorProto.FLOAT, (1, 3, 12, 12))}, {"y": TensorProto.FLOAT}, constants)


@pytest.mark.parametrize("per_channel", [False, True])
def test_networks_that_onnxruntime_quantised(tmp_path, per_channel):
    """QDQ around float operators: fused here, as ONNX Runtime does; all of it runs on VTA."""
    pytest.importorskip("onnxruntime")
    quantization = pytest.importorskip("onnxruntime.quantization")

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.samples = iter([{"x": RNG.standard_normal((1, 3, 12, 12)).astype(np.float32)} for _ in range(8)])

        def get_next(self):
            return next(self.samples, None)

    source, target = tmp_path / "float.onnx", tmp_path / "quantised.onnx"
    onnx.save(float_net(), source)
    kind = quantization.QuantType.QInt8
    quantization.quantize_static(
        source,
        target,
        Reader(),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=per_channel,
        weight_type=kind,
        activation_type=kind,
    )
    network = onnx.load(target)
    graph = import_onnx(network)
    ops = [node.op for node in graph.calls()]
    assert ops.count("qnn.conv2d") == 2
    assert "qnn.add" in ops
    assert ops.count("qnn.dense") == 1
    assert not [op for op in ops if op in ("nn.conv2d", "add", "nn.dense", "nn.matmul", "nn.relu")]
    feed = {"x": RNG.standard_normal((1, 3, 12, 12)).astype(np.float32)}
    wanted = runtime(network, feed)[0]
    step = float(graph.outputs[0].attrs.scale)
    assert np.abs(evaluate(graph, feed)[0] - wanted).max() <= 2 * step
    compiled = compile_model(graph, BASELINE)
    assert sum(record.macs for region in compiled.regions for record in region.operators) == compiled.total_macs
    with Module(compiled, SimDevice(BASELINE)) as module:
        assert module.check(feed).bit_exact


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("zero", [0, -9])
def test_transposed_convolutions_between_quantised_tensors(per_channel, groups, zero):
    scale = RNG.uniform(0.001, 0.02, 3).astype(np.float32) if per_channel else np.float32(0.01)
    weight_zero = np.zeros(3, np.int8) if per_channel else np.int8(0)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "sx", "zx"], ["xr"]),
        helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["wr"], axis=1),
        helper.make_node("DequantizeLinear", ["b", "sb", "zb"], ["br"], axis=0),
        helper.make_node("ConvTranspose", ["xr", "wr", "br"], ["c"], strides=[2, 3], pads=[1, 0, 1, 1], group=groups),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "sy", "zy"], ["yq"]),
        helper.make_node("DequantizeLinear", ["yq", "sy", "zy"], ["y"]),
    ]
    channels = 3 * groups
    bias_scale = np.float32(0.03) * np.tile(np.broadcast_to(scale, 3), groups)
    constants = scalars(sx=0.03, zx=np.int8(zero), sy=0.05, zy=np.int8(4), sw=scale, zw=weight_zero, sb=bias_scale)
    constants |= {
        "w": RNG.integers(-127, 128, (4, 3, 4, 3)).astype(np.int8),
        "b": RNG.integers(-900, 900, channels).astype(np.int32),
        "zb": np.zeros(channels, np.int32),
    }
    network = model(nodes, {"x": (TensorProto.FLOAT, (1, 4, 5, 4))}, {"y": TensorProto.FLOAT}, constants)
    graph = import_onnx(network)
    ops = [node.op for node in graph.calls()]
    assert ops.count("qnn.conv2d_transpose") == 1
    assert not [op for op in ops if op in ("nn.conv2d_transpose", "nn.relu")]
    feed = {"x": RNG.standard_normal((1, 4, 5, 4)).astype(np.float32)}
    np.testing.assert_allclose(evaluate(graph, feed)[0], runtime(network, feed)[0], atol=0.0501)
    compiled = compile_model(graph, BASELINE)
    assert sum(record.macs for region in compiled.regions for record in region.operators) == compiled.total_macs > 0
    with Module(compiled, SimDevice(BASELINE)) as module:
        assert module.check(feed).bit_exact


def test_what_cannot_be_imported_is_said():
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])
    network = model([node], {"x": (TensorProto.FLOAT, (4,))}, {"q": TensorProto.UINT8}, {})
    with pytest.raises(ImportModelError, match="DynamicQuantizeLinear: not a supported operator"):
        import_onnx(network)
    node = helper.make_node("QLinearMatMul", ["x", "s", "z", "x", "s", "z", "s", "z"], ["y"])
    network = model([node], {"x": (TensorProto.UINT8, (4, 4))}, {"y": TensorProto.UINT8}, scalars(s=0.1, z=np.uint8(3)))
    with pytest.raises(ImportModelError, match="QLinearMatMul: its weights are not constant"):
        import_onnx(network)
