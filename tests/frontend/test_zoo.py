"""Built-in networks."""

from __future__ import annotations

import numpy as np
import pytest

from vta.errors import UsageError
from vta.frontend import built_in, built_in_names
from vta.frontend.mxnet import read_symbol
from vta.frontend.zoo import resnet_symbol
from vta.ir.interpreter import walk


@pytest.mark.parametrize("name", ["resnet18_v1", "resnet50_v1", "resnet18_v2", "resnet50_v2"])
def test_activations_stay_in_range(name):
    shape = (1, 3, 32, 32)
    graph = built_in(name, {"data": shape})
    data = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for node, value in walk(graph, {"data": data}):
        if node.is_call:
            assert 0.02 < np.sqrt(np.mean(np.square(value))) < 50, node


def test_defaults():
    graph = built_in("resnet18_v1")
    assert graph.name == "resnet18_v1"
    assert [(node.name, node.shape) for node in graph.inputs] == [("data", (1, 3, 224, 224))]
    assert graph.outputs[0].shape == (1, 1000)
    assert sum(node.op == "nn.conv2d" for node in graph.calls()) == 20


def test_convolutions_have_the_published_sizes():
    graph = built_in("resnet18_v1")
    macs = sum(
        int(np.prod(node.shape)) * int(np.prod(node.inputs[1].shape[1:])) for node in graph.calls() if node.op == "nn.conv2d"
    )
    assert macs == 1_813_561_344


def test_the_generator_grows_noise_to_an_image():
    graph = built_in("dcgan")
    assert [(node.name, node.shape) for node in graph.inputs] == [("data", (1, 100, 1, 1))]
    layers = [node for node in graph.calls() if node.op == "nn.conv2d_transpose"]
    sizes = [(1024, 4, 4), (512, 8, 8), (256, 16, 16), (128, 32, 32), (3, 64, 64)]
    assert [node.shape for node in layers] == [(1, *size) for size in sizes]
    assert graph.outputs[0].op == "tanh"


def test_names():
    residual = ["resnet18_v1", "resnet34_v1", "resnet50_v1", "resnet18_v2", "resnet34_v2", "resnet50_v2"]
    assert built_in_names() == [*residual, "squeezenet1.1", "u_net", "tiny_yolo", "dcgan"]


def test_other_names_are_refused():
    with pytest.raises(UsageError, match="no built-in network is called 'vgg'; there are resnet18_v1,"):
        built_in("vgg")


def test_same_structure_as_the_file_that_gluon_saves(shared):
    ours, theirs = resnet_symbol(18, 1), read_symbol(shared / "models/mxnet/resnet18_v1-symbol.json")
    assert ours.heads == theirs.heads
    for mine, other in zip(ours.nodes, theirs.nodes, strict=True):
        assert (mine.op, mine.name, mine.inputs) == (other.op, other.name, other.inputs)
        assert mine.op == "null" or mine.attrs == other.attrs
