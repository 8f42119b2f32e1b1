"""Convolutions of calibration data: the products one by one, for every geometry; of one image as of many."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vta.ir import names as ops
from vta.ir.graph import call, constant, graph_input
from vta.ir.interpreter import evaluate_node
from vta.quantization.float.calibration import values
from vta.quantization.float.calibration.values import value_of

MOST = 448


@st.composite
def convolutions(draw):
    """A convolution of whole numbers or of others, and its data."""
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels, outputs = draw(st.integers(1, 9)), draw(st.integers(1, 19))
    kernel, strides, dilation = (draw(st.tuples(st.integers(1, most), st.integers(1, most))) for most in (4, 3, 3))
    padding = tuple(draw(st.integers(0, 2)) for _ in range(4))
    height, width = ((size - 1) * step + 1 for size, step in zip(kernel, dilation, strict=True))
    width = max(width, draw(st.sampled_from([1, 16, 32, 45])))
    shape = draw(st.integers(1, 3)), groups * channels, draw(st.integers(height, 40)), width
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    data = rng.integers(-9, 10, shape).astype(np.float32) * np.float32(draw(st.sampled_from([1, 0.1])))
    weight = rng.integers(-9, 10, (groups * outputs, channels, *kernel)).astype(np.float32)
    inputs = [graph_input("x", shape), constant(weight, "w")]
    geometry = {"strides": strides, "padding": padding, "dilation": dilation}
    return call(ops.CONV2D, inputs, "conv", groups=groups, **geometry), data, weight


@given(convolutions())
def test_they_are_those_of_the_reference(case):
    node, data, weight = case
    found, wanted = (
        values.convolved(node, values.lib.vta_convolve, data, weight),
        evaluate_node(node, [data, weight]),
    )
    scale = evaluate_node(node, [np.abs(data), np.abs(weight)]).max(initial=1)
    # Whole numbers have no rounding.
    tolerance = 0 if np.array_equal(data, np.rint(data)) else 1e-6 * scale
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)


@given(convolutions(), st.integers(1, 9))
def test_those_of_each_channel_are_the_reference_to_the_bit(case, channels):
    like, _, _ = case
    rng = np.random.default_rng(channels)
    data = rng.standard_normal((2, channels, *like.inputs[0].shape[2:])).astype(np.float32)
    weight = rng.standard_normal((channels, 1, *like.inputs[1].shape[2:])).astype(np.float32)
    inputs = [graph_input("x", data.shape), constant(weight, "w")]
    node = call(ops.CONV2D, inputs, "conv", **{**vars(like.attrs), "groups": channels})
    np.testing.assert_array_equal(value_of(node, [data, weight]), evaluate_node(node, [data, weight]))


@given(convolutions())
def test_an_image_gives_the_same_bits_alone(case):
    node, data, weight = case
    together = value_of(node, [data, weight])
    one = call(ops.CONV2D, [graph_input("x", (1, *data.shape[1:])), node.inputs[1]], "conv", **vars(node.attrs))
    np.testing.assert_array_equal(
        together, np.concatenate([value_of(one, [data[at : at + 1], weight]) for at in range(len(data))])
    )


def fused_sum(data, weight):
    """Products added in order, each sum rounded once; long ones in parts. Of small numbers doubles have all bits of a product."""
    total, left = None, len(data)
    while left:
        some = MOST if left >= 2 * MOST else (left + 1) // 2 if left > MOST else left
        begin = len(data) - left
        found = np.float32(0)
        for at in range(begin, begin + some):
            found = np.float32(np.float64(data[at]) * np.float64(weight[at]) + np.float64(found))
        total, left = found if total is None else np.float32(total + found), left - some
    return total


def test_the_order_of_the_products():
    for values_of_row in (2, 144, MOST, MOST + 1, 576, 2 * MOST - 1, 2 * MOST, 1000):
        rng = np.random.default_rng(values_of_row)
        data = (rng.integers(-2048, 2048, (1, values_of_row, 4, 8)) / 4096).astype(np.float32)
        weight = (rng.integers(-2048, 2048, (3, values_of_row, 1, 1)) / 4096).astype(np.float32)
        node = call(ops.CONV2D, [graph_input("x", data.shape), constant(weight, "w")], "conv")
        found = value_of(node, [data, weight])
        for output in range(3):
            for y, x in ((0, 0), (1, 5), (3, 7)):
                assert found[0, output, y, x] == fused_sum(data[0, :, y, x], weight[output, :, 0, 0])
