"""Quantised ONNX operators against ONNX Runtime."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.integer_graphs import BASELINE
from tests.onnx_oracle import onnx_values
from vta.compiler.compile import compile_model
from vta.devices.sim import SimDevice
from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx
from vta.ir.interpreter import evaluate
from vta.runtime import Module

RNG = np.random.default_rng(11)
KINDS = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}


def model(nodes, inputs, outputs, constants, opset=17):
    info = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    stored = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "net", info, results, stored)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


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
    np.testing.assert_array_equal(evaluate(import_onnx(network), feed)[0], onnx_values(network, feed)[0])


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
    np.testing.assert_array_equal(evaluate(import_onnx(network), feed)[0], onnx_values(network, feed)[0])


def test_qlinear_global_averages():
    node = helper.make_node(
        "QLinearGlobalAveragePool", ["x", "sx", "zx", "sy", "zy"], ["y"], domain="com.microsoft", channels_last=0
    )
    constants = scalars(sx=0.03, zx=np.uint8(7), sy=0.02, zy=np.uint8(3))
    network = model([node], {"x": (TensorProto.UINT8, (1, 9, 7, 7))}, {"y": TensorProto.UINT8}, constants)
    feed = {"x": RNG.integers(0, 256, (1, 9, 7, 7)).astype(np.uint8)}
    np.testing.assert_array_equal(evaluate(import_onnx(network), feed)[0], onnx_values(network, feed)[0])


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
    np.testing.assert_array_equal(evaluate(import_onnx(network), feed)[0], onnx_values(network, feed)[0])


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
def test_networks_that_onnxruntime_quantized(tmp_path, per_channel):
    """QDQ around float operators: fused here, as ONNX Runtime does; all of it runs on VTA."""
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
    wanted = onnx_values(network, feed)[0]
    step = float(graph.outputs[0].attrs.scale)
    assert np.abs(evaluate(graph, feed)[0] - wanted).max() <= 2 * step
    compiled = compile_model(graph, BASELINE)
    assert sum(record.macs for region in compiled.regions for record in region.operators) == compiled.total_macs
    with Module(compiled, SimDevice(BASELINE)) as module:
        assert module.check(feed).bit_exact


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("zero", [0, -9])
def test_transposed_convolutions_between_quantized_tensors(per_channel, groups, zero):
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
    np.testing.assert_allclose(evaluate(graph, feed)[0], onnx_values(network, feed)[0], atol=0.0501)
    compiled = compile_model(graph, BASELINE)
    assert sum(record.macs for region in compiled.regions for record in region.operators) == compiled.total_macs > 0
    with Module(compiled, SimDevice(BASELINE)) as module:
        assert module.check(feed).bit_exact


def test_what_cannot_be_imported_is_said():
    node = helper.make_node("QLinearConv", ["x", "s", "z", "x", "s", "z", "s", "z"], ["y"])
    network = model([node], {"x": (TensorProto.UINT8, (4, 4, 1, 1))}, {"y": TensorProto.UINT8}, scalars(s=0.1, z=np.uint8(3)))
    with pytest.raises(ImportModelError, match="QLinearConv: its weights are not constant"):
        import_onnx(network)


@pytest.mark.parametrize("op", ["QLinearMatMul", "MatMulInteger", "QDQ"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_products_of_two_tensors(op, dtype):
    """The second matrix is no constant: exact, on VTA but for what only the host can end."""
    shapes, middle = {"x": (2, 3, 20, 16), "y": (2, 3, 16, 24)}, 128 if dtype is np.uint8 else 0
    constants = scalars(sx=0.03, zx=dtype(middle - 9), sy=0.05, zy=dtype(middle + 4), so=0.4, zo=dtype(middle + 1))
    kind, to = KINDS[dtype], KINDS[dtype]
    if op == "QLinearMatMul":
        nodes = [helper.make_node(op, ["x", "sx", "zx", "y", "sy", "zy", "so", "zo"], ["p"])]
    elif op == "MatMulInteger":
        nodes, to = [helper.make_node(op, ["x", "y", "zx", "zy"], ["p"])], TensorProto.INT32
    else:
        pairs = [helper.make_node("DequantizeLinear", [name, f"s{name}", f"z{name}"], [f"r{name}"]) for name in "xy"]
        product = [helper.make_node("MatMul", ["rx", "ry"], ["r"]), helper.make_node("Mul", ["r", "half"], ["h"])]
        nodes = [*pairs, *product, helper.make_node("QuantizeLinear", ["h", "so", "zo"], ["p"])]
        constants["half"] = np.float32(0.5)
    network = model(nodes, {name: (kind, shape) for name, shape in shapes.items()}, {"p": to}, constants)
    graph = import_onnx(network)
    assert [node.op for node in graph.calls()].count("qnn.matmul") == 1
    low = 0 if dtype is np.uint8 else -128
    feed = {name: RNG.integers(low, low + 256, shape).astype(dtype) for name, shape in shapes.items()}
    off = np.abs(evaluate(graph, feed)[0].astype(int) - onnx_values(network, feed)[0])
    # ONNX Runtime computes dequantized products in single precision, where sums near a half may go to either side.
    assert off.max() <= (op == "QDQ")
    assert (off > 0).mean() < 0.01
    compiled = compile_model(graph, BASELINE)
    with Module(compiled, SimDevice(BASELINE)) as module:
        assert module.check(feed).bit_exact


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("zero_point", [True, False])
def test_bytes_without_a_zero_point_keep_their_sign(dtype, zero_point):
    names = ["x", "s", "z"] if zero_point else ["x", "s"]
    node = helper.make_node("DequantizeLinear", names, ["y"])
    info = np.iinfo(dtype)
    values = np.arange(info.min, info.max + 1).astype(dtype)
    for constants, inputs, feed in (
        ({}, {"x": (KINDS[dtype], values.shape)}, {"x": values}),
        ({"x": values}, {}, {}),
    ):
        network = model([node], inputs, {"y": TensorProto.FLOAT}, {**scalars(s=0.1, z=dtype(0)), **constants})
        np.testing.assert_array_equal(evaluate(import_onnx(network), feed)[0], values * np.float32(0.1))


MOVES = {
    "Clip": (["x", "a", "b"], {}, {"a": np.uint8(30), "b": np.uint8(200)}),
    "Concat": (["x", "k"], {"axis": 0}, {"k": np.arange(24, dtype=np.uint8).reshape(1, 2, 3, 4)}),
    "MaxPool": (["x"], {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0]}, {}),
    "Max": (["x", "k"], {}, {"k": np.uint8(130)}),
    "Pad": (["x", "p", "v"], {}, {"p": np.int64([0, 0, 1, 1, 0, 0, 0, 2]), "v": np.uint8(3)}),
    "Transpose": (["x"], {"perm": [3, 1, 0, 2]}, {}),
    "ReduceMax": (["x"], {"keepdims": 0, "axes": [1]}, {}),
    "ArgMax": (["x"], {"axis": 1}, {}),
    "Cast": (["x"], {"to": TensorProto.FLOAT}, {}),
    "Identity": (["x"], {}, {}),
}


@pytest.mark.parametrize("op", MOVES)
def test_operators_that_move_unsigned_bytes(op):
    names, attributes, constants = MOVES[op]
    kind = {"Cast": TensorProto.FLOAT, "ArgMax": TensorProto.INT64}.get(op, TensorProto.UINT8)
    network = model(
        [helper.make_node(op, names, ["y"], **attributes)], {"x": (TensorProto.UINT8, (1, 2, 3, 4))}, {"y": kind}, constants
    )
    feed = {"x": RNG.integers(0, 256, (1, 2, 3, 4)).astype(np.uint8)}
    got, want = evaluate(import_onnx(network), feed)[0], onnx_values(network, feed)[0]
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("op", ["Div", "Sqrt", "Exp"])
def test_operators_that_unsigned_bytes_have_not_got_are_refused(op):
    node = helper.make_node(op, ["x", "x"] if op == "Div" else ["x"], ["y"], "bytes")
    network = model([node], {"x": (TensorProto.UINT8, (4,))}, {"y": TensorProto.UINT8}, {})
    with pytest.raises(ImportModelError, match=r"of unsigned bytes \(uint8\).*bytes \(node 0\)"):
        import_onnx(network)


def test_dequantized_weights_with_a_zero_point_each():
    node = helper.make_node("DequantizeLinear", ["w", "s", "z"], ["v"], axis=1)
    total = helper.make_node("MatMul", ["x", "v"], ["y"])
    constants = {
        "w": RNG.integers(0, 256, (4, 3)).astype(np.uint8),
        "s": RNG.uniform(0.1, 1, 3).astype(np.float32),
        "z": np.uint8([3, 130, 255]),
    }
    network = model([node, total], {"x": (TensorProto.FLOAT, (2, 4))}, {"y": TensorProto.FLOAT}, constants)
    feed = {"x": RNG.standard_normal((2, 4)).astype(np.float32)}
    weight = (constants["w"].astype(np.float32) - constants["z"]) * constants["s"]
    np.testing.assert_allclose(evaluate(import_onnx(network), feed)[0], feed["x"] @ weight, rtol=1e-5)


@pytest.mark.parametrize("dtype", KINDS)
def test_weights_whose_zero_points_differ(dtype):
    """Integer operators with a zero point for each output channel of the weights."""
    conv = helper.make_node("ConvInteger", ["x", "w", "zx", "zw"], ["y"], pads=[1, 1, 0, 1])
    info = np.iinfo(dtype)
    constants = {
        "w": RNG.integers(info.min, info.max + 1, (3, 2, 2, 2)).astype(dtype),
        "zx": np.uint8(7),
        "zw": RNG.integers(info.min, info.max + 1, 3).astype(dtype),
    }
    network = model([conv], {"x": (TensorProto.UINT8, (1, 2, 4, 5))}, {"y": TensorProto.INT32}, constants)
    x = RNG.integers(0, 256, (1, 2, 4, 5)).astype(np.uint8)
    real = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 0, 1])
    weight = constants["w"].astype(np.float32) - constants["zw"].astype(np.float32).reshape(-1, 1, 1, 1)
    float_net = model([real], {"x": (TensorProto.FLOAT, x.shape)}, {"y": TensorProto.FLOAT}, {"w": weight})
    want = onnx_values(float_net, {"x": x.astype(np.float32) - 7})[0]
    np.testing.assert_array_equal(evaluate(import_onnx(network), {"x": x})[0], want.astype(np.int32))


def dynamic(op, data, weight, **attributes):
    """A layer as dynamic quantisation leaves it: bytes at a scale of the moment, an integer product, and its scale."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node(op, ["q", "w", "z", "zw"], ["i"], **attributes),
        helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["s", "sw"], ["t"]),
        helper.make_node("Mul", ["f", "t"], ["y"]),
    ]
    constants = {"w": weight, "zw": weight.dtype.type(3), "sw": np.float32(0.02)}
    network = model(nodes, {"x": (TensorProto.FLOAT, data.shape)}, {"y": TensorProto.FLOAT}, constants)
    return import_onnx(network), onnx_values(network, {"x": data})[0]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("offset", [0.0, 5.0, -5.0])
