"""Canonical networks as ONNX files: what is read back computes the same."""

import numpy as np
import onnx
import pytest

from benchmarks.onnx_export import exported
from vta.frontend import load_model
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.passes.canonicalize import canonicalize

RNG = np.random.default_rng(0)


def weights(*shape):
    return constant(RNG.standard_normal(shape).astype(np.float32))


def biased(node, channels):
    return call("nn.bias_add", [node, weights(channels)], f"{node.name}_biased", axis=1)


@pytest.fixture
def network():
    """A network of layers and functions."""
    x = graph_input("x", (1, 8, 8, 3), "float32")
    image = call("transpose", [x], "image", axes=(0, 3, 1, 2))
    image = biased(call("multiply", [image, weights(1, 3, 1, 1)], "scaled"), 3)
    wide = biased(call("nn.conv2d", [image, weights(8, 3, 3, 3)], "wide", strides=(1, 2), padding=(1, 0, 1, 2)), 8)
    bounded = call("clip", [wide], "bounded", a_min=0.0, a_max=6.0)
    each = call("nn.conv2d", [bounded, weights(8, 1, 3, 3)], "each", padding=(1, 1, 1, 1), groups=8)
    total = call("nn.relu", [call("add", [each, bounded], "total")], "positive")
    largest = call("nn.max_pool2d", [total], "largest", pool_size=(3, 2), padding=(1, 0, 1, 1))
    mean = call("nn.avg_pool2d", [largest], "mean", pool_size=(2, 2), strides=(2, 2))
    flat = call("nn.batch_flatten", [call("nn.global_avg_pool2d", [mean], "all")], "flat")
    scores = biased(call("nn.dense", [flat, weights(5, 8)], "scores"), 5)
    return Graph((x,), (call("nn.softmax", [scores], "shares"),))


@pytest.fixture
def moves():
    """A network of two outputs that pads, joins and turns."""
    x = graph_input("x", (1, 8, 8, 3), "float32")
    image = call("transpose", [x], "image", axes=(0, 3, 1, 2))
    wider = call("nn.pad", [image], "wider", pad_width=((0, 0), (0, 5), (0, 0), (1, 2)), pad_value=0.5)
    largest = call("nn.max_pool2d", [wider], "largest", pool_size=(2, 3), strides=(2, 1), padding=(0, 1, 0, 1))
    joined = call("concatenate", [largest, call("nn.prelu", [largest, weights(8)], "sloped")], "joined", axis=3)
    turned = call("nn.matmul", [joined, weights(joined.shape[3], 4)], "turned")
    return Graph((x,), (turned, call("nn.relu", [largest], "positive")))


def test_moves_and_all_outputs_are_read_back(moves, tmp_path):
    onnx.save(exported(moves, "network"), tmp_path / "net.onnx")
    back = load_model(tmp_path / "net.onnx")
    inputs = {"x": RNG.standard_normal((1, 8, 8, 3)).astype(np.float32)}
    for want, got in zip(evaluate(moves, inputs), evaluate(back, inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_a_network_is_read_back(network, tmp_path):
    model = exported(network, "network")
    onnx.save(model, tmp_path / "net.onnx")
    back = canonicalize(load_model(tmp_path / "net.onnx"))
    assert len(list(back.calls())) == len(list(network.calls()))
    inputs = {"x": RNG.standard_normal((1, 8, 8, 3)).astype(np.float32)}
    (want,), (got,) = evaluate(network, inputs), evaluate(back, inputs)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_constants_are_written_once(network):
    model = exported(network, "network")
    names = [tensor.name for tensor in model.graph.initializer]
    read = [name for node in model.graph.node for name in node.input]
    assert sorted(name for name in read if name in names) == sorted(names)


def test_other_operators_are_refused():
    x = graph_input("x", (1, 4), "float32")
    with pytest.raises(ValueError, match="wave: sin is not written as ONNX"):
        exported(Graph((x,), (call("sin", [x], "wave"),)), "network")


def test_a_layer_is_read_with_its_bias_alone():
    x = graph_input("x", (1, 4), "float32")
    layer = call("nn.dense", [x, weights(4, 4)], "layer")
    with pytest.raises(ValueError, match="layer: read with its bias and without"):
        exported(Graph((x,), (call("add", [biased(layer, 4), layer], "both"),)), "network")


def test_another_quantiser_takes_the_same_samples(network):
    pytest.importorskip("onnxruntime")
    from benchmarks.quantization_peer import PEERS, Peer

    images = RNG.standard_normal((6, 8, 8, 3)).astype(np.float32)
    wanted = np.concatenate([evaluate(network, {"x": image[None]})[0] for image in images])
    peer = Peer(exported(network, "network"), "x", images)
    np.testing.assert_allclose(peer.float_outputs(images)[0], wanted, rtol=1e-4, atol=1e-6)
    for way in PEERS:
        noise = peer.outputs(way, images)[0] - wanted
        assert 0 < np.abs(noise).max() < 0.1
