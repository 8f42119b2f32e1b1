"""Rounding that makes up for its own errors, and the moments that it goes by."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.quantization import nets
from tests.quantization.float.calibration.test_input_moments import rounded
from vta.ir.graph import call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.quantization import QuantizeConfig, quantize
from vta.quantization.float.calibration.input_moments import Moments, PatchMoments, shrunk_covariance
from vta.quantization.float.weights.gptq import compensated, factor_of


def patches(data, kernel, groups, strides, padding, dilation):
    """All values under a kernel, (G, n, D), the plain way."""
    top, left, bottom, right = padding
    padded = np.pad(data, ((0, 0), (0, 0), (top, bottom), (left, right)))
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, dilation, strict=True)]
    found = []
    for image in padded:
        for y in range(0, padded.shape[2] - reach[0] + 1, strides[0]):
            for x in range(0, padded.shape[3] - reach[1] + 1, strides[1]):
                part = image[:, y : y + reach[0] : dilation[0], x : x + reach[1] : dilation[1]]
                found.append(part.reshape(groups, -1))
    return np.stack(found, axis=1).astype(np.float64)


def covariance_of(rows):
    """Of patches (n, D), of whose distances from their mean 8 significant bits are kept; all are of the first batch."""
    single = rows.astype(np.float32)
    return np.cov(rounded(single - single.mean(axis=0)).T, bias=True)


@pytest.mark.parametrize(
    ("groups", "strides", "padding", "dilation"),
    [
        (1, (1, 1), (0, 0, 0, 0), (1, 1)),
        (2, (2, 1), (1, 0, 2, 1), (1, 1)),
        (4, (1, 2), (1, 1, 1, 1), (1, 2)),
    ],
)
@pytest.mark.parametrize("zero", [None, 7])
def test_moments_are_of_what_lies_under_the_kernel(groups, strides, padding, dilation, zero):
    rng = np.random.default_rng(0)
    kernel, geometry = (2, 3), {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
    weight = constant(np.ones((8, 4 // groups, *kernel), np.int8 if zero else np.float32))
    data = rng.integers(-100, 100, (3, 4, 7, 8))
    if zero is None:
        source = graph_input("x", (3, 4, 7, 8))
        product, real = call("nn.conv2d", [source, weight], "c", **geometry), data.astype(np.float32)
    else:
        source, scales = (
            graph_input("x", (3, 4, 7, 8), "int8"),
            {"input_scale": 0.5, "kernel_scale": 1.0, "input_zero_point": zero},
        )
        product, real = call("qnn.conv2d", [source, weight], "c", **scales, **geometry), (data - zero) * 0.5
    seen = PatchMoments([product])
    for _ in range(2):
        seen.expect([source], 1)
        seen.add(source, data.astype(source.dtype))
    seen.add(graph_input("other", (1, 4)), np.ones((1, 4)))
    moments = seen.values()[product]
    rows = patches(real, kernel, groups, strides, padding, dilation)
    assert moments.count == 2 * rows.shape[1]
    for group, values in zip(moments.covariance, rows, strict=True):
        np.testing.assert_allclose(group, covariance_of(values), rtol=1e-4, atol=1e-3)


@settings(deadline=None)
@given(st.data())
def test_moments_are_of_what_lies_under_any_kernel(data):
    """Also where a kernel is wholly in the padding."""
    pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
    kernel, strides, dilation, size = (data.draw(pairs) for _ in range(4))
    padding, groups = data.draw(st.tuples(*[st.integers(0, 4)] * 4)), data.draw(st.sampled_from([1, 2]))
    reach = [(length - 1) * step + 1 for length, step in zip(kernel, dilation, strict=True)]
    if any(size[at] + padding[at] + padding[at + 2] < reach[at] for at in range(2)):
        return
    values = np.random.default_rng(0).integers(-100, 100, (2, 4, *size)).astype(np.float32)
    source = graph_input("x", values.shape)
    weight = constant(np.ones((2, 4 // groups, *kernel), np.float32))
    product = call("nn.conv2d", [source, weight], "c", strides=strides, padding=padding, dilation=dilation, groups=groups)
    seen = PatchMoments([product])
    seen.expect([source], 1)
    seen.add(source, values)
    rows = patches(values, kernel, groups, strides, padding, dilation)
    moments = seen.values()[product]
    if moments.count == rows.shape[1]:  # as few places as are looked at in full
        for group, under in zip(moments.covariance, rows, strict=True):
            np.testing.assert_allclose(group, covariance_of(under).reshape(group.shape), rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("groups", [1, 2])
def test_moments_do_not_depend_on_what_comes_together(groups):
    rng = np.random.default_rng(1)
    source = graph_input("x", (1, 4, 9, 8))
    first = call("nn.conv2d", [source, constant(np.ones((6, 4 // groups, 3, 3), np.float32))], "a", groups=groups)
    second = call("nn.conv2d", [source, constant(np.ones((2, 4, 1, 1), np.float32))], "b", strides=(2, 2))
    data = rng.standard_normal((5, 4, 9, 8)).astype(np.float32)
    together, apart = PatchMoments([first, second]), PatchMoments([first, second])
    together.expect([source, first, second], 5)
    together.add(source, data, 5)
    for sample in data:
        apart.expect([source, first, second], 1)
        apart.add(source, sample[None])
    for product, moments in together.values().items():
        np.testing.assert_array_equal(moments.covariance, apart.values()[product].covariance)
        assert moments.count == apart.values()[product].count


def test_moments_of_dense_layers():
    data = np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32)
    source = graph_input("x", (50, 6))
    product = call("nn.dense", [source, constant(np.ones((3, 6), np.float32))], "d")
    seen = PatchMoments([product])
    seen.expect([source], 1)
    seen.add(source, data)
    np.testing.assert_allclose(seen.values()[product].covariance[0], covariance_of(data), rtol=1e-4, atol=1e-5)


def correlated(rng, groups, size, count=400, causes=None):
    """Samples (G, n, D) that vary together, and their moments."""
    causes = causes or size
    mixed = rng.standard_normal((groups, count, causes)) @ rng.standard_normal((groups, causes, size))
    mixed += rng.standard_normal((groups, count, size)) * 0.1
    centered = mixed - mixed.mean(axis=1, keepdims=True)
    return centered, Moments(centered.transpose(0, 2, 1) @ centered / count, count)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    groups=st.integers(1, 5),
    outputs=st.integers(1, 6),
    kernel=st.tuples(st.integers(1, 40), st.integers(1, 3), st.integers(1, 3)),
)
def test_errors_are_smaller_than_those_of_plain_rounding(seed, groups, outputs, kernel):
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal((groups * outputs, *kernel))
    scales = np.abs(weight).reshape(len(weight), -1).max(axis=1) / rng.uniform(2, 127)
    samples, moments = correlated(rng, groups, int(np.prod(kernel)))
    found = compensated(weight, scales, moments)
    assert found.dtype == np.int8
    assert found.shape == weight.shape
    assert np.abs(found.astype(int)).max() <= 127
    levels = (weight / scales.reshape(-1, 1, 1, 1)).reshape(groups, outputs, -1)
    plain = np.clip(np.floor(levels + 0.5), -127, 127)

    def error(rounded):
        return (((rounded.reshape(levels.shape) - levels) @ samples.transpose(0, 2, 1)) ** 2).mean()

    assert error(found) <= error(plain) * 1.2


def whole(factor, size):
    """L of each group as a matrix."""
    groups, blocks, columns, rows = factor.lower.shape
    matrices = factor.lower.transpose(0, 1, 3, 2).reshape(groups, blocks * rows, columns)
    return np.tril(matrices[:, :size, :size])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 99), groups=st.integers(1, 3), size=st.integers(1, 70), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_factors_are_those_of_the_covariance(seed, groups, size, scale):
    _, moments = correlated(np.random.default_rng(seed), groups, size)
    moments = Moments(moments.covariance * scale, moments.count)
    factor = factor_of(moments)
    lower = whole(factor, size)
    for group, order, wanted in zip(lower, factor.order, shrunk_covariance(moments), strict=True):
        assert sorted(order) == list(range(size))
        ordered = wanted[np.ix_(order, order)]
        np.testing.assert_allclose(group @ group.T, ordered, rtol=1e-12, atol=1e-13 * np.abs(ordered).max())
        np.testing.assert_allclose(group, np.linalg.cholesky(ordered), rtol=1e-6, atol=1e-9 * scale**0.5)


def one_by_one(levels, lower, order):
    """Each weight rounded to the nearest of what makes up for those behind it, or plainly, the plain way."""
    nearest = lambda level: np.clip(np.floor(level + 0.5), -127, 127)  # noqa: E731
    ordered = levels[:, order]
    found, plain = np.zeros_like(ordered), nearest(ordered)
    for at in reversed(range(len(order))):
        behind = (ordered - found)[:, at + 1 :] @ lower[at + 1 :, at]
        found[:, at] = nearest(ordered[:, at] + behind / lower[at, at])
    errors = [(((ordered - rounded) @ lower) ** 2).sum(axis=1) for rounded in (found, plain)]
    result = np.empty_like(levels)
    result[:, order] = np.where((errors[0] < errors[1])[:, None], found, plain)
    return result


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 99), groups=st.integers(1, 3), outputs=st.integers(1, 20), size=st.integers(1, 40))
def test_weights_are_rounded_one_after_the_other(seed, groups, outputs, size):
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal((groups * outputs, size))
    _, moments = correlated(rng, groups, size)
    factor = factor_of(moments)
    found = compensated(weight, np.full(len(weight), 0.05), moments).reshape(groups, outputs, size)
    parts = (weight / 0.05).reshape(found.shape), whole(factor, size), factor.order
    for group, levels, lower, order in zip(found, *parts, strict=True):
        np.testing.assert_array_equal(group, one_by_one(levels, lower, order))


def test_much_smaller_where_values_vary_together():
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((16, 64))
    samples, moments = correlated(rng, 1, 64, 4000, causes=8)
    scales = np.full(16, 0.1)
    errors = [
        ((part - weight / 0.1) @ samples[0].T).std()
        for part in (compensated(weight, scales, moments), np.floor(weight / 0.1 + 0.5))
    ]
    assert errors[0] < 0.5 * errors[1]


def test_values_that_vary_apart_leave_plain_rounding():
    weight = np.random.default_rng(0).standard_normal((4, 9))
    moments = Moments(np.diag(np.arange(9.0))[None], 1000)
    np.testing.assert_array_equal(compensated(weight, np.full(4, 0.05), moments), np.floor(weight / 0.05 + 0.5))


def test_values_that_never_vary_do_no_harm():
    weight = np.random.default_rng(0).standard_normal((4, 2, 3, 3))
    for covariance in (np.zeros((1, 18, 18)), np.ones((1, 18, 18))):
        found = compensated(weight, np.full(4, 0.05), Moments(covariance, 10))
        assert np.abs(found - weight / 0.05).max() < 20


@pytest.mark.parametrize("data", [np.full((20, 6), 255.0), np.full((20, 6), 255.0) + np.eye(20, 6) * 1e-4, np.zeros((20, 6))])
def test_inputs_that_hardly_vary(data):
    source = graph_input("x", (20, 6))
    weight = np.random.default_rng(0).standard_normal((3, 6)).astype(np.float32)
    product = call("nn.dense", [source, constant(weight)], "d")
    seen = PatchMoments([product])
    for _ in range(3):
        seen.expect([source], 1)
        seen.add(source, data.astype(np.float32))
    moments = seen.values()[product]
    assert np.abs(moments.covariance).max() < 1e-6
    found = compensated(weight, np.full(3, 0.02), moments)
    assert np.abs(found - np.clip(weight / 0.02, -127, 127)).max() < 10


def test_moments_that_no_covariance_has_leave_plain_rounding():
    weight = np.random.default_rng(0).standard_normal((3, 2))
    for covariance in ([[0.0, 1.0], [1.0, 0.0]], [[-1.0, 0.0], [0.0, -1.0]]):
        found = compensated(weight, np.full(3, 0.05), Moments(np.array([covariance]), 1000))
        np.testing.assert_array_equal(found, np.floor(weight / 0.05 + 0.5))


def test_it_makes_a_quantized_network_better(sim, net):
    graph = nets.residual_net(net)
    smooth = {
        name: np.repeat(value[:, :, ::4, ::4], 4, axis=2).repeat(4, axis=3) for name, value in net.samples(graph, 64).items()
    }

    def noise(rounding):
        quantized = quantize(graph, smooth, QuantizeConfig(skip_conv_layers=(), rounding=rounding), sim)
        batches = [{name: value[at : at + 2] for name, value in smooth.items()} for at in range(0, 64, 2)]
        return sum(float(((evaluate(quantized, x)[0] - evaluate(graph, x)[0]) ** 2).sum()) for x in batches)

    assert noise("compensated") < noise("nearest")
