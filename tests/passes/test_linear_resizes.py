"""Images that grow linearly by a whole factor: transposed convolutions of each channel, in one region with the layers around."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tflite_models import Tflite, random_values, reference
from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.frontend.tflite import import_tflite
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.passes.linear_resizes import growth_of, resizes_as_convolutions
from vta.runtime.module import Module
from vta.testing.tflite_model import conv_options

CHANNELS = 3


def weights(size, factor, centered):
    """The matrix of linear interpolation, in which what would lie beyond the ends is as they are."""
    shift = 0.5 if centered else 0.0
    place = np.clip((np.arange(size * factor) + shift) / factor - shift, 0, size - 1)
    low = np.minimum(place.astype(np.int64), size - 2)
    matrix = np.zeros((size * factor, size))
    rows = np.arange(size * factor)
    matrix[rows, low], matrix[rows, low + 1] = 1 - (place - low), place - low
    return matrix


def network(rows, columns, *, after=True):
    """A layer, an image that grows, and perhaps a layer."""
    rng = np.random.default_rng(0)
    layer = constant(rng.standard_normal((CHANNELS, CHANNELS, 1, 1)).astype(np.float32))
    x = graph_input("x", (1, CHANNELS, rows.shape[1], columns.shape[1]))
    value = call(ops.CONV2D, [x, layer], "first")
    value = call(ops.MATMUL, [constant(rows.astype(np.float32)), value], "resize")
    value = call(ops.MATMUL, [value, constant(np.ascontiguousarray(columns.T).astype(np.float32))], "resize")
    return Graph((x,), (call(ops.CONV2D, [value, layer], "second") if after else value,))


def kinds(graph):
    return [node.op for node in graph.calls()]


@settings(max_examples=20, deadline=None)
@given(
    st.tuples(st.integers(3, 7), st.integers(3, 7)),
    st.tuples(st.integers(1, 4), st.integers(2, 5)),
    st.tuples(*[st.booleans()] * 2),
)
def test_what_grows_evenly_is_one_convolution(sizes, factors, centered):
    graph = network(*(weights(*each) for each in zip(sizes, factors, centered, strict=True)))
    found = resizes_as_convolutions(graph)
    assert kinds(found).count(ops.CONV2D_TRANSPOSE) == 1
    assert kinds(found).count(ops.MATMUL) == (factors[0] == 1)
    data = {"x": np.random.default_rng(1).standard_normal(graph.inputs[0].shape).astype(np.float32)}
    np.testing.assert_allclose(evaluate(found, data)[0], evaluate(graph, data)[0], rtol=1e-4, atol=1e-5)


def test_what_is_not_between_layers_or_is_kept_stays():
    grown = weights(4, 2, True)
    for graph, kept in ((network(grown, grown, after=False), ()), (network(grown, grown), ("resize",))):
        assert resizes_as_convolutions(graph, kept).outputs == graph.outputs


@pytest.mark.parametrize(
    "matrix",
    [
        pytest.param(np.eye(4), id="the same"),
        pytest.param(weights(4, 2, True)[:-1], id="a broken factor"),
        pytest.param(np.linspace(0, 1, 32).reshape(8, 4), id="uneven"),
        pytest.param(weights(2, 2, True), id="two elements"),
    ],
)
def test_others_have_no_growth(matrix):
    assert growth_of(matrix) is None


@pytest.mark.parametrize("centered", [False, True])
def test_an_integer_image_grows_on_the_accelerator_to_the_bytes_of_litert(centered):
    pytest.importorskip("ai_edge_litert")
    rng, net = np.random.default_rng(0), Tflite()

    def layer(x, shape, channels):
        weight = net.constant(rng.integers(-127, 128, (20, 1, 1, channels)), scale=0.004)
        y = net.tensor((*shape, 20), scale=0.05, zero=9)
        net.operator("CONV_2D", [x, weight, net.constant(rng.integers(-99, 99, 20), "int32")], y, **conv_options())
        return y

    x = net.tensor((1, 5, 4, 16), scale=0.02, zero=-5, name="x")
    low, grown = layer(x, (1, 5, 4), 16), net.tensor((1, 10, 16, 20), scale=0.05, zero=9)
    size = net.constant(np.array([10, 16]), "int32")
    net.operator("RESIZE_BILINEAR", [low, size], grown, "ResizeBilinearOptions", HalfPixelCenters=centered, AlignCorners=False)
    content = net.build([x], [layer(grown, (1, 10, 16), 20)])
    hw = HardwareConfig.named("sim")
    graph = import_tflite(content)
    compiled, values = compile_model(graph, hw), random_values(graph)
    (region,) = compiled.regions
    assert sum(record.macs for record in region.operators) == compiled.total_macs
    with Module(compiled, SimDevice(hw)) as module:
        np.testing.assert_array_equal(module.run(values).outputs[0], reference(content, *values.values())[0])
