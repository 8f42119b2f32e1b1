"""Networks that came quantised, brought to weights of which results are shifted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE
from tests.tflite_models import random_values, small_net
from vta.compiler.compile import compile_model, quantize_model
from vta.devices.sim import SimDevice
from vta.frontend.tflite import import_tflite
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.ir.operator import lookup
from vta.quantization import QuantizeConfig
from vta.quantization.lowering.lower import with_bounds
from vta.quantization.requantize.by_shift import by_shifts
from vta.runtime import Module

SHIFT = QuantizeConfig(requantize="shift")
PYNQ = replace(BASELINE, target="pynq")
X = graph_input("x", (1, 6, 9, 7), "int8")


def layer(kind, seed, rounding="tflite", zeros=(3, -7), limits=(-128, 127), data=X, name="layer"):
    """A layer of random weights whose results use the range of int8, with its real weights and scales."""
    rng = np.random.default_rng(seed)
    shape, geometry = {
        "conv": ((5, 6, 3, 2), {"padding": (1, 0, 2, 1), "strides": (2, 1)}),
        "depthwise": ((6, 1, 3, 3), {"groups": 6, "padding": (1, 1, 1, 1)}),
        "grouped": ((4, 3, 2, 2), {"groups": 2}),
        "transposed": ((6, 4, 3, 3), {"strides": (2, 2)}),
        "dense": ((7, 6), {}),
    }[kind]
    weight = rng.integers(-127, 128, shape).astype(np.int8)
    outputs = {"transposed": 4}.get(kind, shape[0])
    kernel = tuple(float(value) for value in rng.uniform(0.001, 0.02, outputs))
    op = {"dense": "qnn.dense", "transposed": "qnn.conv2d_transpose"}.get(kind, "qnn.conv2d")
    product = call(
        op, [data, constant(weight)], name, input_scale=0.05, kernel_scale=kernel, input_zero_point=zeros[0], **geometry
    )
    bias = rng.integers(-3000, 3000, outputs).astype(np.int32)
    total = call("nn.bias_add", [product, constant(bias)], name)
    attributes = {"input_scale": tuple(0.05 * value for value in kernel), "output_scale": 0.23, "output_zero_point": zeros[1]}
    return call("qnn.requantize", [total], name, rounding=rounding, a_min=limits[0], a_max=limits[1], **attributes)


def error_bound(graph):
    """How far each result of a graph of one layer may move, in levels: what the weights lose times the largest input."""
    before = next(node for node in graph.calls() if node.op.split(".")[1] in ("conv2d", "conv2d_transpose", "dense"))
    after = next(node for node in by_shifts(graph)[0].calls() if node.op == before.op)
    lost = [node.inputs[1].value * np.float64(1) for node in (before, after)]
    axis = 1 if before.op.endswith("transpose") else 0
    for place, node in enumerate((before, after)):
        along = [1] * lost[place].ndim
        along[axis] = -1
        lost[place] = lost[place] * np.broadcast_to(node.attrs.kernel_scale, (lost[place].shape[axis],)).reshape(along)
    missing = np.abs(lost[0] - lost[1]).sum(axis=tuple(at for at in range(lost[0].ndim) if at != axis))
    reach = 128 + abs(before.attrs.input_zero_point)
    return missing * before.attrs.input_scale * reach / graph.outputs[0].attrs.output_scale + 1.01


def no_multiplies(graph):
    return all(node.op != "multiply" or node.inputs[0].op == "cast" for node in graph.calls())


@settings(max_examples=40)
@given(
    kind=st.sampled_from(["conv", "depthwise", "grouped", "transposed", "dense"]),
    seed=st.integers(0, 100),
    rounding=st.sampled_from(["tflite", "tflite_once", "even"]),
    zeros=st.tuples(st.integers(-128, 127), st.integers(-128, 127)),
    limits=st.sampled_from([(-128, 127), (-7, 100)]),
)
def test_results_move_by_what_the_weights_lose(kind, seed, rounding, zeros, limits):
    data = graph_input("x", (1, 6), "int8") if kind == "dense" else X
    graph = Graph((data,), (layer(kind, seed, rounding, zeros, limits, data),))
    shifted, said = by_shifts(graph)
    assert [str(entry) for entry in said] == ["layer: weights rounded again, so that its results are shifted"]
    values = random_values(graph, seed)
    want, got = (evaluate(some, values)[0].astype(int) for some in (graph, with_bounds(shifted)))
    bound = error_bound(graph).reshape(1, -1, *(1,) * (want.ndim - 2))
    assert (np.abs(got - want) <= bound).all()
    lowered = quantize_model(graph, PYNQ, quantize=SHIFT)
    assert no_multiplies(lowered)
    np.testing.assert_array_equal(evaluate(lowered, values)[0], got)


def test_kernels_keep_their_sums():
    graph = Graph((X,), (layer("depthwise", 3),))
    before, after = (next(node for node in g.calls() if node.op == "qnn.conv2d") for g in (graph, by_shifts(graph)[0]))
    sums = [
        (node.inputs[1].value.astype(float) * np.reshape(node.attrs.kernel_scale, (-1, 1, 1, 1))).sum(axis=(1, 2, 3))
        for node in (before, after)
    ]
    assert (np.abs(sums[0] - sums[1]) <= 0.5 * np.asarray(after.attrs.kernel_scale) + 1e-9).all()


@pytest.mark.parametrize("kind", ["conv", "depthwise", "transposed"])
def test_with_samples_biases_make_up_for_the_mean(kind):
    graph = Graph((X,), (layer(kind, 5),))
    rng = np.random.default_rng(1)
    means = rng.uniform(-90, 90, (1, 6, 1, 1))
    data = np.clip(means + rng.normal(0, 25, (64, 6, 9, 7)), -128, 127).astype(np.int8)
    with_data, without = by_shifts(graph, {"x": data})[0], by_shifts(graph)[0]

    def mean_error(other):
        differences = [evaluate(other, {"x": x[None]})[0] - evaluate(graph, {"x": x[None]})[0].astype(float) for x in data]
        return np.abs(np.mean(differences, axis=(0, 1, 3, 4))).max()

    assert mean_error(with_data) < 0.1
    assert mean_error(with_data) < mean_error(without)


def test_weights_are_rounded_as_one_asks():
    graph = Graph((X,), (layer("conv", 5),))
    cause = np.random.default_rng(1).normal(0, 25, (64, 1, 9, 7))
    data = np.clip(cause + np.random.default_rng(2).normal(0, 5, (64, 6, 9, 7)), -128, 127).astype(np.int8)
    ways = ("nearest", "compensated", "adaround")
    made = [by_shifts(graph, {"x": data}, rounding=way)[0] for way in ways]
    weights = [next(node for node in one.calls() if node.op == "qnn.conv2d").inputs[1].value for one in made]
    errors = [
        np.mean([(evaluate(one, {"x": x[None]})[0] - evaluate(graph, {"x": x[None]})[0].astype(float)) ** 2 for x in data[:16]])
        for one in made
    ]
    assert (weights[1] != weights[2]).any()
    assert errors[2] <= errors[0] * 1.05


def test_a_sum_is_taken_of_the_accumulators():
    data = graph_input("x", (1, 6, 8, 8), "int8")
    first, second = (layer("depthwise", seed, data=data, name=f"layer{seed}") for seed in (1, 2))
    scales = {"lhs_scale": 0.23, "rhs_scale": 0.23, "output_scale": 0.4}
    zeros = {"lhs_zero_point": -7, "rhs_zero_point": -7, "output_zero_point": 5}
    graph = Graph((data,), (call("qnn.add", [first, second], "sum", rounding="tflite", a_min=-100, **scales, **zeros),))
    shifted, said = by_shifts(graph)
    assert {entry.layer for entry in said} == {"layer1", "layer2", "sum"}
    (addition,) = (node for node in shifted.calls() if node.op == "qnn.add")
    assert addition.inputs[0].dtype == "int32"
    values = random_values(graph, 0)
    difference = evaluate(shifted, values)[0] - evaluate(graph, values)[0].astype(float)
    assert np.abs(difference).max() <= 4
    assert np.abs(difference).mean() < 0.7


def test_a_layer_that_others_read_too_keeps_its_results():
    first, second = (layer("depthwise", seed, name=f"layer{seed}") for seed in (1, 2))
    scales = {"lhs_scale": 0.23, "rhs_scale": 0.23, "output_scale": 0.4}
    graph = Graph((X,), (call("qnn.add", [first, second], "sum", rounding="tflite", **scales), first, second))
    assert {entry.layer for entry in by_shifts(graph)[1]} == {"layer1", "layer2"}


@pytest.mark.parametrize("op", ["qnn.global_avg_pool2d", "qnn.avg_pool2d", "qnn.requantize"])
def test_averages_and_changes_of_scale_need_no_multiplier(op):
    more = {"pool_size": (3, 2), "strides": (2, 2)} if op == "qnn.avg_pool2d" else {}
    scales = {"input_scale": 0.3, "output_scale": 0.3 if more else 0.21, "input_zero_point": -20}
    node = call(op, [X], "a", rounding="tflite", output_zero_point=-20 if more else 11, a_max=90, **scales, **more)
    graph = Graph((X,), (node,))
    assert by_shifts(graph)[1] == []
    shifted, said = by_shifts(graph, multiplies=False)
    assert [str(entry) for entry in said] == ["a: 1 off at some values, so that its results are shifted"]
    for seed in range(4):
        values = random_values(graph, seed)
        difference = np.abs(evaluate(shifted, values)[0] - evaluate(graph, values)[0].astype(int))
        assert difference.max() <= 1
    compiled = compile_model(graph, PYNQ, quantize=SHIFT, least_gain=0.0)
    assert {placement.where for placement in compiled.placements} == {"vta"}
    with Module(compiled, SimDevice(PYNQ)) as module:
        assert module.check(values).bit_exact


def test_layers_of_our_own_quantizer_stay():
    own = replace(layer("conv", 1), attrs=lookup("qnn.requantize").attributes(input_scale=1.0, output_scale=2.0))
    graph = Graph((X,), (own,))
    shifted, said = by_shifts(graph)
    assert shifted.outputs == graph.outputs
    assert said == []


@pytest.mark.parametrize("target", ["pynq", "tsim", "sim"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_network_is_one_region_on_every_target(target, dtype):
    hw = replace(BASELINE, target=target)
    graph = import_tflite(small_net(np.random.default_rng(1), dtype, dtype == "int8"))
    values = random_values(graph, 0)
    samples = {name: np.concatenate([random_values(graph, seed)[name] for seed in range(8)]) for name in values}
    compiled = compile_model(graph, hw, quantize=SHIFT, calibration=samples)
    assert len(compiled.regions) == 1
    assert any("weights rounded again" in placement.reason for placement in compiled.placements)
    with Module(compiled, SimDevice(hw)) as module:
        report = module.check(values)
        assert report.bit_exact, report.mismatch
