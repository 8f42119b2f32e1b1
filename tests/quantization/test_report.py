from __future__ import annotations

import numpy as np
import pytest

from tests.quantization.nets import residual_net
from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph, call, constant, graph_input
from vta.quantization import QuantizeConfig, quantize, signal_to_noise


def test_each_quantized_layer_has_a_row(net, sim: HardwareConfig):
    graph = residual_net(net)
    quantized = quantize(graph, net.samples(graph, 16), QuantizeConfig(), sim)
    rows = signal_to_noise(graph, quantized, net.samples(graph, 2))
    assert sorted(row.layer for row in rows) == ["a1_relu", "a_relu", "b1_relu", "b2", "b_relu", "flat", "pool", "stem_relu"]
    assert all(row.snr_db > 25 for row in rows)
    assert all(0 <= row.saturated < 0.05 for row in rows)
    assert all(row.own_db > 25 for row in rows)
    # Noise only grows on the way, so exact inputs are better ones, but for the layers that read the input itself.
    assert all(row.own_db > row.snr_db - 0.5 for row in rows)


def test_own_noise_leaves_out_what_came_before(sim: HardwareConfig):
    """The second of two roundings, the first of which is coarse, costs little itself."""
    data = graph_input("data", (1, 1, 8, 8))
    real = Graph((data,), (call("nn.relu", [call("nn.relu", [data], "coarse")], "fine"),))
    coarse = call("qnn.quantize", [data], "coarse", scale=0.5)
    fine = call("qnn.requantize", [coarse], "fine", input_scale=0.5, output_scale=0.01)
    rounded = Graph((data,), (call("qnn.dequantize", [fine], "out", scale=0.01),))
    values = np.random.default_rng(0).uniform(0, 1.2, (1, 1, 8, 8)).astype(np.float32)
    rows = {row.layer: row for row in signal_to_noise(real, rounded, {"data": values})}
    assert rows["coarse"].own_db == rows["coarse"].snr_db
    assert rows["fine"].snr_db == pytest.approx(rows["coarse"].snr_db, abs=0.1)


def test_snr_counts_rounding_noise(sim: HardwareConfig):
    data = graph_input("data", (1, 1, 1, 4))
    real = Graph((data,), (call("nn.relu", [data], "act"),))
    value = call("qnn.quantize", [data], "act", scale=1.0)
    rounded = Graph((data,), (call("qnn.dequantize", [value], "out", scale=1.0),))
    batch = {"data": np.array([[[[1.0, 2.25, 3.0, 4.0]]]], np.float32)}
    (row,) = signal_to_noise(real, rounded, batch)
    assert row.snr_db == pytest.approx(10 * np.log10((1 + 2.25**2 + 9 + 16) / 0.0625))
    assert (row.op, row.scale, row.largest) == ("qnn.quantize", 1.0, 4.0)


def test_a_layer_is_compared_with_its_bias_under_any_name():
    data = graph_input("data", (1, 4, 6, 6))
    rng = np.random.default_rng(0)
    weight = constant(rng.uniform(-0.5, 0.5, (4, 4, 1, 1)).astype(np.float32), "weight")
    bias = constant(np.array([-3, 2, 4, -1], np.float32), "bias")
    biased = call("nn.bias_add", [call("nn.conv2d", [data, weight], "conv"), bias], "norm")
    value = call("qnn.quantize", [biased], "conv", scale=0.05)
    rounded = Graph((data,), (call("qnn.dequantize", [value], "out", scale=0.05),))
    batch = {"data": rng.uniform(-1, 1, data.shape).astype(np.float32)}
    (row,) = signal_to_noise(Graph((data,), (biased,)), rounded, batch)
    assert row.layer == "conv"
    assert row.snr_db > 40
