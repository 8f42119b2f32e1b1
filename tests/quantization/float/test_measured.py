"""What stays in float is measured where nobody said it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from tests.quantization.nets import NetBuilder
from tests.split_processes import run_program
from vta.ir.arithmetic.decibels import decibels
from vta.ir.diagnostics import KEPT_IN_FLOAT, NOT_EQUALIZED, ZERO_POINTS, Diagnostics
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.passes.canonicalize import canonicalize
from vta.quantization import QuantizeConfig
from vta.quantization.float import measured
from vta.quantization.float.measured import with_measured_layers
from vta.quantization.float.quantizer import quantize
from vta.quantization.float.suspects import noisiest_layers


def network(channels=3, spread=1.0):
    """Two convolutions; channels of the input differ by up to `spread`, which one scale for all of them cannot hold."""
    net = NetBuilder(0)
    x = graph_input("x", (1, channels, 8, 8))
    first = net.conv(x, 8, "first")
    scales = np.geomspace(1, spread, channels).astype(np.float32)
    first.inputs[0].inputs[0].inputs[1].value.setflags(write=True)
    first.inputs[0].inputs[0].inputs[1].value[:] *= scales[::-1, None, None]
    samples = {"x": net.samples(Graph((x,), (first,)), 6)["x"] * scales[:, None, None]}
    return Graph((x,), (net.conv(first, 4, "last", relu=False),)), samples


def chosen(graph, samples, **settings):
    said = Diagnostics()
    return with_measured_layers(graph, samples, QuantizeConfig(**settings), BASELINE, said), said.of(KEPT_IN_FLOAT)


@pytest.mark.parametrize(("spread", "kept"), [(1.0, ()), (3e4, (0,))])
def test_the_first_convolution_stays_in_float_where_that_pays(spread, kept):
    config, said = chosen(*network(spread=spread))
    assert config.skip_conv_layers == kept
    assert ("stays in float" if kept else "is quantised") in said["first"].text
    assert "dB with it in int8" in said["first"].text


def test_what_is_good_in_int8_is_not_tried_in_float(monkeypatch):
    tried = []
    noise = measured.Trials.noise
    monkeypatch.setattr(measured.Trials, "noise", lambda self, config: tried.append(config) or noise(self, config))
    _, said = chosen(*network())
    assert [config.skip_conv_layers for config in tried] == [()]
    assert re.fullmatch(r"the first convolution is quantised: [3-9]\d\.\d dB with it in int8", said["first"].text)


@pytest.mark.parametrize(("spread", "kept"), [(1.0, ()), (3e4, (0,))])
def test_another_process_that_tries_it_in_float_changes_nothing(spread, kept):
    """It is asked where int8 is noisy, and ended where that is good."""
    code = f"""
