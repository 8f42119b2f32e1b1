from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.errors import GraphError
from vta.ir.graph import call, graph_input


def windows(shape, pool_size, strides, padding, ceil_mode):
    """For each output position the rows and columns of data under its window, and the window's place, unclipped."""
    spans = []
    for axis in (0, 1):
        size, before, after = shape[2 + axis], padding[axis], padding[axis + 2]
        starts = []
        start = -before
        while start + pool_size[axis] <= size + after or (
            ceil_mode and start < size and start + pool_size[axis] - strides[axis] < size + after
        ):
            starts.append(start)
            start += strides[axis]
        spans.append([(s, s + pool_size[axis]) for s in starts])
    return spans


@st.composite
def poolings(draw):
    pool_size = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    padding = tuple(draw(st.integers(0, pool_size[a % 2] - 1)) for a in range(4))
    attrs = {
        "pool_size": pool_size,
        "strides": draw(st.tuples(st.integers(1, 4), st.integers(1, 4))),
        "padding": padding,
        "ceil_mode": draw(st.booleans()),
    }
    size = [max(1, pool_size[a] - padding[a] - padding[a + 2]) + draw(st.integers(0, 5)) for a in (0, 1)]
    x = np.random.default_rng(draw(st.integers(0, 2**32))).integers(-128, 128, (1, 2, *size)).astype(np.int8)
    return x, attrs


@settings(deadline=None, max_examples=80)
@given(poolings())
def test_max_and_sum_equal_the_loops(run, case):
    x, attrs = case
    rows, columns = windows(x.shape, **attrs)
    largest, total = run("nn.max_pool2d", x, **attrs), run("nn.sum_pool2d", x, **attrs)
    assert (largest.dtype, total.dtype) == (np.int8, np.int32)
    assert largest.shape == total.shape == (1, 2, len(rows), len(columns))
    for (i, (top, bottom)), (j, (left, right)) in itertools.product(enumerate(rows), enumerate(columns)):
        part = x[:, :, max(0, top) : bottom, max(0, left) : right]
        np.testing.assert_array_equal(largest[:, :, i, j], part.max(axis=(2, 3)))
        np.testing.assert_array_equal(total[:, :, i, j], part.sum(axis=(2, 3), dtype=np.int32))


@settings(deadline=None, max_examples=80)
@given(poolings(), st.booleans())
def test_mean_equals_the_loops(run, case, include):
    x, attrs = case[0].astype(np.float32), case[1]
    y = run("nn.avg_pool2d", x, count_include_pad=include, **attrs)
    rows, columns = windows(x.shape, **attrs)
    padding = attrs["padding"]
    for (i, (top, bottom)), (j, (left, right)) in itertools.product(enumerate(rows), enumerate(columns)):
        part = x[:, :, max(0, top) : bottom, max(0, left) : right]
        count = part.shape[2] * part.shape[3]
        if include:
            count = (min(bottom, x.shape[2] + padding[2]) - top) * (min(right, x.shape[3] + padding[3]) - left)
        np.testing.assert_allclose(y[:, :, i, j], part.sum(axis=(2, 3)) / count, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("size", "stride", "pad"), [(7, 2, 1), (8, 3, 1), (5, 2, 0), (6, 2, 1)])
def test_against_onnxruntime(run, onnx_run, ceil_mode, size, stride, pad):
    x = np.random.default_rng(0).standard_normal((1, 3, size, size + 1)).astype(np.float32)
    onnx = {"kernel_shape": (3, 2), "strides": (stride, stride), "pads": (pad,) * 4, "ceil_mode": int(ceil_mode)}
    ours = {"pool_size": (3, 2), "strides": (stride, stride), "padding": (pad,) * 4, "ceil_mode": ceil_mode}
    np.testing.assert_array_equal(run("nn.max_pool2d", x, **ours), onnx_run("MaxPool", x, **onnx))
    np.testing.assert_allclose(run("nn.avg_pool2d", x, **ours), onnx_run("AveragePool", x, **onnx), rtol=1e-5, atol=1e-6)


def test_padding_never_wins(run):
    x = np.full((1, 1, 3, 3), -128, np.int8)
    assert (run("nn.max_pool2d", x, pool_size=(3, 3), padding=(1, 1, 1, 1)) == -128).all()
    real = np.full((1, 1, 3, 3), -1e30, np.float32)
    assert (run("nn.max_pool2d", real, pool_size=(3, 3), padding=(1, 1, 1, 1)) == np.float32(-1e30)).all()


def test_global_pooling(run):
    x = np.random.default_rng(0).standard_normal((2, 3, 5, 4)).astype(np.float32)
    np.testing.assert_allclose(run("nn.global_avg_pool2d", x)[:, :, 0, 0], x.mean(axis=(2, 3)), rtol=1e-5)
    np.testing.assert_array_equal(run("nn.global_max_pool2d", x), x.max(axis=(2, 3), keepdims=True))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"pool_size": (2, 2), "padding": (2, 0, 0, 0)}, "padding (2, 0, 0, 0) must be less than pool_size (2, 2)"),
        ({"pool_size": (9, 2)}, "pool_size (9, 2) is larger than the padded data, 8 along axis 2"),
        ({"pool_size": (2, 2), "ceil_mode": 1}, "ceil_mode must be True or False, got 1"),
        ({}, "missing 1 required keyword-only argument: 'pool_size'"),
    ],
)
def test_wrong_attributes_are_named(attributes, message):
    with pytest.raises(GraphError) as error:
        call("nn.max_pool2d", [graph_input("x", (1, 4, 8, 8))], **attributes)
    assert message in str(error.value)


def test_sum_takes_int8_only():
    with pytest.raises(GraphError, match="the input must be int8, got float32"):
        call("nn.sum_pool2d", [graph_input("x", (1, 4, 8, 8))], pool_size=(2, 2))
