from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.quantization.nets import branching_net, preactivation_net, residual_net
from vta.config.hardware import HardwareConfig
from vta.errors import VTAError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.quantization import QuantizeConfig, lower, quantize, with_bounds
from vta.quantization.float import quantizer
from vta.quantization.float.report import tensor_scales

ALL_CALIBRATIONS = ["global_scale", "max", "percentile", "kl", "mse"]


def relative_error(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def integer_ops(graph: Graph) -> dict[str, int]:
    ops: dict[str, int] = {}
    for node in graph.calls():
        if node.op.startswith("qnn."):
            ops[node.op] = ops.get(node.op, 0) + 1
    return ops


def step_ops(graph: Graph) -> list:
    """The int32 nodes that are no operand of a tensor addition."""
    operands = {node.inputs[1] for node in graph.calls() if node.op == "add"}
    return [node for node in graph.calls() if node.dtype == "int32" and node not in operands]


@pytest.mark.parametrize("zero_points", ["none", "all"])
@pytest.mark.parametrize("scales", ["real", "power_of_two"])
def test_results_follow_the_float_graph(graph: Graph, net, hw: HardwareConfig, scales: str, zero_points: str):
    config = QuantizeConfig(scales=scales, zero_points=zero_points)
    quantized = quantize(graph, net.samples(graph, 32), config, hw)
    batch = net.samples(graph, graph.inputs[0].shape[0])
    for found, wanted in zip(evaluate(quantized, batch), evaluate(graph, batch), strict=True):
        assert relative_error(found, wanted) < (0.05 if scales == "real" else 0.08)


@pytest.mark.parametrize(
    "config",
    [
        QuantizeConfig(),
        QuantizeConfig(scales="power_of_two"),
        QuantizeConfig(multipliers=True),
        QuantizeConfig(zero_points="all"),
        QuantizeConfig(zero_points="all", scales="power_of_two"),
        QuantizeConfig(zero_points="all", multipliers=True),
    ],
)
def test_lowered_graph_gives_the_same_bits(graph: Graph, net, hw: HardwareConfig, config: QuantizeConfig):
    quantized = quantize(graph, net.samples(graph, 8), config, hw)
    batch = net.samples(graph, graph.inputs[0].shape[0])
    expected = evaluate(with_bounds(quantized), batch)
    for found, wanted in zip(evaluate(lower(quantized, hw), batch), expected, strict=True):
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("scales", ["real", "power_of_two"])
def test_a_target_without_multiplication_gets_none(graph: Graph, net, pynq: HardwareConfig, scales: str):
    config = QuantizeConfig(scales=scales, multipliers=True)
    lowered = lower(quantize(graph, net.samples(graph, 8), config, pynq), pynq)
    assert not [node for node in step_ops(lowered) if node.op == "multiply"]


def test_shifts_and_tensor_multipliers_are_encodable(graph: Graph, net, hw: HardwareConfig):
    lowered = lower(quantize(graph, net.samples(graph, 8), QuantizeConfig(), hw), hw)
    for node in lowered.calls():
        if node.op == "right_shift":
            assert 0 <= node.inputs[1].value.min() <= node.inputs[1].value.max() <= 15
        if node.op == "add" and node.inputs[1].op == "multiply":
            factor = node.inputs[1].inputs[1].value
            assert 1 <= factor.min() <= factor.max() <= 2**14


def test_default_keeps_first_convolution_and_softmax_in_float(net, sim: HardwareConfig):
    quantized = quantize(residual_net(net), None, QuantizeConfig(), sim)
    floats = [(node.op, node.name) for node in quantized.calls() if node.dtype == "float32"]
    assert floats == [
        ("nn.conv2d", "stem"),
        ("nn.bias_add", "stem"),
        ("nn.relu", "stem_relu"),
        ("qnn.dequantize", "fc"),
        ("nn.softmax", "softmax"),
    ]


def test_residual_is_added_to_the_accumulators(net, hw: HardwareConfig):
    graph = residual_net(net)
    quantized = quantize(graph, net.samples(graph, 8), QuantizeConfig(), hw)
    additions = [node for node in quantized.calls() if node.op == "qnn.add"]
    assert [node.inputs[0].dtype for node in additions] == ["int32", "int32"]
    assert integer_ops(quantized)["qnn.requantize"] == 3


def test_final_dense_is_not_rounded_to_int8(net, sim: HardwareConfig):
    quantized = quantize(residual_net(net), None, QuantizeConfig(), sim)
    last = next(node for node in quantized.calls() if node.op == "qnn.dequantize")
    assert last.inputs[0].dtype == "int32"


def test_layers_can_be_left_in_float_by_index_and_name(net, sim: HardwareConfig):
    config = QuantizeConfig(skip_conv_layers=(), skip_layers=("a1", "fc"))
    quantized = quantize(residual_net(net), None, config, sim)
    assert [n.name for n in quantized.calls() if n.op in ("nn.conv2d", "nn.dense")] == ["a1", "fc"]
    config = replace(config, skip_conv_layers=(1, 3), skip_layers=(), skip_dense=True)
    quantized = quantize(residual_net(net), None, config, sim)
    assert [n.name for n in quantized.calls() if n.op in ("nn.conv2d", "nn.dense")] == ["a1", "b_shortcut", "fc"]


def test_everything_skipped_is_the_float_graph(graph: Graph, net, sim: HardwareConfig):
    config = QuantizeConfig(skip_conv_layers=tuple(range(99)), skip_dense=True)
    quantized = quantize(graph, None, config, sim)
    assert integer_ops(quantized) == {}
    batch = net.samples(graph, graph.inputs[0].shape[0])
    for found, wanted in zip(evaluate(quantized, batch), evaluate(graph, batch), strict=True):
        assert np.array_equal(found, wanted)


def test_what_a_concatenation_joins_has_one_scale(net, sim: HardwareConfig):
    graph = branching_net(net)
    quantized = quantize(graph, net.samples(graph, 8), QuantizeConfig(), sim)
    scales = tensor_scales(quantized)
    concat = next(node for node in quantized.calls() if node.op == "concatenate")
    assert len({scales[source] for source in concat.inputs}) == 1
    assert all(source.op in ("clip", "nn.max_pool2d", "qnn.quantize") for source in concat.inputs)


def test_power_of_two_scales(graph: Graph, net, hw: HardwareConfig):
    quantized = quantize(graph, net.samples(graph, 8), QuantizeConfig(scales="power_of_two"), hw)
    pools = ("qnn.avg_pool2d", "qnn.global_avg_pool2d")
    odd = any(node.op in pools for node in quantized.calls())
    for scale in tensor_scales(quantized).values():
        assert odd or float(np.log2(scale)).is_integer()


def test_global_scale_is_the_range_of_every_activation(net, sim: HardwareConfig):
    config = QuantizeConfig(calibration="global_scale", global_scale=4.0, scales="power_of_two")
    quantized = quantize(residual_net(net), None, config, sim)
    assert set(tensor_scales(quantized).values()) == {4.0 / 128}


def test_an_extreme_layer_still_quantizes(net, hw: HardwareConfig):
    """Channels of zero, tiny and huge weights in one layer."""
    data = graph_input("data", (1, 4, 6, 6))
    weight = net.rng.normal(0, 0.3, (6, 4, 3, 3))
    weight *= np.array([0, 1e-9, 1e-3, 1, 30, 1e3]).reshape(-1, 1, 1, 1)
    value = call("nn.conv2d", [data, constant(weight.astype(np.float32))], "wild", padding=(1, 1, 1, 1))
    value = call("add", [value, net.conv(data, 6, "tame", relu=False)], "sum")
    graph = Graph((data,), (net.conv(value, 3, "after"),))
    config = QuantizeConfig(skip_conv_layers=())
    quantized = quantize(graph, net.samples(graph, 16), config, hw)
    batch = net.samples(graph, 1)
    lowered = evaluate(lower(quantized, hw), batch)[0]
    assert np.array_equal(lowered, evaluate(with_bounds(quantized), batch)[0])
    assert relative_error(lowered, evaluate(graph, batch)[0]) < 0.2


def test_batch_norm_that_follows_an_addition_runs_in_integers(net, hw: HardwareConfig):
    graph = preactivation_net(net)
    lowered = lower(quantize(graph, net.samples(graph, 8), QuantizeConfig(), hw), hw)
    op = "multiply" if hw.capabilities.multiply else "nn.conv2d"
    found = [node.inputs[0].dtype for node in lowered.calls() if node.name == "b_bn" and node.op == op]
    assert found == ["int32" if hw.capabilities.multiply else "int8"]


@pytest.mark.slow
def test_top1_of_real_networks(shared, hw: HardwareConfig):
    """On real images int8 classifies as float does, within one percent."""
    from vta.frontend import load_model
    from vta.passes.canonicalize import canonicalize

    with np.load(shared / "models/data/cifar10_test1000_uint8.npz") as stored:
        images, labels = stored["x"][:100], stored["y"][:100]
    images = images.transpose(0, 3, 1, 2) if images.shape[-1] == 3 else images
    mean, std = np.reshape((0.4914, 0.4822, 0.4465), (1, 3, 1, 1)), np.reshape((0.2023, 0.1994, 0.2010), (1, 3, 1, 1))
    images = ((images / 255 - mean) / std).astype(np.float32)
    for name in ("cifar_resnet20_v1", "cifar_resnet20_v2"):
        graph = canonicalize(load_model(shared / f"models/mxnet/{name}-symbol.json", {"data": (50, 3, 32, 32)}))
        lowered = lower(quantize(graph, {"data": images[:50]}, QuantizeConfig(), hw), hw)
        correct = [0, 0]
        for first in range(0, len(images), 50):
            batch = {"data": images[first : first + 50]}
            for index, which in enumerate((graph, lowered)):
                correct[index] += int((evaluate(which, batch)[0].argmax(axis=1) == labels[first : first + 50]).sum())
        assert correct[1] >= correct[0] - 1


@pytest.mark.parametrize("kind", ["plain", "grouped", "depthwise", "dense", "transposed"])
def test_corrected_biases_leave_no_mean_error(kind: str, net, sim: HardwareConfig):
    """Inputs with a mean, and weights whose rounding errors do not cancel: what is lost on average comes back as a bias."""
    rng = np.random.default_rng(4)
    if kind == "dense":
        data = graph_input("data", (8, 6))
        weight = rng.uniform(0.1, 1, (4, 6)).astype(np.float32)
        value = call("nn.dense", [data, constant(weight)], "layer")
    elif kind == "transposed":
        data = graph_input("data", (8, 6, 9, 9))
        weight = rng.uniform(0.1, 1, (6, 6, 4, 4)).astype(np.float32)
        geometry = {"strides": (2, 2), "padding": (3, 3, 3, 3), "groups": 2}
        value = call("nn.conv2d_transpose", [data, constant(weight)], "layer", **geometry)
    else:
        data = graph_input("data", (8, 6, 9, 9))
        groups = {"plain": 1, "grouped": 2, "depthwise": 6}[kind]
        weight = rng.uniform(0.1, 1, (12, 6 // groups, 3, 3)).astype(np.float32)
        padding = (2, 0, 1, 1) if kind == "plain" else (0, 0, 0, 0)
        value = call("nn.conv2d", [data, constant(weight)], "layer", groups=groups, padding=padding)
    graph = Graph((data,), (value,))
    batch = {"data": rng.uniform(1, 2, data.shape).astype(np.float32)}
    errors = []
    for corrected in (False, True):
        config = QuantizeConfig(skip_conv_layers=(), bias_correction=corrected, calibration="max")
        found = evaluate(quantize(graph, batch, config, sim), batch)[0]
        axes = tuple(axis for axis in range(found.ndim) if axis != 1)
        errors.append(np.abs((found - evaluate(graph, batch)[0]).mean(axis=axes)).max())
    assert errors[1] < errors[0] / 2


def test_an_output_that_is_a_moved_function_is_real_though_integers_read_it_too(net, sim: HardwareConfig):
    x = graph_input("x", (1, 3, 8, 8))
    body = net.conv(x, 8, "body")
    chance = call("sigmoid", [net.conv(body, 1, "found", relu=False)], "chance")
    last = net.conv(call("concatenate", [chance, body], "joined", axis=1), 2, "reader", relu=False)
    graph = Graph((x,), (call("reshape", [chance], "flat", newshape=(1, 64)), last))
    quantized = quantize(graph, net.samples(graph, 4), QuantizeConfig(), sim)
    moved = quantized.outputs[0]
    assert [moved.op, moved.inputs[0].op, moved.inputs[0].inputs[0].op] == ["reshape", "sigmoid", "qnn.dequantize"]
    assert {"qnn.lookup", "qnn.conv2d"} <= {node.op for node in quantized.calls()}


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("join", ["add", "multiply", "concatenate"])
def test_values_that_are_always_zero_have_scales_like_those_around_them(net, hw: HardwareConfig, size: float, join: str):
    data = graph_input("data", (1, 3, 8, 8))
    first = constant((size * net.rng.normal(0, 0.5, (8, 3, 1, 1))).astype(np.float32))
    live = call("nn.conv2d", [data, first], "live")
    dead = call("nn.relu", [call("nn.conv2d", [live, constant(np.zeros((8, 8, 1, 1), np.float32))], "dead")], "relu")
    joined = call(join, [live, dead], "join")
    weight = constant(net.rng.normal(0, 0.3, (5, joined.shape[1], 1, 1)).astype(np.float32))
    graph = Graph((data,), (call("nn.conv2d", [joined, weight], "last"),))
    quantized = quantize(graph, net.samples(graph, 8), QuantizeConfig(skip_conv_layers=()), hw)
    batch = net.samples(graph, 1)
    found, wanted = evaluate(quantized, batch), evaluate(graph, batch)
    assert relative_error(found[0], wanted[0]) < 0.05 if join != "multiply" else not found[0].any()
    np.testing.assert_array_equal(evaluate(lower(quantized, hw), batch)[0], found[0])


@pytest.mark.parametrize(
    "config",
    [
        QuantizeConfig(calibration="max"),
        QuantizeConfig(calibration="max", scales="power_of_two"),
        QuantizeConfig(calibration="max", multipliers=True),
    ],
)
@pytest.mark.parametrize("join", ["add", "multiply", "nn.matmul", "layer"])
def test_a_result_of_which_next_to_nothing_was_seen_is_no_error(hw: HardwareConfig, config: QuantizeConfig, join: str):
    left, right = (
        graph_input("left", (1, 16, 1, 16)),
        graph_input("right", (1, 16, 16, 1) if join == "nn.matmul" else (1, 16, 1, 16)),
    )
    sides = [
        call("nn.conv2d", [side, constant(np.eye(16, dtype=np.float32).reshape(16, 16, 1, 1))], side.name)
        for side in (left, right)
    ]
    if join == "layer":
        weight = np.tile(np.eye(16, dtype=np.float32), 2).reshape(16, 32, 1, 1)
        joined = call("nn.conv2d", [call("concatenate", sides, "both", axis=1), constant(weight)], join)
    else:
        joined = call(join, sides, join)
    last = call("nn.conv2d", [joined, constant(np.ones((4, 16, 1, 1), np.float32))], "last")
    graph = Graph((left, right), (last,))
    large = np.zeros((4, 16, 1, 16), np.float32)
    large[..., :8] = np.random.default_rng(0).normal(0, 1, (4, 16, 1, 8))
    other = {"add": -large, "layer": -large}.get(join, large[..., ::-1]) + np.float32(1e-9)
    samples = {"left": large, "right": other.reshape(4, *right.shape[1:])}
    quantized = quantize(graph, samples, replace(config, skip_conv_layers=()), hw)
    batch = {name: value[:1] for name, value in samples.items()}
    found = evaluate(with_bounds(quantized), batch)[0]
    assert np.abs(found).max() < 1
    np.testing.assert_array_equal(evaluate(lower(with_bounds(quantized), hw), batch)[0], found)


def test_a_hard_swish_that_is_an_output_and_read_by_a_layer(net, hw: HardwareConfig):
    data = graph_input("data", (1, 3, 8, 8))
    swish = call("nn.hard_swish", [net.conv(data, 8, "first", relu=False)], "swish")
    graph = Graph((data,), (net.conv(swish, 4, "second", relu=False), swish))
    quantized = quantize(graph, net.samples(graph, 8), QuantizeConfig(skip_conv_layers=()), hw)
    batch = net.samples(graph, 1)
    for found, wanted in zip(evaluate(quantized, batch), evaluate(graph, batch), strict=True):
        assert relative_error(found, wanted) < 0.05


def net_with_strange_values(net, bias: float, activation: str) -> Graph:
    """A layer whose values before its activation are far from zero, one that reads it, and a sum of both."""
    data = graph_input("data", (1, 3, 8, 8))
    weight = constant(net.rng.normal(0, 1, (4, 3, 3, 3)).astype(np.float32))
    conv = call("nn.conv2d", [data, weight], "conv", padding=(1, 1, 1, 1))
    moved = call("nn.bias_add", [conv, constant(np.full(4, bias, np.float32))], "bias")
    bounds = {"a_min": 0.0, "a_max": 6.0} if activation == "clip" else {}
    active = call(f"nn.{activation}" if activation == "relu" else activation, [moved], "active", **bounds)
    read = net.conv(active, 4, "reads", size=1)
    return Graph((data,), (call("nn.relu", [call("add", [read, active], "sum")], "last"),))


@pytest.mark.parametrize("activation", ["relu", "clip"])
@pytest.mark.parametrize("bias", [0.0, -1e6, -3e38, 3e38, -np.inf])
def test_values_between_are_looked_at_only_where_it_matters(monkeypatch, net, hw: HardwareConfig, bias: float, activation: str):
    graph = net_with_strange_values(net, bias, activation)
    samples, found = net.samples(graph, 4), []
    for looks in (False, True):
        if looks:
            whole = quantizer.calibrate
            monkeypatch.setattr(quantizer, "calibrate", lambda *given, whole=whole, **named: whole(*given[:7], **named))
        try:
            quantized = quantize(graph, samples, QuantizeConfig(equalize="none"), hw)
        except VTAError as error:
            found.append(str(error))
        else:
            found.append([(str(node.attrs), None if node.value is None else node.value.tobytes()) for node in quantized.nodes()])
    assert found[0] == found[1]


def test_values_before_sums_get_their_ranges_where_sums_need_them(monkeypatch, net, hw: HardwareConfig):
    graph, calls, found = residual_net(net), [], []
    samples, whole = net.samples(graph, 8), quantizer.calibrate

    def counted(*given, **named):
        calls.append(len(given[3]))
        return whole(*given, **named)

    def bytes_of(quantized: Graph) -> list:
        return [(str(node.attrs), None if node.value is None else node.value.tobytes()) for node in quantized.nodes()]

    monkeypatch.setattr(quantizer, "calibrate", counted)
    quantize(graph, samples, QuantizeConfig(equalize="none"), hw)
    assert len(calls) == 1
    monkeypatch.setattr(quantizer.Rewriter, "_fused_sum", lambda *given: False)
    found.append(bytes_of(quantize(graph, samples, QuantizeConfig(equalize="none"), hw)))
    assert len(calls) == 3
    monkeypatch.setattr(quantizer, "calibrate", lambda *given, **named: whole(*given[:7], **named))
    found.append(bytes_of(quantize(graph, samples, QuantizeConfig(equalize="none"), hw)))
    assert found[0] == found[1]