from tests.quantization.float.test_measured import chosen, measured, network
allow_second_process()
measured._WORTH_SPLITTING = 0
config, said = chosen(*network(spread={spread}))
assert no_child_is_left()
print(*config.skip_conv_layers, said["first"].text.split(":")[0])
"""
    _, said = chosen(*network(spread=spread))
    assert " ".join(run_program(code)) == " ".join([*map(str, kept), said["first"].text.split(":")[0]])


@pytest.mark.parametrize("count", [9_000_000, 11_000_000])
def test_a_first_convolution_that_is_most_of_a_large_network_is_quantised(count, monkeypatch):
    """Its work would be the host's."""
    graph, samples = network(spread=3e4)
    monkeypatch.setattr(measured, "macs_of", lambda node: count if node is graph.calls()[0] else count // 20)
    config, said = chosen(graph, samples)
    text = said["first"].text
    if count > 10_000_000:
        assert (config.skip_conv_layers, config.skip_layers) == ((), ())
        assert text.startswith("the first convolution is quantised, as it is most of the network: ")
    else:
        assert config.skip_conv_layers == (0,)
        assert text.startswith("the first convolution stays in float: ")


@pytest.mark.parametrize(("products", "tried"), [(100, 16), (16_000_000, 5), (400_000_000, 4)])
def test_small_networks_are_tried_on_more_samples(products, tried, monkeypatch):
    graph, samples = network()
    samples = {"x": np.concatenate([samples["x"]] * 5)}
    monkeypatch.setattr(measured, "macs_of", lambda node: products if node is graph.calls()[0] else 0)
    assert len(measured._Choice(graph, samples, BASELINE, Diagnostics()).batches) == tried


def test_what_a_sample_behind_the_first_ones_shows_counts():
    """Four samples of one channel alone, and then others of which one scale holds all channels badly."""
    graph, samples = network(spread=3e4)
    quiet = samples["x"][:4].copy()
    quiet[:, 1:] = 0
    first = {"x": quiet}
    both = {"x": np.concatenate([quiet, samples["x"]])}
    assert chosen(graph, first)[0].skip_conv_layers == ()
    assert chosen(graph, both)[0].skip_conv_layers == (0,)


def test_what_is_given_is_not_measured():
    for given in ((), (0,), (1,)):
        config, said = chosen(*network(), skip_conv_layers=given)
        assert (config.skip_conv_layers, said) == (given, {})


@pytest.mark.parametrize(("channels", "kept"), [(3, (0,)), (16, ())])
def test_without_data_one_that_reads_an_image_stays_in_float(channels, kept):
    assert chosen(network(channels)[0], None)[0].skip_conv_layers == kept


def heads(*hard):
    """A body and a head for each of `hard`: where it says so, one whose weights int8 loses.

    Each row of such a head has a weight for a channel that is always 0, a thousand times as large as the others: the scale that
    holds it leaves nothing of those.
    """
    net = NetBuilder(1)
    x = graph_input("x", (1, 3, 8, 8))
    body = net.conv(x, 8, "body")
    bias = body.inputs[0].inputs[1].value
    bias.setflags(write=True)
    bias[0] = -1e6
    outputs = []
    for at, lost in enumerate(hard):
        weight = net.rng.standard_normal((4, 8, 1, 1)).astype(np.float32)
        weight[:, 0] *= 1000 if lost else 1
        outputs.append(call("nn.conv2d", [body, constant(weight)], f"head{at}"))
    return Graph((x,), tuple(outputs)), net.samples(Graph((x,), (outputs[0],)), 4)


def test_a_noisy_output_gets_its_last_layer_in_float():
    graph, samples = heads(True, False)
    config, said = chosen(graph, samples)
    assert config.skip_layers == ("head0",)
    before, after = map(float, re.findall(r"(-?[0-9.]+) dB", said["head0"].text))
    assert before < 10
    assert after > 30
    assert "head1" not in said
    graph = quantize(graph, samples, config, BASELINE)
    kept = {node.name for node in graph.calls() if node.op == "nn.conv2d"}
    assert kept == {"head0"}


def test_who_names_layers_is_not_asked():
    graph, samples = heads(True, False)
    config, said = chosen(graph, samples, skip_conv_layers=())
    assert (config.skip_layers, said) == ((), {})


def boxes_beside_scores():
    """The end of a detector: boxes in pixels and scores are joined, and scaled for each channel."""
    net = NetBuilder(2)
    x = graph_input("x", (1, 3, 8, 8))
    body = net.conv(x, 8, "body")
    boxes = call("multiply", [net.conv(body, 4, "boxes", relu=False), constant(np.float32(200).reshape(1, 1, 1, 1))], "stride")
    scores = call("sigmoid", [net.conv(body, 6, "scores", relu=False)], "chances")
    joined = call("concatenate", [boxes, scores], "joined", axis=1)
    factors = net.rng.uniform(0.9, 1.1, (1, 10, 1, 1)).astype(np.float32)
    graph = Graph((x,), (call("multiply", [joined, constant(factors)], "found"),))
    return canonicalize(graph), net.samples(graph, 4)


def test_scores_that_share_a_tensor_with_boxes_keep_their_head_in_float():
    graph, samples = boxes_beside_scores()
    image = {"x": samples["x"][:1]}
    (wanted,) = evaluate(graph, image)

    def noise(config):
        (got,) = evaluate(quantize(graph, samples, config, BASELINE), image)
        return decibels(wanted, got), decibels(wanted[:, 4:], got[:, 4:])

    whole, scores = noise(QuantizeConfig(skip_conv_layers=()))
    assert whole > 25, "the tensor as a whole hides it"
    assert scores < 5
    config, said = chosen(graph, samples)
    assert set(config.skip_layers) == {"boxes", "scores"}
    assert said["scores"].text.startswith("stays in float, as output 0 has ")
    assert noise(config)[1] > 25


def test_a_spectrum_before_a_logarithm_stays_in_float():
    net = NetBuilder(3)
    x = graph_input("x", (1, 8, 8, 8))
    body = net.conv(x, 8, "body")
    spectrum = net.conv(body, 8, "spectrum")
    scales = np.geomspace(1, 1e-4, 8).astype(np.float32).reshape(1, 8, 1, 1)
    spread = call("multiply", [spectrum, constant(scales)], "spread")
    joined = call(
        "concatenate", [spread, call("multiply", [spread, constant(np.float32(0.5).reshape(1, 1, 1, 1))], "half")], axis=1
    )
    pooled = call("nn.max_pool2d", [joined], "pool", pool_size=(2, 2), strides=(2, 2))
    loud = call("log", [call("add", [pooled, constant(np.float32(1e-6).reshape(1, 1, 1, 1))], "floor")], "loud")
    graph = canonicalize(Graph((x,), (net.conv(loud, 4, "last", relu=False),)))
    config, said = chosen(graph, net.samples(graph, 4))
    assert {"body", "spectrum"} <= set(config.skip_layers)
    assert "last" not in config.skip_layers
    assert "stays in float before a logarithm" in said["spectrum"].text


def test_a_layer_in_the_middle_that_costs_much_stays_in_float():
    net = NetBuilder(1)
    x = graph_input("x", (1, 16, 8, 8))
    body = net.conv(x, 8, "body")
    bias = body.inputs[0].inputs[1].value
    bias.setflags(write=True)
    bias[0] = -1e6
    weight = net.rng.standard_normal((4, 8, 1, 1)).astype(np.float32)
    weight[:, 0] *= 1000
    middle = call("nn.relu", [call("nn.conv2d", [body, constant(weight)], "middle")], "middle_relu")
    graph = Graph((x,), (net.conv(middle, 4, "last", relu=False),))
    config, said = chosen(graph, net.samples(graph, 4))
    assert config.skip_layers == ("middle",)
    assert said["middle"].text.startswith("stays in float, as the noisiest output has ")


def separable(deep=2):
    """Depthwise layers, behind rectifiers, and a head."""
    net = NetBuilder(4)
    x = graph_input("x", (1, 3, 8, 8))
    value = net.conv(x, 8, "stem")
    for at in range(deep):
        value = net.conv(net.conv(value, 8, f"depthwise{at}", groups=8), 8, f"pointwise{at}", size=1)
    return Graph((x,), (net.conv(value, 4, "head", relu=False),)), net.samples(Graph((x,), (value,)), 6)


def noise_of(graph, samples, config):
    batches = [{"x": each[None]} for each in samples["x"][:4]]
    wanted, got = (
        np.stack([evaluate(g, batch)[0] for batch in batches]) for g in (graph, quantize(graph, samples, config, BASELINE))
    )
    return decibels(wanted, got)


def test_zero_points_stay_where_they_help():
    graph, samples = separable()
    said = Diagnostics()
    config = with_measured_layers(graph, samples, QuantizeConfig(), BASELINE, said)
    assert config.zero_points == "measured"
    assert said.of(ZERO_POINTS)["head"].text.startswith("zero points are kept: ")
    assert noise_of(graph, samples, config) > noise_of(graph, samples, replace(config, zero_points="none")) + 1


def test_zero_points_are_left_out_where_an_output_is_less_noisy_without(monkeypatch):
    graph, samples = separable()
    tried = measured.Trials.noise

    def noisy(trials, config):
        return [value - 20 * (config.zero_points != "none") for value in tried(trials, config)]

    monkeypatch.setattr(measured.Trials, "noise", noisy)
    said = Diagnostics()
    config = with_measured_layers(graph, samples, QuantizeConfig(), BASELINE, said)
    assert config.zero_points == "none"
    assert said.of(ZERO_POINTS)["head"].text.startswith("zero points are left out: ")


@pytest.mark.parametrize("given", ["none", "depthwise", "all"])
def test_zero_points_that_are_given_are_not_measured(given):
    graph, samples = separable(1)
    said = Diagnostics()
    config = with_measured_layers(graph, samples, QuantizeConfig(zero_points=given), BASELINE, said)
    assert (config.zero_points, said.of(ZERO_POINTS)) == (given, {})


def test_without_depthwise_layers_there_is_nothing_to_measure():
    said = Diagnostics()
    with_measured_layers(*network(), QuantizeConfig(), BASELINE, said)
    assert said.of(ZERO_POINTS) == {}


def deep(lost):
    """More layers than are tried one by one; the one called `lost` has weights that int8 loses."""
    net = NetBuilder(5)
    x = graph_input("x", (1, 16, 8, 8))
    value = net.conv(x, 8, "layer0")
    bias = value.inputs[0].inputs[1].value
    bias.setflags(write=True)
    bias[0] = -1e6
    weight = net.rng.standard_normal((8, 8, 1, 1)).astype(np.float32)
    weight[:, 0] *= 1000
    lossy = net.bias(call("nn.conv2d", [value, constant(weight)], lost), f"{lost}_bias")
    value = call("nn.relu", [lossy], f"{lost}_relu")
    for at in range(1, 13):
        value = net.conv(value, 8, f"layer{at}", size=1)
    return Graph((x,), (net.conv(value, 4, "last", relu=False),)), net.samples(Graph((x,), (value,)), 4)


def test_in_a_large_network_the_layer_that_is_noisy_by_itself_stays_in_float():
    graph, samples = deep("lost")
    config, said = chosen(graph, samples)
    assert config.skip_layers == ("lost",)
    assert said["lost"].text.startswith("stays in float, as the noisiest output has ")
    assert noisiest_layers(graph, samples, QuantizeConfig(skip_conv_layers=()), BASELINE, 5.0)[0] == "lost"


def channels_of_two_layers(seed: int, spread: float) -> tuple[Graph, np.ndarray]:
    """A depthwise layer behind another one, and samples of which each has large values in a few channels alone.

    Channels differ by `spread` in all samples.
    """
    rng, channels = np.random.default_rng(seed), 24
    data = graph_input("x", (1, channels, 4, 4))
    pass_on = constant(np.eye(channels, dtype=np.float32).reshape(channels, channels, 1, 1))
    value = call("nn.relu", [call("nn.conv2d", [data, pass_on], "first")], "first")
    weight = rng.uniform(0.5, 1, (channels, 1, 1, 1)).astype(np.float32)
    graph = Graph((data,), (call("nn.conv2d", [value, constant(weight)], "second", groups=channels),))
    levels = np.geomspace(1, 1 / spread, channels)[:, None, None]
    if spread == 1:
        levels = np.where(rng.uniform(size=(16, channels, 1, 1)) < 0.1, 1.0, 0.02)
    return graph, (levels * np.abs(rng.standard_normal((16, channels, 4, 4)))).astype(np.float32)


@pytest.mark.parametrize("count", [4, 16])
def test_channels_are_evened_out_where_that_pays(count):
    graph, samples = channels_of_two_layers(0, 300)
    said = Diagnostics()
    config = with_measured_layers(graph, {"x": samples[:count]}, QuantizeConfig(), BASELINE, said)
    assert config.equalize == "measured"
    assert not said.of(NOT_EQUALIZED)


def test_channels_stay_as_they_are_where_samples_that_were_held_out_are_less_noisy_so():
    """What two samples show of channels is cut off in others, where these are large."""
    graph, samples = channels_of_two_layers(0, 1)
    said = Diagnostics()
    config = with_measured_layers(graph, {"x": samples[:4]}, QuantizeConfig(), BASELINE, said)
    assert config.equalize == "none"
    (entry,) = said.of(NOT_EQUALIZED).values()
    even, plain = map(float, re.findall(r"(-?[0-9.]+) dB", entry.text))
    assert plain > even
    others = {"x": samples[4:5]}

    def noise(chosen):
        return decibels(evaluate(graph, others)[0], evaluate(quantize(graph, {"x": samples[:4]}, chosen, BASELINE), others)[0])

    quantized = QuantizeConfig(skip_conv_layers=())
    assert noise(replace(quantized, equalize="none")) > noise(quantized)


def test_what_is_given_of_channels_is_not_measured():
    graph, samples = channels_of_two_layers(0, 1)
    for equalize in ("none", "depthwise", "all"):
        said = Diagnostics()
        config = with_measured_layers(graph, {"x": samples[:4]}, QuantizeConfig(equalize=equalize), BASELINE, said)
        assert (config.equalize, said.of(NOT_EQUALIZED)) == (equalize, {})


def test_one_sample_says_nothing_of_others():
    graph, samples = channels_of_two_layers(0, 1)
    assert with_measured_layers(graph, {"x": samples[:1]}, QuantizeConfig(), BASELINE, Diagnostics()).equalize == "measured"


@pytest.mark.parametrize(
    ("op", "attributes"),
    [("reshape", {"newshape": (1, 24, 16)}), ("reshape", {"newshape": (1, -1)}), ("transpose", {"axes": (0, 2, 3, 1)})],
)
@pytest.mark.parametrize("chances", [False, True])
def test_outputs_behind_moves_are_measured_as_they_are_before_them(op, attributes, chances):
    """Heads of detectors and classifiers: what is measured may have other axes than the output."""
    plain, samples = channels_of_two_layers(0, 1)
    head = call(op, [plain.outputs[0]], op, **attributes)
    if len(head.shape) == 2:
        head = call("reshape", [call("nn.relu", [head], "rows")], "apart", newshape=(1, 24, 16))
    graph = Graph(plain.inputs, (call("sigmoid", [head], "chances") if chances else head,))
    said = Diagnostics()
    assert with_measured_layers(graph, {"x": samples[:4]}, QuantizeConfig(), BASELINE, said).equalize == "none"
    (entry,) = said.of(NOT_EQUALIZED).values()
    assert entry.text.startswith("channels are left as they are: ")
