"""Rounding by optimisation."""

from __future__ import annotations

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from tests.quantization import nets
from tests.quantization.float.weights.test_gptq import correlated
from vta.ir.arithmetic.decibels import decibels
from vta.ir.graph import Graph, graph_input
from vta.ir.interpreter import evaluate
from vta.quantization import QuantizeConfig, quantize
from vta.quantization.float.calibration.input_moments import shrunk_covariance
from vta.quantization.float.weights.adaround import adaptively_rounded
from vta.quantization.float.weights.gptq import compensated


def errors(values, levels, moments):
    """The mean squared error of the results of each channel (G, O)."""
    difference = values.reshape(levels.shape) - levels
    return np.einsum("goi,gij,goj->go", difference, shrunk_covariance(moments), difference)


@pytest.mark.parametrize(("groups", "channels", "size"), [(1, 6, 20), (3, 2, 9), (1, 1, 1)])
def test_no_channel_is_worse_than_compensated(groups, channels, size):
    rng = np.random.default_rng(size)
    _, moments = correlated(rng, groups, size, causes=max(1, size // 2))
    weight = rng.standard_normal((groups * channels, size, 1, 1))
    scales = np.abs(weight).max(axis=(1, 2, 3)) / 30
    levels = (weight / scales[:, None, None, None]).reshape(groups, channels, size)
    found, other = (way(weight, scales, moments) for way in (adaptively_rounded, compensated))
    assert (found.dtype, found.shape) == (np.int8, weight.shape)
    ours, theirs = errors(found, levels, moments), errors(other, levels, moments)
    assert (ours <= theirs * (1 + 1e-9)).all()
    if size == 20:
        assert ours.sum() < 0.98 * theirs.sum()
    np.testing.assert_array_equal(found, adaptively_rounded(weight, scales, moments))


def test_levels_stay_within_int8():
    _, moments = correlated(np.random.default_rng(0), 1, 4)
    found = adaptively_rounded(np.full((2, 4), 127.49), np.ones(2), moments)
    assert (np.abs(found.astype(int)) <= 127).all()


@pytest.mark.parametrize("rounding", ["compensated", "adaround"])
@pytest.mark.parametrize("seed", range(3))
def test_a_network_gets_less_noisy(seed, rounding):
    """Where a layer makes many values of few, they vary together: errors of weights make up for each other."""
    net = nets.NetBuilder(seed)
    data = graph_input("data", (2, 3, 4, 4))
    graph = Graph((data,), (net.conv(net.conv(data, 48, "a", size=1), 8, "b", size=1, relu=False),))
    samples = net.samples(graph, 40)
    wanted = [evaluate(graph, {"data": samples["data"][at : at + 2]})[0] for at in range(0, 40, 2)]

    def noise(rounding):
        made = quantize(graph, samples, QuantizeConfig(rounding=rounding), BASELINE)
        got = [evaluate(made, {"data": samples["data"][at : at + 2]})[0] for at in range(0, 40, 2)]
        return decibels(np.stack(wanted), np.stack(got))

    assert noise(rounding) > noise("nearest")
