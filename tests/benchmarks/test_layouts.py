"""The benchmark of layouts: all of them compute the same."""

import numpy as np
import pytest

from benchmarks.layouts import Layer, kernel_of
from vta.host.loop.interpret import evaluate_kernel

LANES = 2


@pytest.mark.parametrize("depthwise", [False, True])
def test_layouts_compute_the_same(depthwise):
    layer = Layer("tiny", 4, 4, 3, 2, depthwise)
    rng = np.random.default_rng(0)
    data = rng.standard_normal((4, 4, 4)).astype(np.float32)
    weight = rng.standard_normal((4, *(() if depthwise else (4,)), 2, 2)).astype(np.float32)
    bias = rng.standard_normal(4).astype(np.float32)
    plain = evaluate_kernel(kernel_of(layer, "NCHW", LANES), [data, weight, bias])
    last = [data.transpose(1, 2, 0), np.moveaxis(weight, (-2, -1), (0, 1)), bias]
    if not depthwise:
        last[1] = last[1].transpose(0, 1, 3, 2)
    channels_last = evaluate_kernel(kernel_of(layer, "NHWC", LANES), [np.ascontiguousarray(array) for array in last])
    np.testing.assert_allclose(channels_last.transpose(2, 0, 1), plain, rtol=1e-5)
    parted = weight.reshape(2, LANES, *weight.shape[1:])
    weights = parted.transpose(0, 2, 3, 1) if depthwise else parted.reshape(2, LANES, 2, LANES, 2, 2).transpose(0, 2, 3, 4, 5, 1)
    blocks = data.reshape(2, LANES, 4, 4).transpose(0, 2, 3, 1)
    given = [np.ascontiguousarray(array) for array in (blocks, weights, bias.reshape(2, LANES))]
    blocked = evaluate_kernel(kernel_of(layer, "NCHWc", LANES), given)
    np.testing.assert_allclose(blocked.transpose(0, 3, 1, 2).reshape(plain.shape), plain, rtol=1e-5)
