"""Float activations, pads and pools of quantised networks: near the float ones, exact on the device, and where they run."""

import numpy as np
import pytest

from tests.engines import open_engine
from tests.integer_graphs import BASELINE, CONFIGS
from tests.quantization.nets import NetBuilder
from vta.compiler.compile import compile_model
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.quantization import QuantizeConfig
from vta.runtime import Module

PYNQ = next(hw for hw in CONFIGS if hw.target == "pynq")
TARGETS = pytest.mark.parametrize("hw", [BASELINE, PYNQ], ids=["multiplies", "pynq"])


def silu(value):
    return call("multiply", [value, call("sigmoid", [value], "act")], "act")


def prelu(value):
    slopes = np.linspace(0.05, 0.4, value.shape[1]).astype(np.float32)
    return call("nn.prelu", [value, constant(slopes)], "act")


def unary(op, **attributes):
    return lambda value: call(op, [value], "act", **attributes)


def padded(fill):
    return lambda value: call("nn.pad", [value], "act", pad_width=((0, 0), (0, 0), (1, 0), (2, 1)), pad_value=fill)


def number(value):
    return constant(np.float32(value))


def swish_and_more(value):
    """What is done to a hard swish is part of it."""
    swish = call("divide", [call("multiply", [value, call("clip", [three(value)], "act", a_min=0, a_max=6)], "act"), number(6)])
    return call("add", [call("multiply", [number(1.7), swish], "act"), number(0.3)], "act")


def three(value):
    return call("add", [value, number(3)], "act")


def gelu(value):
    inner = call("erf", [call("multiply", [value, number(0.5**0.5)], "act")], "act")
    return call("multiply", [call("multiply", [value, call("add", [inner, number(1)], "act")], "act"), number(0.5)], "act")


def gated(value):
    """Squeeze and excite: a factor for each channel, computed from the means of all."""
    net = NetBuilder(9)
    squeezed = net.conv(call("nn.global_avg_pool2d", [value], "squeeze"), 4, "down", size=1)
    gate = call("nn.hard_sigmoid", [net.conv(squeezed, value.shape[1], "up", size=1, relu=False)], "gate", alpha=0.2, beta=0.5)
    return call("multiply", [value, gate], "act")


def product(value):
    return call("multiply", [value, call("nn.relu", [NetBuilder(8).conv(value, value.shape[1], "other")], "act")], "act")


ACTIVATIONS = {
    "leaky": unary("nn.leaky_relu", alpha=0.1),
    "leaky by a shift": unary("nn.leaky_relu", alpha=0.125),
    "prelu": prelu,
    "relu6": unary("clip", a_min=0.0, a_max=6.0),
    "hard swish": unary("nn.hard_swish"),
    "hard sigmoid": unary("nn.hard_sigmoid", alpha=1 / 6, beta=0.5),
    "sigmoid": unary("sigmoid"),
    "tanh": unary("tanh"),
    "elu": unary("nn.elu", alpha=1.0),
    "silu": silu,
    "hard swish and more": swish_and_more,
    "gelu": gelu,
    "squeeze and excite": gated,
    "product": product,
    "pad": padded(1.5),
    "pad with zeros": padded(0.0),
    "largest": unary("nn.global_max_pool2d"),
    "asymmetric maximum": unary("nn.max_pool2d", pool_size=(2, 3), padding=(0, 0, 1, 2)),
}

ALWAYS_ON_VTA = {
    "leaky",
    "leaky by a shift",
    "prelu",
    "relu6",
    "hard sigmoid",
    "pad",
    "pad with zeros",
    "largest",
    "asymmetric maximum",
}


SWISHES, PRODUCTS = {"hard swish", "hard swish and more"}, {"squeeze and excite", "product"}
TAKE_MUL = SWISHES | PRODUCTS


def network(act, residual=False):
    """Two convolutions with an activation between; with a residual before it, or not."""
    net = NetBuilder(3)
    x = graph_input("x", (1, 12, 10, 9))
    start = net.conv(x, 16, "first", relu=False)
    value = net.conv(start, 16, "second", relu=False)
    if residual:
        value = call("add", [value, start], "sum")
    return net, Graph((x,), (net.conv(act(value), 8, "last", size=1, relu=False),))


def compiled_for(act, hw, residual=False):
    net, graph = network(act, residual)
    quantize = QuantizeConfig(skip_conv_layers=())
    module = compile_model(graph, hw, calibration=net.samples(graph, 16), quantize=quantize, least_gain=0)
    return graph, module, net.samples(graph, 1)


