"""Float operators between dequantised inputs and a quantised output."""

import numpy as np

from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.passes.fuse_quantized import fuse_quantized

X = graph_input("x", (1, 4, 6, 6), "int8")


def real(node: Node, scale=0.1, zero=3):
    return call("qnn.dequantize", [node], "dq", scale=scale, zero_point=zero)


def quantized(node: Node, scale=0.2, zero=-7):
    return call("qnn.quantize", [node], "q", scale=scale, zero_point=zero, rounding="even")


def fused(node: Node):
    graph = Graph((X,), (node,))
    result = fuse_quantized(graph)
    values = {"x": np.random.default_rng(0).integers(-128, 128, X.shape).astype(np.int8)}
    difference = np.abs(evaluate(graph, values)[0].astype(int) - evaluate(result, values)[0])
    assert difference.max() <= 1
    return [call.op for call in result.calls()]


def weight(*shape):
    return real(constant(np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)), 0.01, 5)


def test_a_convolution_with_bias_and_relu():
    value = call("nn.conv2d", [real(X), weight(8, 4, 3, 3)], "conv", padding=(1, 1, 1, 1))
    value = call("nn.bias_add", [value, constant(np.linspace(-3, 3, 8).astype(np.float32))], "conv")
    assert fused(quantized(call("nn.relu", [value], "relu"))) == ["qnn.conv2d", "nn.bias_add", "qnn.requantize"]


def test_a_matrix_product_with_transposed_weight():
    rows = call("reshape", [real(X)], "flat", newshape=(1, 144))
    product = call("nn.dense", [rows, call("transpose", [weight(144, 5)], "t", axes=(1, 0))], "fc")
    assert fused(quantized(product)) == ["reshape", "qnn.dense", "qnn.requantize"]
    inner = real(quantized(rows, 0.1, 3), 0.1, 3)
    ops = fused(quantized(call("nn.dense", [inner, call("transpose", [weight(144, 5)], "t", axes=(1, 0))], "fc")))
    assert ops == ["reshape", "qnn.dense", "qnn.requantize"]


def test_sums_and_means():
    assert fused(quantized(call("add", [real(X), real(X, 0.3, 0)], "sum"))) == ["qnn.add"]
    assert fused(quantized(call("nn.global_avg_pool2d", [real(X)], "mean"))) == ["qnn.global_avg_pool2d"]


def test_values_that_move_stay_integers():
    pooled = call("nn.max_pool2d", [real(X)], "pool", pool_size=(2, 2), strides=(2, 2))
    assert fused(quantized(pooled, 0.1, 3)) == ["nn.max_pool2d"]
    assert fused(quantized(pooled)) == ["nn.max_pool2d", "qnn.requantize"]
    joined = call("concatenate", [real(X), real(X, 0.2, -7)], "join", axis=1)
    assert fused(quantized(joined)) == ["qnn.requantize", "concatenate"]
    assert fused(quantized(call("clip", [real(X)], "clip", a_min=0.0, a_max=6.0), 0.1, 3)) == ["clip"]


def test_what_is_left_in_float_keeps_its_constants_as_floats():
    value = call("nn.conv2d", [call("sigmoid", [real(X)], "s"), weight(8, 4, 3, 3)], "conv")
    graph = fuse_quantized(Graph((X,), (value,)))
    assert graph.outputs[0].inputs[1].op == "constant"
    assert graph.outputs[0].inputs[1].dtype == "float32"


def test_a_float_graph_stays_as_it_is():
    x = graph_input("x", (1, 4))
    graph = Graph((x,), (call("nn.relu", [x], "relu"),))
    assert fuse_quantized(graph) is graph
