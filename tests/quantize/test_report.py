from __future__ import annotations

import numpy as np
import pytest

from tests.quantize.nets import residual_net
from vta.config import HardwareConfig
from vta.ir.graph import Graph, call, graph_input
from vta.quantize import QuantizeConfig, quantize, signal_to_noise


def test_each_quantised_layer_has_a_row(net, sim: HardwareConfig):
    graph = residual_net(net)
    quantised = quantize(graph, net.samples(graph, 16), QuantizeConfig(), sim)
    rows = signal_to_noise(graph, quantised, net.samples(graph, 2))
    assert sorted(row.layer for row in rows) == ["a1_relu", "a_relu", "b1_relu", "b2", "b_relu", "flat", "pool", "stem_relu"]
    assert all(row.snr_db > 25 for row in rows)
    assert all(0 <= row.saturated < 0.05 for row in rows)


def test_snr_counts_rounding_noise(sim: HardwareConfig):
    data = graph_input("data", (1, 1, 1, 4))
    real = Graph((data,), (call("nn.relu", [data], "act"),))
    value = call("qnn.quantize", [data], "act", scale=1.0)
    rounded = Graph((data,), (call("qnn.dequantize", [value], "out", scale=1.0),))
    batch = {"data": np.array([[[[1.0, 2.25, 3.0, 4.0]]]], np.float32)}
    (row,) = signal_to_noise(real, rounded, batch)
    assert row.snr_db == pytest.approx(10 * np.log10((1 + 2.25**2 + 9 + 16) / 0.0625))
    assert (row.op, row.scale, row.largest) == ("qnn.quantize", 1.0, 4.0)
