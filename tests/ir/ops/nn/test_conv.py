from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.errors import GraphError
from vta.ir.graph import call, graph_input
from vta.ir.ops.nn.conv import Conv2DTransposeAttributes, phase_sums, transposed_weight


def slow_conv2d(x, w, strides, padding, dilation, groups):
    """One Python loop a dimension, in unbounded integers or float64."""
    x, w = x.astype(object), w.astype(object)
    n, _, height, width = x.shape
    o, depth, kh, kw = w.shape
    top, left, bottom, right = padding
    oh = (height + top + bottom - (kh - 1) * dilation[0] - 1) // strides[0] + 1
    ow = (width + left + right - (kw - 1) * dilation[1] - 1) // strides[1] + 1
    y = np.zeros((n, o, oh, ow), object)
    for b, f, i, j, c, p, q in itertools.product(*map(range, (n, o, oh, ow, depth, kh, kw))):
        row, column = i * strides[0] + p * dilation[0] - top, j * strides[1] + q * dilation[1] - left
        if 0 <= row < height and 0 <= column < width:
            y[b, f, i, j] += x[b, f // (o // groups) * depth + c, row, column] * w[f, c, p, q]
    return y


@st.composite
def convolutions(draw):
    small = st.integers(1, 2)
    groups, per_group, filters = draw(st.integers(1, 3)), draw(small), draw(small)
    kernel, strides, dilation = (draw(st.tuples(st.integers(1, 3), st.integers(1, 3))) for _ in range(3))
    padding = draw(st.tuples(*[st.integers(0, 2)] * 4))
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    size = [max(1, s - padding[a] - padding[a + 2]) + draw(st.integers(0, 3)) for a, s in enumerate(spans)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return SimpleNamespace(
        x=rng.integers(-128, 128, (draw(small), groups * per_group, *size)).astype(np.int8),
        w=rng.integers(-128, 128, (groups * filters, per_group, *kernel)).astype(np.int8),
        wt=rng.integers(-128, 128, (groups * per_group, filters, *kernel)).astype(np.int8),
        attrs={"strides": strides, "padding": padding, "dilation": dilation, "groups": groups},
    )


@settings(deadline=None, max_examples=60)
@given(convolutions())
def test_integer_convolution_equals_the_loops(run, case):
    y = run("nn.conv2d", case.x, case.w, **case.attrs)
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, slow_conv2d(case.x, case.w, **case.attrs).astype(np.int64))


@settings(deadline=None, max_examples=40)
@given(convolutions())
def test_float_convolution_equals_the_loops(run, case):
    x, w = case.x.astype(np.float32) / 7, case.w.astype(np.float32) / 11
    y = run("nn.conv2d", x, w, **case.attrs)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, slow_conv2d(x, w, **case.attrs).astype(np.float64), rtol=1e-4, atol=1e-2)


def test_integer_convolution_is_exact_where_float32_is_not(run):
    x = np.full((1, 2048, 1, 1), 127, np.int8)
    w = np.full((2, 2048, 1, 1), -128, np.int8)
    w[1, 0] = -127
    np.testing.assert_array_equal(run("nn.conv2d", x, w).ravel(), [-127 * 128 * 2048, -127 * 128 * 2048 + 127])


def test_integer_convolution_wraps(run):
    depth = 140_000
    y = run("nn.conv2d", np.full((1, depth, 1, 1), -128, np.int8), np.full((1, depth, 1, 1), -128, np.int8))
    assert y.item() == 128 * 128 * depth - 2**32


def test_large_batches_are_convolved_in_slices(run):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((40, 8, 64, 64)).astype(np.float32), rng.standard_normal((2, 8, 3, 3)).astype(np.float32)
    y = run("nn.conv2d", x, w, padding=(1, 1, 1, 1))
    np.testing.assert_allclose(y[37:38], run("nn.conv2d", x[37:38], w, padding=(1, 1, 1, 1)), rtol=1e-4, atol=1e-4)


@settings(deadline=None, max_examples=40)
@given(convolutions())
def test_transposed_convolution_is_the_adjoint(run, case):
    """<conv(y), x> = <y, conv_transpose(x)> for every y, with one weight for both."""
    attrs = case.attrs
    try:
        out = run("nn.conv2d_transpose", case.x, case.wt, **attrs)
    except GraphError as error:
        assert "leaves nothing" in str(error)  # noqa: PT017
        return
    assert out.dtype == np.int32
    y = np.random.default_rng(1).integers(-128, 128, out.shape).astype(np.int8)
    # The weight (C, O/g, KH, KW) reads as OIHW with C filters.
    back = run("nn.conv2d", y, case.wt, **attrs).astype(np.int64)
    assert back.shape == case.x.shape
    assert (back * case.x).sum() == (out.astype(np.int64) * y).sum()


