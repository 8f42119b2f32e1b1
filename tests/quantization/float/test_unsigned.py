from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.quantization.nets import NetBuilder, preactivation_net, residual_net
from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph, Node, call, graph_input
from vta.ir.interpreter import evaluate
from vta.quantization import QuantizeConfig, lower, quantize, signal_to_noise, with_bounds
from vta.quantization.float.plan.quant_groups import make_plan
from vta.quantization.float.unsigned import unsigned_values

EVERYTHING = QuantizeConfig(skip_conv_layers=())


def unsigned_names(graph: Graph) -> set[str]:
    return {node.name for node in unsigned_values(graph, make_plan(graph, EVERYTHING, multiplies=True))}


def with_head(net: NetBuilder, data: Node, value: Node) -> Graph:
    return Graph((data,), (net.conv(value, 4, "head", relu=False),))


def separable_net(net: NetBuilder) -> Graph:
    data = graph_input("data", (2, 4, 8, 8))
    value = net.conv(data, 16, "stem")
    for name in ("a", "b", "c"):
        value = net.conv(value, 16, f"{name}_depthwise", relu=False, groups=16)
        value = call("clip", [value], f"{name}_relu6", a_min=0.0, a_max=6.0)
        value = net.conv(value, 16, name, size=1)
    return with_head(net, data, value)


def noise(graph: Graph, net: NetBuilder, hw: HardwareConfig, zero_points: str) -> float:
    quantized = quantize(graph, net.samples(graph, 32), replace(EVERYTHING, zero_points=zero_points), hw)
    batch = NetBuilder(9).samples(graph, 2)
    (found,), (wanted,) = evaluate(quantized, batch), evaluate(graph, batch)
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def test_values_behind_a_rectifier_are_unsigned():
    assert unsigned_names(residual_net(NetBuilder())) == {"stem_relu", "a1_relu", "a_relu", "b1_relu", "b_relu", "pool", "flat"}


def test_signed_streams_stay_as_they_are():
    names = unsigned_names(preactivation_net(NetBuilder()))
    assert "a_add" not in names
    assert "a_relu" in names


def test_what_is_joined_to_signed_values_stays_signed(net: NetBuilder):
    data = graph_input("data", (1, 4, 8, 8))
    signed, positive = net.conv(data, 4, "signed", relu=False), net.conv(data, 4, "positive")
    graph = with_head(net, data, call("concatenate", [signed, positive], "joined", axis=1))
    assert unsigned_names(graph) == set()
    both = with_head(net, data, call("concatenate", [net.conv(data, 4, "other"), positive], "joined", axis=1))
    assert unsigned_names(both) == {"other_relu", "positive_relu", "joined"}


def test_windows_of_different_sizes_are_of_signed_values(net: NetBuilder):
    data = graph_input("data", (1, 4, 8, 8))
    pooled = call("nn.avg_pool2d", [net.conv(data, 4, "conv")], "mean", pool_size=(3, 3), padding=(1, 1, 1, 1))
    assert "conv_relu" not in unsigned_names(with_head(net, data, pooled))


def test_factors_of_products_are_signed(net: NetBuilder):
    data = graph_input("data", (1, 4, 8, 8))
    product = call("multiply", [net.conv(data, 4, "left"), net.conv(data, 4, "right")], "product")
    assert unsigned_names(with_head(net, data, product)) == set()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_padding_is_of_the_level_that_its_value_has(net: NetBuilder, sim: HardwareConfig, value: float):
    data = graph_input("data", (1, 4, 8, 8))
    padded = call("nn.pad", [net.conv(data, 4, "conv")], "pad", pad_width=((0, 0), (0, 0), (1, 1), (1, 1)), pad_value=value)
    graph = with_head(net, data, padded)
    quantized = quantize(graph, net.samples(graph, 8), replace(EVERYTHING, zero_points="all"), sim)
    batch = net.samples(graph, 1)
    found, wanted = evaluate(quantized, batch)[0], evaluate(graph, batch)[0]
    assert np.linalg.norm(found - wanted) < 0.05 * np.linalg.norm(wanted)
    assert np.array_equal(evaluate(lower(quantized, sim), batch)[0], evaluate(with_bounds(quantized), batch)[0])


def test_only_networks_with_depthwise_layers_by_default(sim: HardwareConfig):
    net = NetBuilder()
    for make, expected in ((separable_net, {-128, 0}), (residual_net, {0})):
        graph = make(net)
        quantized = quantize(graph, net.samples(graph, 8), EVERYTHING, sim)
        found = {node.attrs.output_zero_point for node in quantized.calls() if node.op == "qnn.requantize"}
        assert found <= expected
        assert (-128 in found) == (-128 in expected)


def test_narrow_accumulators_have_room_for_signed_values_only(net: NetBuilder, sim: HardwareConfig):
    graph = separable_net(net)
    narrow = replace(sim, log_acc_width=4, log_acc_buff_size=16)
    quantized = quantize(graph, net.samples(graph, 8), replace(EVERYTHING, zero_points="all"), narrow)
    assert {node.attrs.output_zero_point for node in quantized.calls() if node.op == "qnn.requantize"} == {0}


def test_twice_the_levels_make_less_noise(net: NetBuilder, sim: HardwareConfig):
    graph = separable_net(net)
    assert noise(graph, net, sim, "all") < 0.8 * noise(graph, net, sim, "none")


def test_the_report_takes_zero_points_off(net: NetBuilder, sim: HardwareConfig):
    graph = separable_net(net)
    quantized = quantize(graph, net.samples(graph, 32), replace(EVERYTHING, zero_points="all", equalize="none"), sim)
    rows = signal_to_noise(graph, quantized, net.samples(graph, 2))
    assert min(row.own_db for row in rows) > 25
    assert max(row.saturated for row in rows) < 0.05
