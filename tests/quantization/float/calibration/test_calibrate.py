from __future__ import annotations

import numpy as np
import pytest

from vta.errors import CompileError, UsageError
from vta.ir.graph import Graph, call, graph_input
from vta.quantization import QuantizeConfig, calibrate
from vta.quantization.float.calibration.calibrate import ChannelMeans, batches_of


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
        ({"data": np.ones((3, 3))}, r"for input 'data' has shape \(3, 3\), no samples of float32\[1, 2\]"),
        ({"data": np.float32(1)}, r"for input 'data' has shape \(\), no samples of"),
        ({"data": np.array([[1, 2], [3, np.nan]])}, r"for input 'data' is nan at \[1, 1\]"),
    ],
)
def test_wrong_data_is_refused(data: dict, message: str):
    with pytest.raises(UsageError, match=message):
        list(batches_of(relu_graph(1), data))


def test_means_are_of_channels_over_all_batches():
    graph = relu_graph(2)
    data = np.array([[1, -8], [2, 0], [5, 1], [4, 3]], np.float32)
    means = ChannelMeans([graph.outputs[0], *graph.inputs])
    calibrate(graph, batches_of(graph, {"data": data}), QuantizeConfig(), [], observers=[means])
    found = {node.name: value.tolist() for node, value in means.values().items()}
    assert found == {"act": [3.0, 1.0], "data": [3.0, -1.0]}


@pytest.mark.parametrize("shape", [(6, 5), (6, 3, 1, 1), (6, 4, 7, 9), (6, 2, 32, 32)])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_means_do_not_depend_on_what_comes_together(shape: tuple[int, ...], dtype: str):
    node = graph_input("x", shape, dtype)
    values = (np.random.default_rng(0).standard_normal(shape) * 30).astype(dtype)
    found = []
    for batches in (1, 2, 6):
        means = ChannelMeans([node])
        for part in np.split(values, 6 // batches):
            means.add(node, part, batches)
        found.append(means.values()[node])
    np.testing.assert_allclose(found[0], values.mean(axis=(0, *range(2, len(shape))), dtype=np.float64), rtol=1e-13)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_what_was_never_seen_has_no_mean():
    assert ChannelMeans(relu_graph(1).outputs).values() == {}


def mixed_graph(shape: tuple[int, ...]) -> Graph:
    data, gain = graph_input("data", (2, 3, 4)), graph_input("gain", shape)
    return Graph((data, gain), (call("multiply", [data, gain], "scaled"),))


@pytest.mark.parametrize(
    ("shape", "samples", "second"),
    [((), (3,), 1.0), ((), (), 0.0), ((4,), (3, 4), 4.0), ((3, 1), (3, 3, 1), 3.0), ((3, 1), (3, 1), 0.0), ((1,), (3,), 1.0)],
)
def test_inputs_without_a_batch_axis(shape: tuple, samples: tuple, second: float):
    """One value for each batch, along an axis of its own, or one for all; `second` is the first number of the second batch."""
    data = {"data": np.zeros((6, 3, 4), np.float32), "gain": np.arange(np.prod(samples, dtype=int), dtype=np.float32)}
    data["gain"] = data["gain"].reshape(samples)
    batches = list(batches_of(mixed_graph(shape), data))
    assert len(batches) == 3
    assert all(batch["gain"].shape == shape for batch in batches)
    assert batches[1]["gain"].reshape(-1)[0] == second
    assert list(calibrate(mixed_graph(shape), batches, QuantizeConfig(calibration="max")).values())[2] == 0.0


def test_different_numbers_of_batches_are_refused():
    data = {"data": np.zeros((6, 3, 4), np.float32), "gain": np.zeros(2, np.float32)}
    with pytest.raises(UsageError, match=r"different numbers of batches: \{'data': 3, 'gain': 2\}"):
        list(batches_of(mixed_graph(()), data))


def test_a_value_that_is_nan_is_named_with_the_infinite_input_behind_it():
    data = graph_input("data", (1, 2))
    graph = Graph((data,), (call("subtract", [data, data], "difference"),))
    batch = {"data": np.array([[1, np.inf]], np.float32)}
    with pytest.raises(CompileError, match=r"layer 'difference': subtract gives nan .*; its input 'data' is inf at \[0, 1\]"):
        calibrate(graph, [batch], QuantizeConfig(), graph.outputs)


def test_the_range_of_what_is_infinite_is_infinite():
    graph = relu_graph(1)
    ranges = calibrate(graph, [{"data": np.array([[3, -np.inf]], np.float32)}], QuantizeConfig())
    assert list(ranges.values()) == [np.inf, pytest.approx(3, rel=0.01)]


def test_what_is_inner_has_a_range_only_where_it_is_infinite():
    x = graph_input("x", (1, 4))
    total = call("add", [x, x], "sum")
    relu = call("nn.relu", [total], "relu")
    graph = Graph((x,), (relu,))
    for lowest, wanted in ((-3.0, {relu: 4.0}), (-np.inf, {relu: 4.0, total: np.inf})):
        batch = {"x": np.array([[2, 1, 0, lowest]], np.float32)}
        assert calibrate(graph, [batch], QuantizeConfig(calibration="max"), [total, relu], inner=[total]) == wanted


def test_an_inner_value_that_is_nan_is_named():
    x = graph_input("x", (1, 2))
    total = call("subtract", [x, x], "difference")
    relu = call("nn.relu", [total], "relu")
    batch = {"x": np.array([[np.inf, 1]], np.float32)}
    with pytest.raises(CompileError, match="'difference': subtract gives nan"):
        calibrate(Graph((x,), (relu,)), [batch], QuantizeConfig(), [total, relu], inner=[total])
