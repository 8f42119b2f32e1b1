"""Spaces of tiles: numbers and positions, what is left out, and that every tile computes the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.autotune.host.measure import HostJob, prepared_call
from vta.autotune.host.task import data_layout, host_tasks
from vta.host.kernels.values import without_blocks
from vta.host.llvm.target import host_target
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate_node
from vta.records.host.workload import node_of

TARGET = host_target()
KINDS = ("knob", "itervar", "curve")


def task(channels=32, outputs=32, size=(6, 9), kernel=3, stride=1, depthwise=False):
    """The task of one convolution."""
    data = graph_input("data", (1, channels, *size))
    shape = (channels if depthwise else outputs, 1 if depthwise else channels, kernel, kernel)
    weight = constant(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    groups = channels if depthwise else 1
    padding = (kernel // 2,) * 4
    node = call("nn.conv2d", [data, weight], "conv", strides=(stride,) * 2, padding=padding, groups=groups)
    (found,) = host_tasks(Graph((data,), (node,)), TARGET)
    return found


CONVOLUTIONS = [
    {},
    {"channels": 3, "kernel": 5, "stride": 2},
    {"channels": 48, "outputs": 24, "kernel": 1},
    {"channels": 40, "depthwise": True, "stride": 2},
]


@pytest.mark.parametrize("sizes", CONVOLUTIONS, ids=str)
def test_numbers_and_positions_are_inverse(sizes):
    space = task(**sizes).space
    numbers = np.arange(space.size)
    np.testing.assert_array_equal(space.numbers(space.positions(numbers)), numbers)
    assert len({space.schedule(int(number)) for number in numbers}) == space.size
    assert all(space.find(space.schedule(int(number))) == number for number in numbers[:20])
    assert space.size + sum(space.rejected.values()) == np.prod(space.dims)


@pytest.mark.parametrize("sizes", CONVOLUTIONS, ids=str)
def test_the_model_s_tiles_are_in_the_space(sizes):
    found = task(**sizes)
    assert found.space.find(found.default()) is not None
    assert all(found.space.find(tile) is not None for tile in found.shape.best_tiles(TARGET, 6))


@pytest.mark.parametrize("kind", KINDS)
def test_features_have_the_same_columns_for_all_tasks(kind):
    widths = set()
    for sizes in CONVOLUTIONS:
        found = task(**sizes)
        features = found.features(kind, np.arange(min(5, found.space.size)))
        assert np.isfinite(features).all()
        widths.add(features.shape[1])
    assert len(widths) == 1


@given(st.sampled_from(CONVOLUTIONS), st.integers(0, 1 << 20))
@settings(max_examples=8, deadline=None)
def test_every_tile_computes_the_convolution(sizes, number):
    found = task(**sizes)
    tile = found.space.schedule(number % found.space.size)
    got = prepared_call(HostJob(found.workload, TARGET, tile)).run()
    node = node_of(found.workload)
    data = np.random.default_rng(0).standard_normal(_stored_shape(node)).astype(np.float32)
    plain = without_blocks(data, node.inputs[0].shape) if data_layout(node, TARGET).block else data
    want = evaluate_node(node, [plain, node.inputs[1].value])
    assert np.abs(without_blocks(got, node.shape) - want).max() <= 1e-5 * np.abs(want).max()


def _stored_shape(node):
    batch, channels, *size = node.inputs[0].shape
    block = data_layout(node, TARGET).block
    return (batch, -(-channels // block), *size, block) if block else node.inputs[0].shape
