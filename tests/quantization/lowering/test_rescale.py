"""Layers on a config with the requantize unit and tables: one step each, and the bytes of their definition."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import open_engine
from tests.integer_graphs import BASELINE
from tests.tflite_models import random_values, small_net
from vta.compiler.compile import compile_graph, compile_model
from vta.devices.sim import SimDevice
from vta.frontend.tflite import import_tflite
from vta.ir import names as ops
from vta.ir.arithmetic.tflite_rounding import multiply_quantized, multiply_quantized_once
from vta.ir.diagnostics import INEXACT, Diagnostics
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.partition.fused.find import find_fused_operators
from vta.partition.fused.support_rules import broken_rule
from vta.quantization import lower
from vta.quantization.lowering.rescale import shifted_once
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.module import Module

RQ = replace(BASELINE, requantize_unit=1, table_unit=1)
WITHOUT_TABLES = replace(RQ, table_unit=0)
ALL = np.arange(-128, 128, dtype=np.int8)


def run(graph, inputs, hw=RQ, engine="sim"):
    """Compile the lowered graph; its outputs are those of the graph itself. Returns the operators of the accelerator."""
    lowered = lower(graph, hw)
    compiled = compile_graph(lowered, hw)
    with Module(compiled, open_engine(engine, hw)) as module:
        for want, got in zip(evaluate(graph, inputs), module.run(inputs).outputs, strict=True):
            np.testing.assert_array_equal(got, want)
    return [node.op for node in lowered.calls()]


def layer(rng, rounding, zero=3, channels=24, **attributes):
    """A pointwise convolution of another framework's, with a scale for each channel."""
    x = graph_input("x", (1, channels, 6, 6), "int8")
    weight = constant(rng.integers(-127, 128, (channels, channels, 1, 1)).astype(np.int8))
    product = call("qnn.conv2d", [x, weight], "conv", input_scale=1.0, kernel_scale=1.0, input_zero_point=9)
    biased = call("nn.bias_add", [product, constant(rng.integers(-9999, 9999, channels).astype(np.int32))], "conv")
    scales = tuple(float(np.float32(scale)) for scale in rng.uniform(0.0009, 0.01, channels))
    given_ = {"input_scale": scales, "output_scale": 1.0, "output_zero_point": zero, "rounding": rounding, **attributes}
    return x, call("qnn.requantize", [biased], "conv", **given_)


@pytest.mark.parametrize("rounding", ["tflite", "tflite_once"])
@pytest.mark.parametrize("clip", [(-128, 127), (3, 90)])
def test_a_layer_is_one_step_and_exact(rounding, clip):
    x, value = layer(np.random.default_rng(0), rounding, a_min=clip[0], a_max=clip[1])
    graph = Graph((x,), (value,))
    assert run(graph, random_values(graph)) == ["nn.conv2d", "rescale", "cast"]


def test_single_precision_is_exact_or_takes_more_steps():
    for seed in range(4):
        x, value = layer(np.random.default_rng(seed), "even", channels=4)
        graph, diagnostics = Graph((x,), (value,)), Diagnostics()
        lowered = lower(graph, RQ, diagnostics)
        values = random_values(graph)
        difference = np.abs(evaluate(graph, values)[0].astype(int) - evaluate(lowered, values)[0])
        assert difference.max() <= (1 if diagnostics.of(INEXACT) else 0)


@pytest.mark.parametrize("scales", [(0.031, 0.0457, 0.052), (0.5, 0.01, 0.2)])
def test_sums_of_all_pairs_are_exact(scales):
    a, b = graph_input("a", (1, 1, 256, 256), "int8"), graph_input("b", (1, 1, 256, 256), "int8")
    named = dict(zip(("lhs_scale", "rhs_scale", "output_scale"), scales, strict=True))
    zeros = {"lhs_zero_point": -5, "rhs_zero_point": 30, "output_zero_point": 3}
    graph = Graph((a, b), (call("qnn.add", [a, b], "sum", rounding="tflite", a_min=-60, **named, **zeros),))
    grid = np.meshgrid(ALL, ALL)
    values = {name: part[None, None] for name, part in zip("ab", grid, strict=True)}
    steps = run(graph, values)
    # One of a sum of multiples, or TFLite's own three.
    assert steps.count(ops.RESCALE) in (1, 3)


