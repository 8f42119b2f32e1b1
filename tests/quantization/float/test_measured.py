"""What stays in float is measured where nobody said it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from tests.quantization.nets import NetBuilder
from vta.ir.diagnostics import KEPT_IN_FLOAT, Diagnostics
from vta.ir.graph import Graph, call, constant, graph_input
from vta.quantization import QuantizeConfig
from vta.quantization.float.measured import with_measured_layers


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


def test_what_is_given_is_not_measured():
    for given in ((), (0,), (1,)):
        config, said = chosen(*network(), skip_conv_layers=given)
        assert (config.skip_conv_layers, said) == (given, {})


@pytest.mark.parametrize(("channels", "kept"), [(3, (0,)), (16, ())])
def test_without_data_one_that_reads_an_image_stays_in_float(channels, kept):
    assert chosen(network(channels)[0], None)[0].skip_conv_layers == kept


def test_a_noisy_output_gets_its_last_layer_in_float():
    """The sum of large values that cancel: what is left is lost in int8, while the other output is not."""
    net = NetBuilder(1)
    x = graph_input("x", (1, 3, 8, 8))
    body = net.conv(x, 8, "body")
    weight = np.zeros((1, 8, 1, 1), np.float32)
    weight[0, :, 0, 0] = [1, -1] * 4
    close = call("nn.conv2d", [body, constant(weight)], "close")
    graph = Graph((x,), (close, net.conv(body, 4, "good", relu=False)))
    config, said = chosen(graph, net.samples(graph, 4))
    assert all(layer in {"close", "body"} for layer in said)
    assert set(config.skip_layers) <= {"close"}