def test_dynamically_quantized_layers(dtype, offset):
    for op, shape, kernel, attributes in (
        ("MatMulInteger", (3, 8), (8, 5), {}),
        ("MatMulInteger", (2, 3, 8), (8, 5), {}),
        ("ConvInteger", (1, 3, 6, 5), (4, 3, 3, 3), {"pads": [1, 0, 2, 1], "strides": [1, 2]}),
    ):
        data = (RNG.standard_normal(shape) + offset).astype(np.float32)
        weight = RNG.integers(0, 127, kernel).astype(dtype)
        graph, want = dynamic(op, data, weight, **attributes)
        np.testing.assert_allclose(evaluate(graph, {"x": data})[0], want, rtol=1e-5, atol=1e-5)


def test_dynamic_quantization_of_zeros():
    graph, want = dynamic("MatMulInteger", np.zeros((2, 4), np.float32), np.ones((4, 3), np.int8))
    np.testing.assert_array_equal(evaluate(graph, {"x": np.zeros((2, 4), np.float32)})[0], want)


def test_a_dynamically_quantized_network_compiles():
    data = RNG.standard_normal((2, 8)).astype(np.float32)
    graph, want = dynamic("MatMulInteger", data, RNG.integers(-127, 128, (8, 5)).astype(np.int8))
    with Module(compile_model(graph, BASELINE), SimDevice(BASELINE)) as module:
        np.testing.assert_allclose(module.run({"x": data}).outputs[0], want, rtol=1e-5)