@st.composite
def transposed_convolutions(draw):
    """int8 data, weight (C, O/groups, KH, KW) and attributes."""
    pair = st.tuples(st.integers(1, 3), st.integers(1, 3))
    groups, (strides, dilation, kernel) = draw(st.integers(1, 3)), (draw(pair) for _ in range(3))
    channels, outputs = groups * draw(st.integers(1, 2)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    data = rng.integers(-128, 128, (2, channels, *draw(pair)), np.int8)
    weight = rng.integers(-128, 128, (channels, outputs, *kernel), np.int8)
    extra = tuple(draw(st.integers(0, stride - 1)) for stride in strides)
    whole = [(data.shape[2 + a] - 1) * strides[a] + (kernel[a] - 1) * dilation[a] + 1 + extra[a] for a in (0, 1)]
    before = [draw(st.integers(0, size - 1)) for size in whole]
    after = [draw(st.integers(0, size - cut - 1)) for size, cut in zip(whole, before, strict=True)]
    padding = (*before, *after)
    return (
        data,
        weight,
        {
            "strides": strides,
            "padding": padding,
            "output_padding": extra,
            "dilation": dilation,
            "groups": groups,
        },
    )


def slow_transposed(data, weight, strides, padding, output_padding, dilation, groups):
    """Each input value adds itself times the kernel, one product at a time."""
    batch, channels, height, width = data.shape
    _, per_group, kernel_h, kernel_w = weight.shape
    high = (height - 1) * strides[0] + (kernel_h - 1) * dilation[0] + 1 + output_padding[0]
    wide = (width - 1) * strides[1] + (kernel_w - 1) * dilation[1] + 1 + output_padding[1]
    full = np.zeros((batch, per_group * groups, high, wide), np.int64)
    for n, c, y, x, o, i, j in np.ndindex(batch, channels, height, width, per_group, kernel_h, kernel_w):
        out = c // (channels // groups) * per_group + o
        full[n, out, y * strides[0] + i * dilation[0], x * strides[1] + j * dilation[1]] += int(data[n, c, y, x]) * int(
            weight[c, o, i, j]
        )
    top, left, bottom, right = padding
    return full[:, :, top : high - bottom, left : wide - right]


@settings(deadline=None, max_examples=60)
@given(transposed_convolutions())
def test_transposed_convolution_against_a_slow_loop(run, case):
    data, weight, attributes = case
    np.testing.assert_array_equal(
        run("nn.conv2d_transpose", data, weight, **attributes), slow_transposed(data, weight, **attributes)
    )


@settings(deadline=None, max_examples=30)
@given(transposed_convolutions())
def test_what_is_added_by_phase(run, case):
    data, weight, attributes = case
    strides, padding = attributes["strides"], attributes["padding"]
    rng = np.random.default_rng(2)
    offsets = rng.integers(-(2**31), 2**31, (weight.shape[1] * attributes["groups"], *strides), np.int64).astype(np.int32)
    expected = slow_transposed(data, weight, **attributes)
    for y, x in np.ndindex(expected.shape[2:]):
        expected[:, :, y, x] += offsets[:, (y + padding[0]) % strides[0], (x + padding[1]) % strides[1]]
    found = run("nn.conv2d_transpose", data, weight, offsets, **attributes)
    np.testing.assert_array_equal(found, expected.astype(np.int32))


@settings(deadline=None, max_examples=60)
@given(transposed_convolutions())
def test_it_is_a_convolution_of_spread_input_with_turned_weights(run, case):
    data, weight, attributes = case
    strides, dilation, groups = attributes["strides"], attributes["dilation"], attributes["groups"]
    spread = np.zeros(
        (*data.shape[:2], *((size - 1) * stride + 1 for size, stride in zip(data.shape[2:], strides, strict=True))), np.int8
    )
    spread[:, :, :: strides[0], :: strides[1]] = data
    reach = [(size - 1) * step for size, step in zip(weight.shape[2:], dilation, strict=True)]
    turned = transposed_weight(weight, groups)
    full = run("nn.conv2d", spread, turned, padding=(*reach, *reach), dilation=dilation, groups=groups)
    (top, left, bottom, right), extra = attributes["padding"], attributes["output_padding"]
    full = np.pad(full, ((0, 0), (0, 0), (0, extra[0]), (0, extra[1])))
    expected = full[:, :, top : full.shape[2] - bottom, left : full.shape[3] - right]
    np.testing.assert_array_equal(run("nn.conv2d_transpose", data, weight, **attributes), expected)
    np.testing.assert_array_equal(transposed_weight(turned, groups), weight)


@settings(deadline=None, max_examples=60)
@given(transposed_convolutions())
def test_phases_are_what_an_endless_input_of_ones_gives(run, case):
    _, weight, attributes = case
    strides, dilation, groups = attributes["strides"], attributes["dilation"], attributes["groups"]
    ones = np.ones((1, len(weight), 16, 16), np.int8)
    full = run("nn.conv2d_transpose", ones, weight, strides=strides, dilation=dilation, groups=groups)
    positions = transposed_weight(weight.astype(np.int64), groups).sum(axis=1)[:, ::-1, ::-1]
    sums = phase_sums(positions, Conv2DTransposeAttributes(strides=strides, dilation=dilation))
    for y, x in np.ndindex(4, 4):
        row, column = 8 * strides[0] + y, 8 * strides[1] + x
        np.testing.assert_array_equal(full[0, :, row, column], sums[:, y % strides[0], x % strides[1]])


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"output_padding": (-1, 0)}, "output_padding must be a tuple of 2 integers of at least 0, got (-1, 0)"),
        ({"groups": 3}, "groups=3 must divide the 4 input channels"),
        ({"padding": (5, 5, 5, 5)}, "padding (5, 5, 5, 5) leaves nothing of the 10x10 output"),
        ({"strides": (2, 1)}, "what is added by phase must be float32[6, 2, 1], got float32[6, 1, 1]"),
    ],
)
def test_wrong_attributes_of_transposed_convolutions_are_named(attributes, message):
    inputs = [graph_input("x", (1, 4, 8, 8)), graph_input("w", (4, 6, 3, 3)), graph_input("o", (6, 1, 1))]
    with pytest.raises(GraphError) as error:
        call("nn.conv2d_transpose", inputs if "strides" in attributes else inputs[:2], "up7", **attributes)
    assert message in str(error.value)
    assert "up7: nn.conv2d_transpose" in str(error.value)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
