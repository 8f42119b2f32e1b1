"""Functions of one int8 value as tables: the same bits, and nothing else is folded."""

import numpy as np
import pytest

from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.passes.folding.fold_lookups import fold_lookups
from vta.passes.fuse_quantized import fuse_quantized

X = graph_input("x", (2, 4, 8, 16), "int8")
Y = graph_input("y", X.shape, "int8")


def real(node, scale=0.05, zero_point=3):
    return call("qnn.dequantize", [node], "real", scale=scale, zero_point=zero_point)


def quantized(node, rounding="up", **attributes):
    return call("qnn.quantize", [node], "result", **{"scale": 0.03, "zero_point": -9, "rounding": rounding, **attributes})


def scalar(value, shape=()):
    return constant(np.full(shape, value, np.float32))


def check(graph, fold=fold_lookups):
    """The folded graph gives the same; returns the names of its operators."""
    folded = fold(graph)
    values = np.random.default_rng(0).integers(-128, 128, X.shape).astype(np.int8)
    inputs = {node.name: values if node is X else values[:, ::-1].copy() for node in graph.inputs}
    for want, got in zip(evaluate(graph, inputs), evaluate(folded, inputs), strict=True):
        np.testing.assert_array_equal(got, want)
    return [node.op for node in folded.calls()]


@pytest.mark.parametrize("op", ["sigmoid", "tanh", "nn.elu", "nn.hard_sigmoid", "nn.hard_swish", "nn.leaky_relu", "erf", "exp"])
@pytest.mark.parametrize("rounding", ["up", "even", "tflite"])
def test_one_operator(op, rounding):
    assert check(Graph((X,), (quantized(call(op, [real(X)], op), rounding),))) == ["qnn.lookup"]


def test_a_gate_of_the_value_itself():
    value = real(X)
    swish = call("multiply", [value, call("sigmoid", [value], "s")], "m")
    assert check(Graph((X,), (quantized(swish),))) == ["qnn.lookup"]
    twice = call("multiply", [real(X), call("sigmoid", [real(X)], "s")], "m")
    assert check(Graph((X,), (quantized(twice),))) == ["qnn.lookup"]


def test_many_operators_with_constants():
    value = call("add", [real(X), scalar(3.0)], "a")
    for _ in range(30):
        value = call("multiply", [call("minimum", [value, call("abs", [value], "b")], "c"), scalar(0.99, (1, 1, 1, 1))], "d")
    assert check(Graph((X,), (quantized(value),))) == ["qnn.lookup"]


def test_what_is_no_function_of_one_value_stays():
    sums = call("add", [real(X), real(Y)], "sum")
    by_channel = call("multiply", [real(X), constant(np.ones((4, 1, 1), np.float32))], "scaled")
    moved = call("transpose", [real(X)], "moved", axes=(0, 1, 2, 3))
    for value in (sums, by_channel, moved, real(X), call("tanh", [real(X, (0.1, 0.2, 0.3, 0.4))], "t")):
        ops = check(Graph((X, Y), (quantized(value),)))
        assert "qnn.lookup" not in ops
    wide = Graph((X,), (quantized(call("tanh", [real(X)], "t"), out_dtype="int32"),))
    assert "qnn.lookup" not in check(wide)


def test_quantized_networks_are_fused_so():
    graph = Graph((X,), (quantized(call("sigmoid", [real(X)], "s"), "even"),))
    assert check(graph, fuse_quantized) == ["qnn.lookup"]


def test_a_pad_between_is_a_pad_of_levels():
    pad = call("nn.pad", [real(X)], "pad", pad_width=((0, 0), (0, 0), (1, 1), (1, 1)), pad_value=0.4)
    graph = Graph((X,), (quantized(pad, "even", scale=0.05, zero_point=3),))
    assert check(graph, fuse_quantized) == ["nn.pad"]
    other = Graph((X,), (quantized(pad, "even"),))
    assert check(other, fuse_quantized) == ["qnn.requantize", "nn.pad"]