MICROSOFT = {
    "QLinearMul": (["x", "sx", "zx", "k", "sx", "zx", "sy", "zy"], {}),
    "QLinearSigmoid": (["x", "sx", "zx", "sy", "zy"], {}),
    "QLinearLeakyRelu": (["x", "sx", "zx", "sy", "zy"], {"alpha": 0.2}),
    "QLinearAveragePool": (["x", "sx", "zx", "sy", "zy"], {"kernel_shape": [2, 2], "pads": [0, 1, 1, 0]}),
    "QLinearConcat": (["sy", "zy", "x", "sx", "zx", "k", "sk", "zx"], {"axis": 1}),
    "QLinearSoftmax": (["x", "sx", "zx", "sp", "zp"], {"axis": -1, "opset": 13}),
    "QGemm": (["r", "sx", "zx", "w", "sw", "zx", "b", "sy", "zy"], {"transB": 1, "alpha": 0.5}),
}


@pytest.mark.parametrize("op", MICROSOFT)
@pytest.mark.parametrize("dtype", KINDS)
def test_operators_of_onnx_runtime(op, dtype):
    names, attributes = MICROSOFT[op]
    info = np.iinfo(dtype)
    middle = 128 if dtype is np.uint8 else 0
    constants = scalars(
        sx=0.0313, zx=dtype(middle - 9), sy=0.0537, zy=dtype(middle + 4), sk=0.07, sp=1 / 256, zp=dtype(info.min), sw=0.1
    )
    constants |= {
        "k": RNG.integers(info.min, info.max + 1, (1, 3, 4, 5)).astype(dtype),
        "w": RNG.integers(info.min, info.max + 1, (6, 8)).astype(dtype),
        "b": RNG.integers(-900, 900, 6).astype(np.int32),
    }
    first = next(name for name in names if name in "xr")
    shape = (1, 3, 4, 5) if first == "x" else (2, 8)
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)
    used = {name: value for name, value in constants.items() if name in names}
    network = model([node], {first: (KINDS[dtype], shape)}, {"y": KINDS[dtype]}, used)
    feed = {first: RNG.integers(info.min, info.max + 1, shape).astype(dtype)}
    got, want = evaluate(import_onnx(network), feed)[0], onnx_values(network, feed)[0]
    assert got.dtype == want.dtype
    # Its tables and vector code round some halves the other way.
    assert np.abs(got.astype(int) - want).max() <= 1
    assert (got == want).mean() >= 0.95