@pytest.mark.parametrize("rounding", ["tflite", "tflite_unsigned"])
@pytest.mark.parametrize("size", [2, 5, 7])
def test_averages_are_one_step(rounding, size):
    x = graph_input("x", (1, 20, size * 2, size * 2), "int8")
    pool = {"pool_size": (size, size), "strides": (size, size), "input_scale": 0.1, "output_scale": 0.1}
    zeros = {"input_zero_point": -11, "output_zero_point": -11}
    graph = Graph((x,), (call("qnn.avg_pool2d", [x], "pool", rounding=rounding, a_min=-100, **pool, **zeros),))
    assert run(graph, random_values(graph)) == ["nn.sum_pool2d", "rescale", "cast"]


def test_means_are_one_step():
    x = graph_input("x", (1, 20, 7, 7), "int8")
    scales = {"input_scale": 0.1, "output_scale": 0.03, "input_zero_point": -11, "output_zero_point": 4}
    graph = Graph((x,), (call("qnn.global_avg_pool2d", [x], "mean", rounding="tflite", **scales),))
    assert run(graph, random_values(graph)) == ["nn.sum_pool2d", "rescale", "cast"]


def test_what_we_quantise_is_one_step_too():
    rng = np.random.default_rng(5)
    x = graph_input("x", (1, 24, 6, 6), "int8")
    weight = constant(rng.integers(-127, 128, (24, 24, 1, 1)).astype(np.int8))
    product = call("qnn.conv2d", [x, weight], "conv", input_scale=1.0, kernel_scale=1.0)
    value = call("qnn.requantize", [product], "conv", input_scale=1.0, output_scale=300.0, output_zero_point=-4)
    total = call("qnn.add", [value, x], "sum", lhs_scale=1.0, rhs_scale=0.3, output_scale=0.7, lhs_zero_point=5)
    graph = Graph((x,), (total,))
    assert run(graph, random_values(graph)).count("rescale") == 2


@given(st.integers(1, 2**31 - 1), st.integers(0, 30), st.integers(-(2**20), 2**20))
@settings(deadline=None, max_examples=200)
def test_a_product_that_is_shifted_is_one_of_the_unit(multiplier, amount, value):
    found = shifted_once(np.array([multiplier]), np.array([amount]))
    if found is None:
        assert multiplier >= 1 << amount
        return
    x = constant(np.full((1, 1), value, np.int32))
    given_ = [constant(np.asarray(part, np.int32)) for part in (np.zeros(1), found[0], np.zeros(1))]
    wide = call("rescale", [x, *given_], "r", once=True, narrow=False, left=-int(found[1].item()))
    wanted = (value * multiplier + (1 << amount >> 1)) >> amount
    if abs(wanted) < 2**30:
        assert int(evaluate(Graph((), (wide,)), {})[0].item()) == wanted


@given(st.integers(2**30, 2**31 - 1), st.integers(-8, 30), st.integers(-(2**22), 2**22), st.booleans())
@settings(deadline=None, max_examples=200)
def test_the_operator_rounds_as_tflite_does(multiplier, shift, value, once):
    x = constant(np.full((1, 1), value, np.int32))
    given_ = [constant(np.array([part], np.int32)) for part in (0, multiplier, shift)]
    got = evaluate(Graph((), (call("rescale", [x, *given_], "r", once=once, zero_point=7),)), {})[0].item()
    rounded = (multiply_quantized_once if once else multiply_quantized)(value, multiplier, -shift)
    assert got == min(max(int(rounded) + 7, -128), 127)


def table_of(seed):
    return np.random.default_rng(seed).integers(-128, 128, 256).astype(np.int8)


