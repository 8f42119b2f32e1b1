"""Activations in integers: the steps give what the operators of the quantised dialect define, on every target."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import open_engine
from tests.integer_graphs import BASELINE, CONFIGS, NARROW
from vta.compiler.compile import compile_graph
from vta.errors import CompileError, GraphError
from vta.frontend.tflite.operation import Quantization
from vta.frontend.tflite.tables import leaky_relu_table
from vta.ir.arithmetic.fixed_point import hard_swish_constants
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.quantization import lower
from vta.runtime.module import Module

PYNQ = next(hw for hw in CONFIGS if hw.target == "pynq")
ALL = np.arange(-128, 128, dtype=np.int8)


def image(channels=4):
    """Every value in every channel."""
    return graph_input("x", (1, channels, 16, 16), "int8"), np.broadcast_to(ALL.reshape(16, 16), (1, channels, 16, 16)).copy()


def convolution(data, channels, out_dtype="int8", seed=0):
    rng = np.random.default_rng(seed)
    weights = constant(rng.integers(-127, 128, (channels, data.shape[1], 1, 1)).astype(np.int8))
    product = call("qnn.conv2d", [data, weights], "conv", input_scale=1.0, kernel_scale=1.0)
    scales = {"input_scale": 1.0, "output_scale": 64.0, "out_dtype": out_dtype}
    return call("qnn.requantize", [product], "conv", **scales)


def run(graph, inputs, hw, engine="sim"):
    """Compile the lowered graph; the outputs are those of the graph itself. Returns the compiled module."""
    compiled = compile_graph(lower(graph, hw), hw)
    with Module(compiled, open_engine(engine, hw)) as module:
        for want, got in zip(evaluate(graph, inputs), module.run(inputs).outputs, strict=True):
            np.testing.assert_array_equal(got, want)
    return compiled


def operators(compiled):
    return [record.kind for region in compiled.regions for record in region.operators]


def left_to_the_host(compiled):
    return [placement.op for placement in compiled.placements if placement.where == "host"]


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.125, 1.0, 1.5, -0.3, (0.1, 0.2, 0.0, 1.0), (2.0, 3.5, 1.0, 1.01)])
@pytest.mark.parametrize("hw", [BASELINE, PYNQ], ids=["multiplies", "pynq"])
def test_a_leaky_relu_is_one_operator_on_every_target(alpha, hw):
    x, values = image()
    compiled = run(Graph((x,), (call("qnn.leaky_relu", [x], "leaky", alpha=alpha),)), {"x": values}, hw)
    assert left_to_the_host(compiled) == []
    assert operators(compiled) == ["elementwise"]


@pytest.mark.parametrize("engine", ["cycle", "rtl"])
def test_every_engine_rectifies_the_same(engine):
    x, values = image()
    leaky = call("qnn.leaky_relu", [convolution(x, 20)], "leaky", alpha=0.1)
    run(
        Graph((x,), (call("qnn.hard_swish", [leaky], "swish", input_scale=0.06, output_scale=0.05),)),
        {"x": values},
        BASELINE,
        engine,
    )


def test_slopes_on_both_sides_of_one_take_a_multiplier():
    x, values = image()
    graph = Graph((x,), (call("qnn.leaky_relu", [x], "leaky", alpha=(0.5, 2.0, -1.0, 1.0)),))
    assert left_to_the_host(run(graph, {"x": values}, BASELINE)) == []
    assert left_to_the_host(run(graph, {"x": values}, PYNQ)) != []


@pytest.mark.parametrize("out_dtype", ["int8", "int32"])
def test_a_convolution_is_rectified_where_it_is_multiplied(out_dtype):
    x, values = image()
    graph = Graph((x,), (call("qnn.leaky_relu", [convolution(x, 20, out_dtype)], "leaky", alpha=0.1),))
    assert operators(run(graph, {"x": values}, BASELINE)) == ["conv2d"]


def test_without_a_multiplier_a_slope_that_is_a_shift_stays_in_the_convolution():
    x, values = image()
    for alpha, expected in ((0.25, ["conv2d"]), (0.1, ["conv2d", "elementwise"])):
        graph = Graph((x,), (call("qnn.leaky_relu", [convolution(x, 20)], "leaky", alpha=alpha),))
        assert operators(run(graph, {"x": values}, PYNQ)) == expected


def test_a_value_read_elsewhere_too_is_stored_first():
    x, values = image()
    value = convolution(x, 20)
    graph = Graph((x,), (call("qnn.leaky_relu", [value], "leaky", alpha=0.1), value))
    assert operators(run(graph, {"x": values}, BASELINE)) == ["conv2d", "elementwise"]


def test_wide_values_are_clipped_before_the_slope():
    wide = graph_input("w", (1, 3, 2, 2), "int32")
    graph = Graph((wide,), (call("qnn.leaky_relu", [wide], "leaky", alpha=0.002),))
    values = np.array([-(2**31), -40000, -1000, 2**31 - 1]).astype(np.int32)
    (out,) = evaluate(graph, {"w": np.broadcast_to(values.reshape(2, 2), (1, 3, 2, 2))})
    np.testing.assert_array_equal(out[0, 0].reshape(-1), [-66, -66, -2, 127])


@pytest.mark.parametrize("scales", [(0.05, 0.05), (0.02, 0.01), (0.5, 0.3), (1.0, 0.02), (0.001, 0.0005)])
def test_a_hard_swish_is_near_the_real_one_and_exact_on_vta(scales):
    x, values = image()
    graph = Graph((x,), (call("qnn.hard_swish", [x], "swish", input_scale=scales[0], output_scale=scales[1]),))
    (out,) = evaluate(graph, {"x": values})
    real = values * np.float64(scales[0])
    wanted = np.clip(real * np.clip(real / 6 + 0.5, 0, 1) / scales[1], -128, 127)
    assert np.abs(out - wanted).max() <= 0.51 + 0.02 * (scales[0] < 0.01)
    assert left_to_the_host(run(graph, {"x": values}, BASELINE)) == []
    assert left_to_the_host(run(graph, {"x": values}, PYNQ)) == ["qnn.hard_swish"]


def test_scales_without_integers_are_refused():
    with pytest.raises(CompileError, match="no integers make a hard swish from scale"):
        hard_swish_constants(1e-6, 1e9)


def table_of(function):
    return constant(np.clip(np.floor(function(np.arange(-128, 128)) + 0.5), -128, 127).astype(np.int8))


@pytest.mark.parametrize("hw", [BASELINE, PYNQ], ids=["multiplies", "pynq"])
def test_lookups_of_lines_run_on_every_target(hw):
    x, values = image()
    for function in (lambda v: 0.3 * v + 9, lambda v: np.where(v < -3, 0.2, 1.1) * (v + 3), lambda v: -np.abs(v - 7)):
        graph = Graph((x,), (call("qnn.lookup", [x, table_of(function)], "table"),))
        compiled = run(graph, {"x": values}, hw)
        assert left_to_the_host(compiled) == []
        after = Graph((x,), (call("qnn.lookup", [convolution(x, 20), table_of(function)], "table"),))
        assert left_to_the_host(run(after, {"x": values}, hw)) == []


@pytest.mark.parametrize("after", [False, True])
def test_lookups_of_a_line_on_each_side_take_a_multiplier(after):
    x, values = image()
    table = leaky_relu_table(Quantization(0.005, -95), Quantization(0.018, 58), 1.16)
    graph = Graph((x,), (call("qnn.lookup", [convolution(x, 20) if after else x, constant(table)], "table"),))
    compiled = run(graph, {"x": values}, BASELINE)
    assert left_to_the_host(compiled) == []
    assert operators(compiled) == (["conv2d"] if after else ["elementwise"])
    assert left_to_the_host(run(graph, {"x": values}, PYNQ)) == ["qnn.lookup"]


def test_curves_are_looked_up_on_the_host():
    x, values = image()
    compiled = run(
        Graph((x,), (call("qnn.lookup", [x, table_of(lambda v: 90 * np.sin(v / 20))], "sine"),)), {"x": values}, BASELINE
    )
    (placement,) = compiled.placements
    assert (placement.op, placement.where) == ("qnn.lookup", "host")


def test_narrow_accumulators_leave_activations_to_the_host():
    x, values = image()
    graph = Graph((x,), (call("qnn.leaky_relu", [x], "leaky", alpha=0.1),))
    assert left_to_the_host(run(graph, {"x": values}, NARROW)) == ["qnn.leaky_relu"]


def test_bad_attributes_are_refused():
    x, _ = image()
    for attributes, message in (
        ({"alpha": 500.0}, r"alpha = 500\.0; slopes are between -128 and 128"),
        ({"alpha": (0.1, 0.2)}, "alpha has 2 values for 4 channels"),
    ):
        with pytest.raises(GraphError, match=message):
            call("qnn.leaky_relu", [x], "leaky", **attributes)
    with pytest.raises(GraphError, match=r"the table must have shape \(256,\), got \(255,\)"):
        call("qnn.lookup", [x, constant(np.zeros(255, np.int8))], "table")


@pytest.mark.parametrize("slope", [-1.0, 0.0, 0.25, 0.3, 2.0])
def test_a_single_channel_with_a_slope_of_its_own(slope):
    x, values = image(1)
    value = convolution(x, 1, "int8")
    run(Graph((x,), (call("qnn.leaky_relu", [value], "leaky", alpha=(slope,)),)), {"x": values}, CONFIGS[0])


@settings(deadline=None, max_examples=60)
@given(st.data(), st.sampled_from([hw for hw in CONFIGS if hw.acc_bits == 32]))
def test_any_slopes_on_any_config(data, hw):
    channels = data.draw(st.integers(1, 20))
    x, values = image(channels)
    slope = st.one_of(st.sampled_from([0.0, 1.0, 0.5, -1.0, 128.0, -128.0]), st.floats(-3, 3))
    per_channel = data.draw(st.booleans())
    alpha = tuple(data.draw(slope) for _ in range(channels)) if per_channel else data.draw(slope)
    value = convolution(x, channels, data.draw(st.sampled_from(["int8", "int32"]))) if data.draw(st.booleans()) else x
    run(Graph((x,), (call("qnn.leaky_relu", [value], "leaky", alpha=alpha),)), {"x": values}, hw)


@settings(deadline=None, max_examples=30)
@given(st.floats(0.001, 2), st.floats(0.3, 4), st.booleans(), st.sampled_from([hw for hw in CONFIGS if hw.acc_bits == 32]))
def test_any_hard_swish_on_any_config(scale, ratio, after, hw):
    x, values = image()
    value = convolution(x, 20) if after else x
    run(
        Graph((x,), (call("qnn.hard_swish", [value], "swish", input_scale=scale, output_scale=scale / ratio),)), {"x": values}, hw
    )
