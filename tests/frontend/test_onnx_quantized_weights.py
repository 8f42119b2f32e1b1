"""Weights and biases behind DequantizeLinear: where their scales lie, what their zero points are, how they broadcast."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.onnx_models import Quantized, check

X_SCALE, Y_SCALE = 0.02, 0.1

PRODUCTS = {
    # Operator: shape of the data, of the weight, axis of the output channels, attributes.
    "Conv": ((2, 6, 5, 5), (6, 6, 3, 3), 0, {"pads": [1, 1, 1, 1]}),
    "Conv of groups": ((1, 6, 5, 5), (6, 3, 3, 3), 0, {"group": 2}),
    "Conv of each channel": ((1, 6, 5, 5), (6, 1, 3, 3), 0, {"group": 6}),
    "Conv 1-D": ((2, 6, 9), (6, 6, 3), 0, {"pads": [1, 1], "strides": [2]}),
    "ConvTranspose": ((1, 6, 4, 4), (6, 6, 2, 2), 1, {"strides": [2, 2]}),
    "ConvTranspose of groups": ((1, 6, 4, 4), (6, 3, 2, 2), 1, {"strides": [2, 2], "group": 2}),
    "Gemm": ((3, 6), (6, 6), 1, {}),
    "Gemm transB": ((3, 6), (6, 6), 0, {"transB": 1}),
    "Gemm alpha": ((3, 6), (6, 6), 0, {"transB": 1, "alpha": 0.5}),
    "MatMul": ((3, 6), (6, 6), 1, {}),
    "MatMul of rows of rows": ((2, 3, 6), (6, 6), 1, {}),
}


def product(op: str, net: Quantized, weight: str, bias: str | None = None):
    """A product between quantised tensors: the model, and its input."""
    shape, _, _, attributes = PRODUCTS[op]
    x = net.pair("x", X_SCALE, np.int8(3))
    made = net.node(op.split(maxsplit=1)[0], x, weight, *([] if bias is None else [bias]), **attributes)
    y = net.pair(made, Y_SCALE, np.int8(5))
    feed = {"x": net.random.standard_normal(shape).astype(np.float32)}
    return net.model(feed, y, opset=21), feed


def is_fused(graph):
    ops = [node.op for node in graph.calls()]
    return not {"nn.conv2d", "nn.conv2d_transpose", "nn.dense", "nn.matmul"}.intersection(ops)


@st.composite
def along(draw, op):
    """Scales of a weight: their shape, and the axis that is written in the file."""
    _, weight, _, _ = PRODUCTS[op]
    axis = draw(st.integers(0, len(weight) - 1))
    written = draw(st.sampled_from([axis, axis - len(weight)]))
    return axis, written


@pytest.mark.parametrize("op", PRODUCTS)
@settings(max_examples=25)
@given(data=st.data())
def test_scales_along_every_axis(op, data):
    _, shape, output, _ = PRODUCTS[op]
    axis, written = data.draw(along(op))
    dtype = data.draw(st.sampled_from([np.int8, np.uint8]))
    zeros = data.draw(st.sampled_from(["none", "one", "each"]))
    net, info = Quantized(data.draw(st.integers(0, 99))), np.iinfo(dtype)
    middle = (info.min + info.max + 1) // 2
    count = shape[axis]
    zero = {"none": None, "one": np.full(count, middle + 3), "each": net.random.integers(middle - 9, middle + 9, count)}[zeros]
    values = net.random.integers(info.min, info.max + 1, shape)
    if zeros == "none" and dtype is np.uint8:
        values = values // 2
    scales = net.random.uniform(0.001, 0.02, count)
    weight = net.dequantized(values.astype(dtype), scales, None if zero is None else zero.astype(dtype), axis=written)
    graph = check(*product(op, net, weight), Y_SCALE)
    assert is_fused(graph) == (axis == output or count == 1)


@pytest.mark.parametrize("op", PRODUCTS)
@pytest.mark.parametrize("shape", [(), (1,)])
def test_one_scale_for_all(op, shape):
    net = Quantized()
    values = net.random.integers(-128, 128, PRODUCTS[op][1]).astype(np.int8)
    weight = net.dequantized(values, np.full(shape, 0.01), np.full(shape, 7, np.int8))
    assert is_fused(check(*product(op, net, weight), Y_SCALE))


@settings(max_examples=30)
@given(before=st.permutations(range(4)), axis=st.integers(0, 3), seed=st.integers(0, 99))
def test_scales_go_where_their_weights_are_moved(before, axis, seed):
    """A transposition between dequantisation and convolution takes the axis of the scales along."""
    net = Quantized(seed)
    shape = (6, 6, 3, 3)
    stored = tuple(shape[before.index(at)] for at in range(4))
    weight = net.dequantized(
        net.random.integers(-128, 128, stored).astype(np.int8), net.random.uniform(0.001, 0.02, stored[axis]), axis=axis
    )
    weight = net.node("Transpose", weight, perm=list(before))
    assert is_fused(check(*product("Conv", net, weight), Y_SCALE)) == (before[0] == axis)


def test_scales_go_where_their_weights_are_reshaped():
    net = Quantized()
    rows = net.random.integers(-128, 128, (6, 54)).astype(np.int8)
    weight = net.dequantized(rows, net.random.uniform(0.001, 0.02, 6), axis=0)
    weight = net.node("Reshape", weight, net.constant(np.int64([6, 6, 3, 3])))
    assert is_fused(check(*product("Conv", net, weight), Y_SCALE))


@pytest.mark.parametrize("op", ["Conv", "Gemm", "Gemm transB", "MatMul"])
@pytest.mark.parametrize("axis", [0, 1])
def test_scales_of_blocks_are_dequantized(op, axis):
    net = Quantized()
    shape = PRODUCTS[op][1]
    blocks = tuple(dim // 3 if at == axis else dim for at, dim in enumerate(shape))
    values = net.random.integers(-128, 128, shape).astype(np.int8)
    zeros = net.random.integers(-9, 9, blocks).astype(np.int8)
    weight = net.dequantized(values, net.random.uniform(0.001, 0.02, blocks), zeros, axis=axis, block_size=3)
    check(*product(op, net, weight), Y_SCALE)


@settings(max_examples=40)
@given(
    dtype=st.sampled_from([np.int8, np.uint8, np.int32]),
    ratio=st.sampled_from([1, 0.37, 10]),
    zero=st.sampled_from([None, 0, 20, 100]),
    each=st.booleans(),
    op=st.sampled_from(["Conv", "Conv 1-D", "ConvTranspose", "Gemm", "Gemm transB"]),
)
def test_biases_of_every_type(dtype, ratio, zero, each, op):
    """With zero points of their own, and at scales that are not those of the products."""
    if dtype is np.int32 and zero:
        zero = 0
    net = Quantized(3)
    scales = net.random.uniform(0.005, 0.02, 6) if each else np.float64(0.01)
    _, shape, axis, _ = PRODUCTS[op]
    weight = net.dequantized(net.random.integers(-128, 128, shape).astype(np.int8), scales, axis=axis)
    own = np.float32(X_SCALE) * np.asarray(scales, np.float32) * np.float32(ratio)
    if dtype is not np.int32:
        own = own * np.float32(100)
    info = np.iinfo(dtype)
    levels = net.random.integers(max(info.min, -20000), min(info.max, 20000) + 1, 6).astype(dtype)
    zeros = None if zero is None else np.full(own.shape, zero, dtype)
    bias = net.dequantized(levels, own, zeros, axis=0)
    assert is_fused(check(*product(op, net, weight, bias), Y_SCALE))


BIASES = [(), (1,), (6,), (1, 6), (1, 1), (3, 1), (3, 6)]


@pytest.mark.parametrize("op", ["Gemm", "Gemm transB", "Gemm beta", "Add", "Add of rows", "Add first"])
@pytest.mark.parametrize("shape", BIASES)
@pytest.mark.parametrize("quantized", [False, True])
def test_biases_broadcast(op, shape, quantized):
    net = Quantized(4)
    weight = net.dequantized(net.random.integers(-128, 128, (6, 6)).astype(np.int8), 0.01)
    if quantized:
        bias = net.dequantized(net.random.integers(-900, 900, shape).astype(np.int32), 0.0002)
    else:
        bias = net.constant((3 * net.random.standard_normal(shape)).astype(np.float32))
    rows = (2, 3, 6) if op == "Add of rows" else (3, 6)
    x = net.pair("x", X_SCALE, np.int8(3))
    if op.startswith("Gemm"):
        attributes = {"transB": int("transB" in op), "beta": 0.5 if "beta" in op else 1.0}
        y = net.node("Gemm", x, weight, bias, **attributes)
    else:
        y = net.node("MatMul", x, weight)
        y = net.node("Add", bias, y) if op == "Add first" else net.node("Add", y, bias)
    feed = {"x": net.random.standard_normal(rows).astype(np.float32)}
    graph = check(net.model(feed, net.pair(y, Y_SCALE, np.int8(5))), feed, Y_SCALE)
    assert is_fused(graph) == all(dim == 1 for dim in shape[:-1])


def test_a_bias_that_the_products_cannot_hold_stays_real():
    """Too large for 32 bits at the scale of the products, or lost between two of their levels."""
    for scale, value, y_scale in ((1e-8, 40.0, 1.0), (1.0, 0.4, 0.05)):
        net = Quantized()
        weight = net.dequantized(net.random.integers(-2, 3, (6, 6)).astype(np.int8), scale)
        x = net.pair("x", 1.0, np.int8(0))
        y = net.node("Gemm", x, weight, net.constant(np.full(6, value, np.float32)))
        feed = {"x": (3 * net.random.standard_normal((3, 6))).astype(np.float32)}
        graph = check(net.model(feed, net.pair(y, y_scale, np.int8(0))), feed, y_scale)
        assert not is_fused(graph)


@pytest.mark.parametrize("where", ["flatten", "rename", "pool", "twice"])
def test_what_only_moves_between_a_product_and_its_quantization(where):
    net = Quantized()
    weight = net.dequantized(net.random.integers(-128, 128, (6, 6, 3, 3)).astype(np.int8), 0.01)
    x = net.pair("x", X_SCALE, np.int8(3))
    y = net.node("Clip", net.node("Relu", net.node("Conv", x, weight)), "", net.constant(np.float32(6)))
    if where in ("pool", "twice"):
        y = net.node("MaxPool", y, kernel_shape=[2, 2], pads=[1, 1, 0, 0])
    if where == "rename":
        y = net.node("Transpose", y, perm=[0, 2, 3, 1])
    if where in ("flatten", "twice"):
        y = net.node("Relu", net.node("Flatten", y))
    feed = {"x": net.random.standard_normal((1, 6, 5, 6)).astype(np.float32)}
    assert is_fused(check(net.model(feed, net.pair(y, Y_SCALE, np.int8(-20))), feed, Y_SCALE))


def test_sums_of_dequantized_accumulators():
    for twice in (False, True):
        net = Quantized()
        q = net.node("QuantizeLinear", "x", net.constant(np.float32(0.03)), net.constant(np.int8(0)))
        parts = []
        for _ in range(2):
            weight = net.constant(net.random.integers(-127, 127, (8, 4, 3, 3)).astype(np.int8))
            sums = net.node("ConvInteger", q, weight)
            parts.append(net.node("DequantizeLinear", sums, net.constant(np.float32(0.0003))))
        y = net.node("Add", parts[0], parts[0 if twice else 1])
        feed = {"x": net.random.standard_normal((1, 4, 6, 6)).astype(np.float32)}
        check(net.model(feed, net.pair(y, 0.05, np.int8(2))), feed, 0.05)


AFTER = {
    # What follows a product whose output has the channels at axis 1: the parameters, in their shape.
    "Add": lambda net, v, shape: net.node("Add", net.constant(net.random.standard_normal(shape).astype(np.float32)), v),
    "Sub": lambda net, v, shape: net.node("Sub", v, net.constant(net.random.standard_normal(shape).astype(np.float32))),
    "Mul": lambda net, v, shape: net.node("Mul", v, net.constant(net.random.uniform(0.5, 2, shape).astype(np.float32))),
    "Mul of both signs": lambda net, v, shape: net.node(
        "Mul", v, net.constant((net.random.uniform(0.5, 2, shape) * net.random.choice([-1, 1], shape)).astype(np.float32))
    ),
    "Div": lambda net, v, shape: net.node("Div", v, net.constant(net.random.uniform(0.5, 2, shape).astype(np.float32))),
    "BatchNormalization": lambda net, v, shape: net.node(
        "BatchNormalization", v, *(net.constant(net.random.uniform(0.5, 2, 6).astype(np.float32)) for _ in range(4))
    ),
}


@settings(max_examples=60)
@given(
    op=st.sampled_from(["Conv", "Conv of groups", "ConvTranspose", "Gemm"]),
    steps=st.lists(st.sampled_from(list(AFTER)), min_size=1, max_size=3),
    each=st.booleans(),
    seed=st.integers(0, 99),
)
def test_arithmetic_by_channel_after_a_product(op, steps, each, seed):
    """As networks have it that were trained with their quantisation: batch normalisation is still behind the weights."""
    net = Quantized(seed)
    data, shape, axis, attributes = PRODUCTS[op]
    scale = net.random.uniform(0.005, 0.02, 6) if each else 0.01
    weight = net.dequantized(net.random.integers(-127, 128, shape).astype(np.int8), scale, axis=axis)
    bias = net.constant(net.random.standard_normal(6).astype(np.float32))
    y = net.node(op.split()[0], net.pair("x", X_SCALE, np.int8(3)), weight, bias, **attributes)
    for step in steps:
        y = AFTER[step](net, y, (1, 6, *(1,) * (len(data) - 2)))
    feed = {"x": net.random.standard_normal(data).astype(np.float32)}
    graph = check(net.model(feed, net.pair(net.node("Relu", y), Y_SCALE, np.int8(-20))), feed, Y_SCALE)
    assert is_fused(graph) or (op == "ConvTranspose" and "Mul of both signs" in steps)


@pytest.mark.parametrize("shape", [(1, 1, 5, 5), (2, 1, 1, 1), (5,), (1, 6, 5, 1)])
def test_arithmetic_that_differs_between_places_stays_real(shape):
    net = Quantized()
    weight = net.dequantized(net.random.integers(-127, 128, (6, 6, 3, 3)).astype(np.int8), 0.01)
    y = net.node("Conv", net.pair("x", X_SCALE, np.int8(3)), weight, pads=[1, 1, 1, 1])
    y = net.node(
        "Mul",
        net.node("Add", y, net.constant(net.random.standard_normal(shape).astype(np.float32))),
        net.constant(np.float32(0.5)),
    )
    feed = {"x": net.random.standard_normal((2, 6, 5, 5)).astype(np.float32)}
    assert not is_fused(check(net.model(feed, net.pair(y, Y_SCALE, np.int8(5))), feed, Y_SCALE))


def test_clipped_levels_between_a_quantization_and_its_dequantization():
    """As networks of Brevitas have them, for weights and for activations."""
    net = Quantized()
    names = [net.constant(np.float32(X_SCALE)), net.constant(np.int8(0))]
    q = net.node("Clip", net.node("QuantizeLinear", "x", *names), net.constant(np.int8(-8)), net.constant(np.int8(7)))
    x = net.node("DequantizeLinear", q, *names)
    real = net.constant((net.random.standard_normal((6, 6, 3, 3)) / 8).astype(np.float32))
    scale, zero = net.constant(net.random.uniform(0.001, 0.004, 6).astype(np.float32)), net.constant(np.zeros(6, np.int8))
    levels = net.node("QuantizeLinear", real, scale, zero, axis=0)
    levels = net.node("Clip", levels, net.constant(np.int8(-127)), net.constant(np.int8(127)))
    weight = net.node("DequantizeLinear", levels, scale, zero, axis=0)
    y = net.node("Conv", x, weight)
    feed = {"x": net.random.standard_normal((1, 6, 5, 5)).astype(np.float32)}
    assert is_fused(check(net.model(feed, net.pair(y, Y_SCALE, np.int8(5))), feed, Y_SCALE))


@pytest.mark.parametrize("op", PRODUCTS)
@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_float_weights_behind_a_quantization(op, each, dtype):
    """Rounded at import: halves to the even level, and what is out of range to the last one."""
    net = Quantized(9)
    _, shape, axis, _ = PRODUCTS[op]
    scale = 2.0 ** net.random.integers(-8, -5, shape[axis] if each else ())
    middle = 128 if dtype is np.uint8 else 0
    halves = net.random.integers(-300, 300, shape) / 2
    along = scale.reshape([-1 if at == axis else 1 for at in range(len(shape))]) if each else scale
    names = [net.constant(scale.astype(np.float32)), net.constant(np.full(scale.shape, middle, dtype))]
    levels = net.node("QuantizeLinear", net.constant((halves * along).astype(np.float32)), *names, axis=axis)
    weight = net.node("DequantizeLinear", levels, *names, axis=axis)
    assert is_fused(check(*product(op, net, weight), Y_SCALE))


@pytest.mark.parametrize("block", [0, 3])
def test_float_weights_behind_a_quantization_that_no_operator_here_has(block):
    """By blocks, or with zero points that differ: the levels are computed at import all the same."""
    net = Quantized(2)
    shape, count = (6, 6, 3, 3), (6, 2, 3, 3) if block else (6,)
    real = net.constant((net.random.standard_normal(shape) / 8).astype(np.float32))
    names = [net.constant(net.random.uniform(0.001, 0.004, count).astype(np.float32))]
    names.append(net.constant(net.random.integers(-9, 9, count).astype(np.int8)))
    attributes = {"axis": 1, "block_size": block} if block else {"axis": 0}
    weight = net.node("DequantizeLinear", net.node("QuantizeLinear", real, *names, **attributes), *names, **attributes)
    assert is_fused(check(*product("Conv", net, weight), Y_SCALE)) == (not block)