@TARGETS
@pytest.mark.parametrize("residual", [False, True], ids=["", "after a residual"])
@pytest.mark.parametrize("act", ACTIVATIONS)
def test_results_follow_the_float_network_and_are_exact(act, residual, hw):
    graph, module, inputs = compiled_for(ACTIVATIONS[act], hw, residual)
    (want,), (got,) = evaluate(graph, inputs), evaluate(module.graph, inputs)
    assert np.linalg.norm(want - got) / np.linalg.norm(want) < 0.06
    with Module(module, open_engine("sim", hw)) as loaded:
        report = loaded.check(inputs)
        np.testing.assert_array_equal(loaded.run(inputs).outputs[0], got)
    assert report.bit_exact, str(report.mismatch)


def host_operators(module):
    """What the host computes between the borders."""
    left = {placement.op for placement in module.placements if placement.where == "host"}
    return left - {"qnn.quantize", "qnn.dequantize", "nn.windows"}


@TARGETS
@pytest.mark.parametrize("act", ACTIVATIONS)
def test_where_they_run(act, hw):
    _, module, _ = compiled_for(ACTIVATIONS[act], hw)
    if act in ALWAYS_ON_VTA or (act in TAKE_MUL and hw.capabilities.multiply):
        assert host_operators(module) == set()
        assert len(module.regions) == 1
    elif act in PRODUCTS:
        assert "multiply" in host_operators(module)
    else:
        # One integer table, or the integers of a hard swish: nothing is computed in float.
        assert host_operators(module) == ({"qnn.hard_swish"} if act in SWISHES else {"qnn.lookup"})


@pytest.mark.parametrize("act", ["leaky", "prelu", "hard swish", "hard swish and more", "hard sigmoid"])
def test_they_are_part_of_the_layer_before_where_the_target_multiplies(act):
    _, module, _ = compiled_for(ACTIVATIONS[act], BASELINE)
    assert [record.kind for record in module.regions[0].operators] == ["conv2d"] * 3


def test_a_slope_that_is_a_shift_is_part_of_the_layer_on_every_target():
    _, module, _ = compiled_for(ACTIVATIONS["leaky by a shift"], PYNQ)
    assert [record.kind for record in module.regions[0].operators] == ["conv2d"] * 3


def test_negative_values_are_not_cut_before_a_slope():
    """Small positive values with large negative ones: what is stored after the slope has a fine scale."""
    rng = np.random.default_rng(0)
    x = graph_input("x", (1, 4, 4, 4))
    weight = np.abs(rng.standard_normal((4, 4, 1, 1))).astype(np.float32)
    value = call("nn.conv2d", [x, constant(weight)], "conv")
    value = call("nn.leaky_relu", [value], "leaky", alpha=0.1)
    graph = Graph((x,), (call("nn.conv2d", [value, constant(np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1))], "last"),))
    samples = {"x": rng.uniform(-4, 0.1, (32, 4, 4, 4)).astype(np.float32)}
    for hw in (BASELINE, PYNQ):
        module = compile_model(graph, hw, calibration=samples, quantize=QuantizeConfig(skip_conv_layers=(), calibration="max"))
        inputs = {"x": samples["x"][:1]}
        (want,), (got,) = evaluate(graph, inputs), evaluate(module.graph, inputs)
        assert np.linalg.norm(want - got) / np.linalg.norm(want) < (0.03 if hw is BASELINE else 0.08)


@pytest.mark.parametrize("counts_padding", [True, False])
def test_averages_with_padding(counts_padding):
    """Where the padding counts, all windows divide by the same number: a sum on VTA. Else the host divides."""
    average = unary("nn.avg_pool2d", pool_size=(3, 3), strides=(2, 2), padding=(1, 1, 1, 1), count_include_pad=counts_padding)
    graph, module, inputs = compiled_for(average, BASELINE)
    assert host_operators(module) == (set() if counts_padding else {"nn.avg_pool2d"})
    (want,), (got,) = evaluate(graph, inputs), evaluate(module.graph, inputs)
    assert np.linalg.norm(want - got) / np.linalg.norm(want) < 0.06


def test_means_over_height_and_width_are_sums_on_vta():
    _, module, _ = compiled_for(unary("nn.global_avg_pool2d"), BASELINE)
    assert host_operators(module) == set()


def test_a_rectifier_at_the_end_stays_float():
    net = NetBuilder(1)
    x = graph_input("x", (1, 12, 6, 6))
    for act in (ACTIVATIONS["leaky"], prelu):
        graph = Graph((x,), (act(net.conv(x, 20, "conv", relu=False)),))
        module = compile_model(graph, BASELINE, quantize=QuantizeConfig(skip_conv_layers=()))
        assert host_operators(module) <= {"nn.leaky_relu", "nn.prelu"}
        (got,) = evaluate(module.graph, net.samples(graph, 1))
        assert got.dtype == np.float32
