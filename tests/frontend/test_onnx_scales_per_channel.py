"""Activations with a scale for each channel, into any operator: computed on the host, or refused by name."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.integer_graphs import BASELINE
from tests.onnx_oracle import onnx_values
from vta.compiler.compile import compile_model
from vta.devices.sim import SimDevice
from vta.frontend.onnx import import_onnx
from vta.runtime import Module

SHAPE = (1, 4, 6, 6)
RNG = np.random.default_rng(3)


def levels(*shape):
    return RNG.integers(-127, 128, shape).astype(np.int8)


CONSTANTS = {
    "cs": RNG.uniform(0.01, 0.05, 4).astype(np.float32),
    "cz": np.zeros(4, np.int8),
    "s": np.float32(0.03),
    "z": np.int8(3),
    "os": np.float32(0.05),
    "oz": np.int8(-2),
    "ws": np.float32(0.01),
    "wz": np.int8(0),
    "wq": levels(8, 4, 3, 3),
    "dq": levels(4, 1, 3, 3),
    "tq": levels(4, 8, 3, 3),
    "mq": levels(6, 6),
    "bias": RNG.uniform(-1, 1, (1, 4, 1, 1)).astype(np.float32),
    "shape": np.array([1, 144]),
    "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
    "low": np.float32(-0.5),
    "high": np.float32(0.7),
    "starts": np.array([1]),
    "ends": np.array([3]),
    "axes": np.array([1]),
    "sizes": np.array([1, 4, 12, 12]),
}
NODE = helper.make_node


def weight(name):
    return NODE("DequantizeLinear", [name, "ws", "wz"], ["w"])


BODIES = {
    "add": [NODE("Add", ["p", "q"], ["b"])],
    "add_twice": [NODE("Add", ["p", "p"], ["b"])],
    "add_constant": [NODE("Add", ["p", "bias"], ["b"])],
    "average": [NODE("AveragePool", ["p"], ["b"], kernel_shape=[2, 2])],
    "clip": [NODE("Clip", ["p", "low", "high"], ["b"])],
    "concatenation": [NODE("Concat", ["p", "q"], ["b"], axis=1)],
    "convolution": [weight("wq"), NODE("Conv", ["p", "w"], ["b"])],
    "depthwise": [weight("dq"), NODE("Conv", ["p", "w"], ["b"], group=4)],
    "flatten": [NODE("Flatten", ["p"], ["b"])],
    "global_average": [NODE("GlobalAveragePool", ["p"], ["b"])],
    "identity": [NODE("Identity", ["p"], ["b"])],
    "leaky": [NODE("LeakyRelu", ["p"], ["b"])],
    "matmul": [weight("mq"), NODE("MatMul", ["p", "w"], ["b"])],
    "maximum": [NODE("MaxPool", ["p"], ["b"], kernel_shape=[2, 2])],
    "multiply": [NODE("Mul", ["p", "q"], ["b"])],
    "pad": [NODE("Pad", ["p", "pads"], ["b"])],
    "relu": [NODE("Relu", ["p"], ["b"])],
    "reshape": [NODE("Reshape", ["p", "shape"], ["b"])],
    "resize": [NODE("Resize", ["p", "", "", "sizes"], ["b"], coordinate_transformation_mode="asymmetric", nearest_mode="floor")],
    "sigmoid": [NODE("Sigmoid", ["p"], ["b"])],
    "slice": [NODE("Slice", ["p", "starts", "ends", "axes"], ["b"])],
    "softmax": [NODE("Softmax", ["p"], ["b"], axis=1)],
    "swish": [NODE("Sigmoid", ["p"], ["g"]), NODE("Mul", ["p", "g"], ["b"])],
    "transpose": [NODE("Transpose", ["p"], ["b"], perm=[0, 2, 3, 1])],
    "transposed": [weight("tq"), NODE("ConvTranspose", ["p", "w"], ["b"])],
}  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_any_operator(body):
    nodes = [
        NODE("QuantizeLinear", ["x", "cs", "cz"], ["xq"], axis=1),
        NODE("DequantizeLinear", ["xq", "cs", "cz"], ["p"], axis=1),
        NODE("QuantizeLinear", ["x", "s", "z"], ["yq"]),
        NODE("DequantizeLinear", ["yq", "s", "z"], ["q"]),
        *BODIES[body],
        NODE("QuantizeLinear", ["b", "os", "oz"], ["bq"]),
        NODE("DequantizeLinear", ["bq", "os", "oz"], ["y"]),
    ]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", SHAPE), ("y", None))]
    stored = [numpy_helper.from_array(np.asarray(value), name) for name, value in CONSTANTS.items()]
    graph = helper.make_graph(nodes, "net", info[:1], info[1:], stored)
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feed = {"x": RNG.standard_normal(SHAPE).astype(np.float32)}
    (want,) = onnx_values(network, feed)
    compiled = compile_model(import_onnx(network), BASELINE)
    with Module(compiled, SimDevice(BASELINE)) as module:
        report = module.check(feed)
    assert report.bit_exact
    np.testing.assert_allclose(report.run.outputs[0], want, atol=0.0501)
