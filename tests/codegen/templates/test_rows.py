"""Softmax and norms along the columns of images, on every engine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines import open_engine
from vta.codegen.templates.softmax import added_planes
from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.graph import Graph, call, constant, graph_input
from vta.isa.verify import verify
from vta.quantization.float.plan.rows import longest_row
from vta.runtime.module import Module

SIM, NARROW = HardwareConfig.named("sim_rq"), HardwareConfig.named("sim_rq_1x8")
CASES = {
    "terms": (ops.QNN_SOFTMAX_TERMS, {"input_scale": 0.05}),
    "shares": (ops.QNN_SOFTMAX_SHARES, {"output_scale": 0.003}),
    "layer_norm": (ops.QNN_NORMALIZE, {"input_scale": 0.03, "output_scale": 0.03, "epsilon": 1e-5}),
    "rms_norm": (ops.QNN_NORMALIZE, {"input_scale": 0.03, "output_scale": 0.03, "epsilon": 1e-5, "center": False}),
}


def graph_of(case, channels, columns):
    op, attrs = CASES[case]
    x = graph_input("x", (1, channels, 1, columns), "int8")
    return Graph((x,), (call(op, [x], case, axis=3, **attrs),))


def values_of(case, channels, columns):
    """Rows of various spread, one of them constant; terms as a table gives them, of which the largest is the same in each row."""
    rng = np.random.default_rng(3)
    spread = rng.choice([0.5, 5, 30, 90], (channels, 1))
    values = np.clip(rng.standard_normal((channels, columns)) * spread + rng.integers(-40, 40, (channels, 1)), -128, 127)
    values[0] = 5
    if case == "shares":
        values[:, 0] = 127
    return values.astype(np.int8).reshape(1, channels, 1, columns)


def check(case, channels, columns, hw, engine="sim"):
    compiled = compile_graph(graph_of(case, channels, columns), hw)
    (region,) = compiled.regions
    assert verify(region.program) == []
    with Module(compiled, open_engine(engine, hw)) as module:
        report = module.check({"x": values_of(case, channels, columns)})
    assert report.bit_exact, str(report.mismatch)


@pytest.mark.parametrize("hw", [SIM, NARROW], ids=["1x16", "1x8"])
@pytest.mark.parametrize(("channels", "columns"), [(16, 1), (20, 7), (200, 64), (24, 300)])
@pytest.mark.parametrize("case", CASES)
def test_all_sizes_are_exact(case, channels, columns, hw):
    check(case, channels, columns, hw)


@pytest.mark.parametrize("engine", ["cycle", pytest.param("rtl", marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_every_engine_gives_the_same(case, engine):
    check(case, 40, 20, SIM, engine)


@pytest.mark.parametrize("case", ["shares", "layer_norm"])
def test_the_longest_row_fits(case):
    check(case, 16, longest_row(SIM), SIM)


MASKS = ("causal", "bias", "both")


def added_of(mask, period, columns):
    """Rows that end one after the other, numbers for each place, or both."""
    rng = np.random.default_rng(2)
    added = np.zeros((period, columns), np.int16)
    if mask != "causal":
        added += rng.integers(-120, 120, added.shape).astype(np.int16)
    if mask != "bias":
        added[np.arange(columns) > np.arange(period)[:, None]] = -512
    return added


def check_masked(mask, period, channels, columns, hw, engine="sim", samples=1):
    x = graph_input("x", (samples, channels, 1, columns), "int8")
    rows = [x, constant(added_of(mask, period, columns), "mask")]
    terms = call(ops.QNN_SOFTMAX_TERMS, rows, "terms", axis=3, input_scale=0.02)
    shares = call(ops.QNN_SOFTMAX_SHARES, [terms], "shares", axis=3, output_scale=0.004)
    compiled = compile_graph(Graph((x,), (shares,)), hw)
    (region,) = compiled.regions
    assert verify(region.program) == []
    values = np.random.default_rng(4).integers(-128, 128, x.shape).astype(np.int8)
    with Module(compiled, open_engine(engine, hw)) as module:
        report = module.check({"x": values})
    assert report.bit_exact, str(report.mismatch)


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from(MASKS),
    st.sampled_from([SIM, NARROW]),
    st.sampled_from([1, 2, 3, 8, 16, 20, 48]),
    st.integers(1, 4),
    st.integers(1, 70),
    st.integers(1, 2),
)
def test_constants_are_added_to_rows_of_all_sizes(mask, hw, period, times, columns, samples):
    check_masked(mask, period, period * times, columns, hw, samples=samples)


@pytest.mark.parametrize("engine", ["cycle", pytest.param("rtl", marks=pytest.mark.slow)])
@pytest.mark.parametrize("mask", MASKS)
def test_every_engine_adds_the_same(mask, engine):
    check_masked(mask, 16, 48, 20, SIM, engine)


@pytest.mark.parametrize(("mask", "beside"), [("causal", 1), ("both", 2)])
def test_the_longest_masked_row_fits(mask, beside):
    check_masked(mask, 16, 16, longest_row(SIM, beside), SIM)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 3), st.integers(1, 40), st.integers(1, 9), st.integers(-600, 0), st.sampled_from([8, 16]), st.integers(0, 99)
)
def test_planes_are_what_is_added_but_for_a_number_to_each_row(samples, channels, columns, least, block, seed):
    added = np.random.default_rng(seed).integers(least - 1, 1, (channels, columns)) * 4 ** (seed % 2)
    planes, factor = added_planes(added.astype(np.int16), samples, channels, block)
    values = planes.astype(np.int64) * np.array([1, factor])[-len(planes) :].reshape(-1, 1, 1, 1)
    rows = values.sum(axis=0).transpose(0, 2, 1).reshape(-1, columns)
    rows = np.resize(rows, (samples * -(-channels // block) * block, columns))[:channels]
    wanted = np.maximum(added - added.max(axis=1, keepdims=True), -512)
    np.testing.assert_array_equal(rows - rows.max(axis=1, keepdims=True), wanted)


def test_what_is_added_must_be_constant():
    x, mask = graph_input("x", (1, 16, 1, 8), "int8"), graph_input("mask", (16, 8), "int16")
    graph = Graph((x, mask), (call(ops.QNN_SOFTMAX_TERMS, [x, mask], "terms", axis=3, input_scale=0.1),))
    (placement,) = compile_graph(graph, SIM).placements
    assert (placement.where, placement.rule) == ("host", "rows_are_images")
    assert "mask" in placement.reason


@pytest.mark.parametrize("case", CASES)
def test_a_sample_after_a_smaller_tile_is_exact(case):
    """What a tile of fewer blocks leaves in the accumulator is none of the values of the next sample's."""
    op, attrs = CASES[case]
    x = graph_input("x", (2, 80, 1, 64), "int8")
    compiled = compile_graph(Graph((x,), (call(op, [x], case, axis=3, **attrs),)), SIM)
    with Module(compiled, open_engine("sim", SIM)) as module:
        report = module.check({"x": np.concatenate([values_of(case, 80, 64)] * 2)})
    assert report.bit_exact, str(report.mismatch)


def test_other_axes_and_configs_stay_on_the_host():
    x = graph_input("x", (1, 16, 4, 8), "int8")
    square = Graph((x,), (call(ops.QNN_SOFTMAX_TERMS, [x], "terms", axis=3, input_scale=0.1),))
    for graph, hw in ((square, SIM), (graph_of("terms", 16, 8), HardwareConfig.named("sim"))):
        (placement,) = compile_graph(graph, hw).placements
        assert (placement.where, placement.rule) == ("host", "rows_are_images")
