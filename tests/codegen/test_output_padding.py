"""Borders of any value around what VTA stores, and fused operators with branches, on the simulator."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE, BATCH_2, CONFIGS, TINY, conv, int8_clip, per_channel, random_inputs, widened
from vta.compiler.compile import compile_graph
from vta.devices.sim import SimDevice
from vta.ir.graph import Graph, call, constant, graph_input
from vta.runtime.module import Module


def check(graph, hw, regions=1):
    compiled = compile_graph(graph, hw)
    assert len(compiled.regions) == regions
    with Module(compiled, SimDevice(hw)) as module:
        for seed in range(2):
            report = module.check(random_inputs(graph, seed))
            assert report.bit_exact, report.mismatch
    return compiled


def bordered(channels, size, pads, value, kernel=3, shared=False):
    """A convolution, a border, and a convolution over it; `shared` reads the first one's result twice."""
    rng = np.random.default_rng(channels)
    x = graph_input("x", (1, channels, *size), "int8")
    first = int8_clip(conv(x, rng.integers(-9, 9, (channels, channels, 1, 1)), "first"), "first")
    padded = call("nn.pad", [first], "pad", pad_width=((0, 0), (0, 0), *pads), pad_value=value)
    second = int8_clip(conv(padded, rng.integers(-9, 9, (channels, 1, kernel, kernel)), "second", groups=channels), "second")
    return Graph((x,), (second, first) if shared else (second,))


@settings(max_examples=25)
@given(
    st.integers(1, 40),
    st.tuples(st.integers(3, 9), st.integers(3, 9)),
    st.tuples(*[st.tuples(st.integers(0, 3), st.integers(0, 3))] * 2),
    st.integers(-128, 127),
    st.booleans(),
    st.sampled_from([BASELINE, TINY, BATCH_2, *CONFIGS[:4]]),
)
def test_a_border_lies_around_what_is_stored(channels, size, pads, value, shared, hw):
    check(bordered(channels, size, pads, value, shared=shared), hw)


def test_a_border_takes_no_operator_of_its_own():
    compiled = check(bordered(16, (5, 6), ((1, 1), (1, 1)), 7), BASELINE)
    assert [record.name for record in compiled.regions[0].operators] == ["first", "second"]
    shared = check(bordered(16, (5, 6), ((1, 1), (1, 1)), 7, shared=True), BASELINE)
    assert [record.name for record in shared.regions[0].operators] == ["first", "pad", "second"]


def test_a_border_wider_than_the_filled_rows():
    check(bordered(16, (3, 3), ((9, 9), (9, 9)), -5), TINY)


def test_the_host_pads_what_it_gives():
    x = graph_input("x", (1, 8, 5, 5), "int8")
    padded = call("nn.pad", [x], "pad", pad_width=((0, 0), (0, 0), (1, 1), (1, 1)), pad_value=3)
    graph = Graph((x,), (int8_clip(conv(padded, np.ones((8, 8, 3, 3)), "conv"), "conv"),))
    places = {placement.op: placement for placement in check(graph, BASELINE).placements}
    assert places["nn.pad"].where == "host"
    assert places["nn.pad"].reason == "padded on the host, before VTA reads it"


def branched(forks, channels=20):
    """A fused operator with branches from one value: per-channel factors, shifts, and additions where they join."""
    rng = np.random.default_rng(forks)
    x = graph_input("x", (1, channels, 6, 5), "int8")
    value = conv(x, rng.integers(-99, 99, (channels, channels, 1, 1)), "conv")
    start = call("minimum", [value, per_channel(rng.integers(100, 20000, channels))], "start")
    value = call("multiply", [start, per_channel(rng.integers(1, 999, channels))], "scale")
    for fork in range(forks):
        side = call("right_shift", [start, constant(np.int32(fork + 1))], f"side{fork}")
        side = call("multiply", [side, per_channel(rng.integers(-99, 99, channels))], f"side{fork}")
        value = call("add", [value, side], f"join{fork}")
    value = call("right_shift", [value, constant(np.int32(24))], "shift")
    return Graph((x,), (call("cast", [value], "q", dtype="int8"),))


@pytest.mark.parametrize("forks", [1, 2, 3])
@pytest.mark.parametrize("hw", [BASELINE, replace(TINY, log_acc_buff_size=13), BATCH_2], ids=["baseline", "tiny", "batch2"])
def test_branches_join_the_fused_operator_that_they_start_from(forks, hw):
    compiled = check(branched(forks), hw)
    assert len(compiled.regions[0].operators) == 1


def test_a_branch_from_another_fused_operator_is_no_branch():
    x = graph_input("x", (1, 16, 4, 4), "int8")
    one, two = (conv(x, np.ones((16, 16, 1, 1)), name) for name in ("one", "two"))
    one = call("right_shift", [one, constant(np.int32(1))], "shift")
    graph = Graph((x,), (int8_clip(call("add", [two, one], "sum"), "sum"),))
    compiled = compile_graph(graph, BASELINE)
    assert any(
        "starts from a value of another fused operator" in p.reason or "neither a constant" in p.reason
        for p in compiled.placements
    )


@pytest.mark.parametrize("groups", [1, 20])
def test_weights_beyond_int8_are_two_terms(groups):
    rng = np.random.default_rng(0)
    x = graph_input("x", (1, 20, 6, 5), "int8")
    weight = rng.integers(-128, 128, (20, 20 // groups, 3, 3)).astype(np.int16)
    weight[3, 0, 1, 1], weight[17, 0, 0, 2] = 250, -200
    value = call("nn.conv2d", [x, constant(weight)], "conv", padding=(1, 1, 1, 1), groups=groups)
    value = call("right_shift", [value, constant(np.int32(9))], "shift")
    check(Graph((x,), (int8_clip(value, "q"),)), BASELINE)
    dense = call(
        "nn.dense", [graph_input("v", (1, 30), "int8"), constant(rng.integers(-255, 256, (9, 30)).astype(np.int16))], "fc"
    )
    check(Graph(dense.inputs[:1], (int8_clip(call("right_shift", [dense, constant(np.int32(9))]), "q"),)), BASELINE)


def test_a_wide_operand():
    x = graph_input("x", (1, 16, 4, 4), "int8")
    scaled = call("multiply", [widened(x), constant(np.int32(8355711))], "scale")
    value = call("right_shift", [scaled, constant(np.int32(20))], "shift")
    check(Graph((x,), (int8_clip(value, "q"),)), BASELINE)