def test_transposed_convolution_against_onnxruntime(run, onnx_run, groups, strides):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 4, 5, 4)).astype(np.float32), rng.standard_normal((4, 3, 3, 2)).astype(np.float32)
    extra = tuple(s - 1 for s in strides)
    expected = onnx_run("ConvTranspose", x, w, strides=strides, pads=(1, 0, 0, 1), group=groups, output_padding=extra)
    y = run("nn.conv2d_transpose", x, w, strides=strides, padding=(1, 0, 0, 1), groups=groups, output_padding=extra)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"strides": (0, 1)}, "strides must be a tuple of 2 integers of at least 1, got (0, 1)"),
        ({"padding": (1, 1)}, "padding must be a tuple of 4 integers of at least 0, got (1, 1)"),
        ({"dilation": 2}, "dilation must be a tuple of 2 integers"),
        ({"groups": True}, "groups must be an integer of at least 1, got True"),
        ({"groups": 2}, "data has 4 channels, but weight (6, 4, 3, 3) with groups=2 needs 8"),
        ({"dilation": (4, 1)}, "the kernel spans 9x3, more than the padded data, 8x8"),
        ({"pads": (1, 1)}, "unexpected keyword argument 'pads'"),
    ],
)
def test_wrong_attributes_are_named(attributes, message):
    inputs = [graph_input("x", (1, 4, 8, 8)), graph_input("w", (6, 4, 3, 3))]
    with pytest.raises(GraphError) as error:
        call("nn.conv2d", inputs, "conv7", **attributes)
    assert message in str(error.value)
    assert "conv7: nn.conv2d" in str(error.value)


def test_mixed_types_are_refused():
    inputs = [graph_input("x", (1, 4, 8, 8), "int8"), graph_input("w", (6, 4, 3, 3))]
    with pytest.raises(GraphError, match="both be float32, or int8 and int8 or int16, got int8 and float32"):
        call("nn.conv2d", inputs)


def test_lists_become_tuples():
    inputs = [graph_input("x", (1, 4, 8, 8)), graph_input("w", (6, 4, 3, 3))]
    attrs = call("nn.conv2d", inputs, strides=[np.int64(2), 2]).attrs
    assert attrs.strides == (2, 2)
    assert type(attrs.strides[0]) is int
