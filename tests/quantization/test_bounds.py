from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE
from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.quantization import accumulator_bound, overflow_warnings
from vta.quantization.bounds import added_constant, interval


def dense(weight: np.ndarray, name: str = "fc"):
    data = graph_input("x", (1, weight.shape[1]), "int8")
    return data, call("nn.dense", [data, constant(weight)], name)


def test_dense_bound_is_the_heaviest_row():
    _, value = dense(np.array([[1, -2, 3], [10, 0, 0]], np.int8))
    assert accumulator_bound(value) == 1280


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_no_value_exceeds_its_bound(seed: int):
    rng = np.random.default_rng(seed)
    data = graph_input("x", (1, 4, 4, 4), "int8")
    value = call("nn.conv2d", [data, constant(rng.integers(-127, 128, (3, 4, 2, 2), dtype=np.int8))])
    steps = [value, call("nn.bias_add", [value, constant(rng.integers(-9999, 9999, 3, dtype=np.int32))])]
    steps.append(call("multiply", [steps[-1], constant(rng.integers(-5, 6, (1, 3, 1, 1), dtype=np.int32))]))
    steps.append(call("right_shift", [steps[-1], constant(np.int32(rng.integers(0, 9)))]))
    steps.append(call("clip", [steps[-1]], a_min=-1000, a_max=500))
    outputs = evaluate(Graph((data,), tuple(steps)), {"x": rng.choice(np.array([-128, 127], np.int8), data.shape)})
    for node, output in zip(steps, outputs, strict=True):
        assert np.abs(output.astype(np.int64)).max() <= accumulator_bound(node)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["up", "tflite", "tflite_once"]))
@settings(deadline=None, max_examples=30)
def test_no_rescaled_value_exceeds_its_bound(seed: int, rounding: str):
    rng = np.random.default_rng(seed)
    data, value = dense(rng.integers(-127, 128, (5, 7), dtype=np.int8))
    scales = tuple(rng.uniform(1e-6, 3.0, 5).tolist())
    attributes = {"input_scale": scales, "output_scale": 0.7, "out_dtype": "int32", "rounding": rounding}
    made = call("qnn.requantize", [value], output_zero_point=int(rng.integers(-9, 9)), **attributes)
    (found,) = evaluate(Graph((data,), (made,)), {"x": rng.choice(np.array([-128, 127], np.int8), data.shape)})
    assert np.abs(found.astype(np.int64)).max() <= accumulator_bound(made) < 2**31


def test_products_of_sixteen_bits_fit(sim: HardwareConfig):
    parts = [call("cast", [graph_input(name, (1, 4), "int16")], dtype="int32") for name in "ab"]
    assert overflow_warnings(Graph(tuple(part.inputs[0] for part in parts), (call("multiply", parts),)), sim) == []


def test_a_sum_beyond_sixteen_bits_is_warned_of(sim: HardwareConfig):
    data, value = dense(np.full((1, 64), 127, np.int8))
    narrow = replace(sim, log_acc_width=4, log_acc_buff_size=16)
    graph = Graph((data,), (value,))
    assert [str(entry) for entry in overflow_warnings(graph, narrow)] == [
        "fc: nn.dense may reach 1040384, but 16-bit accumulators hold at most 32767; larger values wrap"
    ]
    assert overflow_warnings(graph, sim) == []


def test_what_is_only_moved_is_not_warned_of(sim: HardwareConfig):
    """Of an integer of 32 bits all values are its own, as of the indices that a host computes."""
    index = graph_input("x", (2, 3), "int32")
    moved = call("reshape", [call("transpose", [index], "turned", axes=(1, 0))], "apart", newshape=(6,))
    assert overflow_warnings(Graph((index,), (moved,)), sim) == []
    (warning,) = overflow_warnings(
        Graph((index,), (call("reshape", [call("add", [moved, moved], "sum")], "back", newshape=(2, 3)),)), sim
    )
    assert warning.layer == "sum"


def test_the_worst_step_of_each_layer_is_named(sim: HardwareConfig):
    data, value = dense(np.full((1, 2), 100, np.int8))
    value = call("add", [value, constant(np.int32(-20000))], "fc")
    narrow = replace(sim, log_acc_width=4, log_acc_buff_size=16)
    (warning,) = overflow_warnings(Graph((data,), (value,)), narrow)
    assert str(warning).startswith("fc: add may reach 45600,")


def test_intervals_follow_the_signs_of_the_weights():
    x = graph_input("x", (1, 3), "int8")
    weight = constant(np.array([[1, 2, -3], [-1, 0, 0]], np.int8))
    product = call("qnn.dense", [x, weight], "fc", input_scale=1.0, kernel_scale=1.0, input_zero_point=-128)
    least, most = interval(call("nn.bias_add", [product, constant(np.array([10, 20], np.int32))], "fc"))
    assert least.tolist() == [10 - 3 * 255, 20 - 255]
    assert most.tolist() == [10 + 3 * 255, 20]
    assert [int(end[0]) for end in interval(x)] == [-128, 127]
    wide = call("cast", [x], "wide", dtype="int32")
    assert [int(end[0]) for end in interval(wide)] == [-128, 128]


def test_layers_that_wrap_by_design_are_not_warned_of():
    x = graph_input("x", (1, 16), "int8")
    wide = call("cast", [x], "wide", dtype="int32")
    big = call("multiply", [wide, constant(np.int32(2**30))], "layer")
    graph = Graph((x,), (big,))
    assert len(overflow_warnings(graph, BASELINE)) == 1
    assert overflow_warnings(graph, BASELINE, {"layer"}) == []


def test_sums_keep_their_bound_where_they_are_only_renamed(sim: HardwareConfig):
    x = graph_input("x", (2, 3, 4), "int8")
    rows = call("reshape", [x], "rows", newshape=(6, 4))
    sums = call("nn.dense", [rows, constant(np.int8([[1, 2, 3, 4], [9, 9, 9, 9]]))], "dense")
    moved = call("transpose", [call("reshape", [sums], "back", newshape=(2, 3, 2))], "turned", axes=(2, 0, 1))
    assert accumulator_bound(moved) == accumulator_bound(sums) == 36 * 128
    assert overflow_warnings(Graph((x,), (moved,)), sim) == []


def test_only_constants_by_channel_are_added_constants():
    value = graph_input("x", (3, 4, 4), "int32")
    for shape, found in (((), True), ((4, 1), True), ((4,), False), ((1, 1, 4), False), ((3, 1, 1), False)):
        total = call("add", [value, constant(np.ones(shape, np.int32))])
        assert (added_constant(total) is not None) == found, shape
