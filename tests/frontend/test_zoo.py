"""Built-in networks."""

from __future__ import annotations

import numpy as np
import pytest

from vta.errors import UsageError
from vta.frontend import built_in, built_in_names
from vta.frontend.mxnet import read_symbol
from vta.frontend.zoo import resnet_symbol
from vta.ir.interpreter import walk


@pytest.mark.parametrize(
    ("name", "size"),
    [
        *(("resnet18_v1", 32), ("resnet50_v1", 32), ("resnet18_v2", 32), ("resnet50_v2", 32)),
        *(("mobilenet0.25", 64), ("squeezenet1.1", 64), ("resnet8", 32), ("inceptionv3", 96)),
    ],
)
def test_activations_stay_in_range(name, size):
    shape = (1, 3, size, size)
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


@pytest.mark.parametrize(
    ("name", "convolutions", "macs"),
    [
        ("resnet18_v1", 20, 1_813_561_344),
        ("mobilenet1.0", 27, 567_716_352),
        ("squeezenet1.1", 26, 349_151_936),
        ("inceptionv3", 94, 5_711_168_096),
        ("resnet8", 9, 12_500_992),
    ],
)
def test_convolutions_have_the_published_sizes(name, convolutions, macs):
    found = [node for node in built_in(name).calls() if node.op == "nn.conv2d"]
    assert len(found) == convolutions
    assert sum(int(np.prod(node.shape)) * int(np.prod(node.inputs[1].shape[1:])) for node in found) == macs


def test_vgg_has_the_published_number_of_parameters():
    made = {node: node for call in built_in("vgg16").calls() for node in call.inputs if not node.is_call and node.op != "input"}
    assert sum(int(np.prod(node.shape)) for node in made) == 138_357_544


def test_images_have_the_size_of_the_network():
    sizes = {name: built_in(name).inputs[0].shape[2] for name in ("resnet8", "squeezenet1.1", "inceptionv3")}
    assert sizes == {"resnet8": 32, "squeezenet1.1": 224, "inceptionv3": 299}


def test_the_generator_grows_noise_to_an_image():
    graph = built_in("dcgan")
    assert [(node.name, node.shape) for node in graph.inputs] == [("data", (1, 100, 1, 1))]
    layers = [node for node in graph.calls() if node.op == "nn.conv2d_transpose"]
    sizes = [(1024, 4, 4), (512, 8, 8), (256, 16, 16), (128, 32, 32), (3, 64, 64)]
    assert [node.shape for node in layers] == [(1, *size) for size in sizes]
    assert graph.outputs[0].op == "tanh"


def test_names():
    residual = ["resnet18_v1", "resnet34_v1", "resnet50_v1", "resnet18_v2", "resnet34_v2", "resnet50_v2"]
    others = ["mobilenet1.0", "mobilenet0.5", "mobilenet0.25", "vgg16", "inceptionv3", "resnet8", "dcgan"]
    assert built_in_names() == [*residual, "squeezenet1.1", "u_net", "tiny_yolo", *others]


def test_other_names_are_refused():
    with pytest.raises(UsageError, match="no built-in network is called 'vgg'; there are resnet18_v1,"):
        built_in("vgg")


def test_same_structure_as_the_file_that_gluon_saves(shared):
    ours, theirs = resnet_symbol(18, 1), read_symbol(shared / "models/mxnet/resnet18_v1-symbol.json")
    assert ours.heads == theirs.heads
    for mine, other in zip(ours.nodes, theirs.nodes, strict=True):
        assert (mine.op, mine.name, mine.inputs) == (other.op, other.name, other.inputs)
        assert mine.op == "null" or mine.attrs == other.attrs