def test_a_table_ends_the_layer_before_it():
    x, value = layer(np.random.default_rng(0), "tflite")
    looked_up = call("qnn.lookup", [value, constant(table_of(1))], "silu")
    graph = Graph((x,), (call("clip", [looked_up], "clip", a_min=-90, a_max=100),))
    assert run(graph, random_values(graph)) == ["nn.conv2d", "rescale", "cast"]


def test_a_table_of_an_input_or_of_what_others_read_is_a_step_of_its_own():
    x, value = layer(np.random.default_rng(0), "tflite")
    first = call("qnn.lookup", [value, constant(table_of(1))], "first")
    second = call("qnn.lookup", [first, constant(table_of(2))], "second")
    graph = Graph((x,), (value, second))
    assert run(graph, random_values(graph)).count("rescale") == 3


@pytest.mark.parametrize(
    ("op", "attributes"), [("qnn.leaky_relu", {"alpha": 0.3}), ("qnn.hard_swish", {"input_scale": 0.05, "output_scale": 0.04})]
)
def test_activations_are_tables(op, attributes):
    x = graph_input("x", (1, 4, 16, 16), "int8")
    values = {"x": np.broadcast_to(ALL.reshape(16, 16), (1, 4, 16, 16)).copy()}
    assert run(Graph((x,), (call(op, [x], "activation", **attributes),)), values) == ["cast", "rescale", "cast"]


def test_without_tables_functions_are_left_to_the_host():
    x = graph_input("x", (1, 4, 16, 16), "int8")
    graph = Graph((x,), (call("qnn.lookup", [x, constant(table_of(1))], "silu"),))
    assert [node.op for node in lower(graph, WITHOUT_TABLES).calls()] == ["qnn.lookup"]


@pytest.mark.parametrize("engine", ["sim", "cycle"])
def test_a_network_gives_the_bytes_of_its_source(engine):
    graph = import_tflite(small_net(np.random.default_rng(1), "int8", True))
    compiled = compile_model(graph, RQ)
    with Module(compiled, open_engine(engine, RQ)) as module:
        values = random_values(graph, 2)
        report = module.check(values)
        assert report.bit_exact, report.mismatch
        np.testing.assert_array_equal(report.run.outputs[0], evaluate(graph, values)[0])


def rule_against(graph, hw):
    operators, _ = find_fused_operators(graph)
    reason = broken_rule(next(iter(operators.values())), hw)
    return None if reason is None else reason.rule


def test_what_a_config_lacks_is_said():
    x, value = layer(np.random.default_rng(0), "tflite")
    plain = lower(Graph((x,), (value,)), RQ)
    table = lower(Graph((x,), (call("qnn.lookup", [value, constant(table_of(1))], "silu"),)), RQ)
    assert rule_against(plain, RQ) is None
    assert rule_against(plain, BASELINE) == "config_requantizes"
    assert rule_against(table, WITHOUT_TABLES) == "config_requantizes"
    assert rule_against(table, RQ) is None


@pytest.mark.parametrize("shape", [(), (1,), (5,)])
@pytest.mark.parametrize("host", ["reference", "llvm"])
def test_values_without_channels_are_rescaled(shape, host):
    left, right = (graph_input(name, shape, "int8") for name in ("left", "right"))
    scales = {"lhs_scale": 0.05, "rhs_scale": 0.06, "output_scale": 0.09}
    total = call("qnn.add", [left, right], "sum", **scales, lhs_zero_point=-3, output_zero_point=4, rounding="tflite")
    graph = Graph((left, right), (call("qnn.requantize", [total], "last", input_scale=0.09, output_scale=0.2, bound=128),))
    rng = np.random.default_rng(0)
    data = {name: np.asarray(rng.integers(-128, 128, shape), np.int8) for name in ("left", "right")}
    module = compile_model(graph, RQ)
    with Module(module, SimDevice(module.hw), host=HostOptions(compiled=host == "llvm")) as loaded:
        np.testing.assert_array_equal(loaded.run(data).outputs[0], evaluate(graph, data)[0])
