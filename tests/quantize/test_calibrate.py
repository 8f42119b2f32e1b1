from __future__ import annotations

import numpy as np
import pytest

from vta.errors import UsageError
from vta.ir.graph import Graph, call, graph_input
from vta.quantize import QuantizeConfig, calibrate
from vta.quantize.calibrate import ChannelMeans, batches_of


def relu_graph(batch: int) -> Graph:
    data = graph_input("data", (batch, 2))
    return Graph((data,), (call("nn.relu", [data], "act"),))


def test_ranges_are_of_all_batches():
    graph = relu_graph(2)
    data = np.array([[1, -8], [2, 0], [5, 1], [3, 3]], np.float32)
    seen: list[int] = []
    config = QuantizeConfig(calibration="max")
    ranges = calibrate(graph, batches_of(graph, {"data": data}), config, progress=seen.append)
    assert {node.name: value for node, value in ranges.items()} == {"data": 8.0, "act": 5.0}
    assert seen == [1, 2]


def test_only_what_is_asked_for_is_observed():
    graph = relu_graph(1)
    ranges = calibrate(graph, [{"data": np.ones((1, 2), np.float32)}], QuantizeConfig(), graph.outputs)
    assert list(ranges) == list(graph.outputs)


def test_global_scale_needs_no_run():
    ranges = calibrate(relu_graph(1), [], QuantizeConfig(calibration="global_scale", global_scale=3.0))
    assert list(ranges.values()) == [3.0, 3.0]


def test_last_batch_repeats_samples():
    batches = list(batches_of(relu_graph(3), {"data": np.arange(8).reshape(4, 2).astype(np.float32)}))
    assert [batch["data"][:, 0].tolist() for batch in batches] == [[0, 2, 4], [6, 0, 2]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"other": np.ones((1, 2))}, "has no input 'data'; it has: other"),
        ({}, "has no input 'data'; it has: none"),
        ({"data": np.ones((0, 2))}, "for input 'data' is empty"),
    ],
)
def test_wrong_data_is_refused(data: dict, message: str):
    with pytest.raises(UsageError, match=message):
        list(batches_of(relu_graph(1), data))


def test_means_are_of_channels_over_all_batches():
    graph = relu_graph(2)
    data = np.array([[1, -8], [2, 0], [5, 1], [4, 3]], np.float32)
    means = ChannelMeans([graph.outputs[0], *graph.inputs])
    calibrate(graph, batches_of(graph, {"data": data}), QuantizeConfig(), [], observers=[means.add])
    found = {node.name: value.tolist() for node, value in means.values().items()}
    assert found == {"act": [3.0, 1.0], "data": [3.0, -1.0]}


def test_what_was_never_seen_has_no_mean():
    assert ChannelMeans(relu_graph(1).outputs).values() == {}