@pytest.mark.parametrize("op", ["QLinearMul", "QLinearAveragePool"])
@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("zero", [0, 3, -4])
def test_halves_are_rounded_after_the_zero_point_is_added(op, dtype, zero):
    """With scales that are powers of two many results lie half-way between two levels."""
    pytest.importorskip("onnxruntime")
    names, attributes = MICROSOFT[op]
    info = np.iinfo(dtype)
    middle = 128 if dtype is np.uint8 else 0
    constants = scalars(sx=1 / 16, zx=dtype(middle - 9), sy=1 / 8, zy=dtype(middle + zero))
    constants["k"] = RNG.integers(info.min, info.max + 1, (1, 3, 4, 5)).astype(dtype)
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)
    used = {name: value for name, value in constants.items() if name in names}
    network = model([node], {"x": (KINDS[dtype], (1, 3, 4, 5))}, {"y": KINDS[dtype]}, used)
    feed = {"x": RNG.integers(info.min, info.max + 1, (1, 3, 4, 5)).astype(dtype)}
    np.testing.assert_array_equal(evaluate(import_onnx(network), feed)[0], onnx_values(network, feed)[0])


def test_a_softmax_of_bytes_has_a_whole_number_of_levels():
    pytest.importorskip("onnxruntime")
    node = helper.make_node("QLinearSoftmax", ["x", "sx", "", "sp", "zp"], ["y"], domain="com.microsoft", opset=13)
    constants = scalars(sx=0.05, sp=0.00484336, zp=np.uint8(0))
    network = model([node], {"x": (TensorProto.UINT8, (1, 8))}, {"y": TensorProto.UINT8}, constants)
    feed = {"x": np.array([[0, 0, 0, 0, 0, 0, 60, 60]], np.uint8)}
    np.testing.assert_array_equal(evaluate(import_onnx(network), feed)[0], onnx_values(network, feed)[0])


@pytest.mark.parametrize("zero", [0, 7, -3])
def test_sums_of_dequantized_tensors_round_before_the_zero_point_is_added(zero):
    pytest.importorskip("onnxruntime")
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "sx"], ["p"]),
        helper.make_node("DequantizeLinear", ["k", "sk"], ["q"]),
        helper.make_node("Add", ["p", "q"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "sy", "zy"], ["y"]),
    ]
    kind = TensorProto.INT8
    constants = scalars(sx=1 / 16, sk=1 / 8, sy=1 / 4, zy=np.int8(zero))
    network = model(nodes, {"x": (kind, (1, 256)), "k": (kind, (1, 256))}, {"y": kind}, constants)
    feed = {"x": np.arange(-128, 128).astype(np.int8)[None], "k": RNG.integers(-128, 128, (1, 256)).astype(np.int8)}
    np.testing.assert_array_equal(evaluate(import_onnx(network), feed)[0], onnx_values(network, feed)[0])
