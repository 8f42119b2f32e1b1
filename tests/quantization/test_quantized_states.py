"""States of float networks: calibrated over a stream, and kept in int8 where everything reads them so."""

from __future__ import annotations

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from vta.compiler.compile import compile_model, quantize_model
from vta.devices.sim import SimDevice
from vta.errors import UsageError
from vta.ir import names as ops
from vta.ir.arithmetic.decibels import decibels
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.state import State
from vta.ir.stream import evaluate_stream
from vta.passes.quantized_states import keep_quantized
from vta.quantization.config import QuantizeConfig
from vta.quantization.float.calibration.calibrate import batches_of
from vta.runtime.module import Module

CHANNELS = 16


def _weight(rng: np.random.Generator, *shape: int) -> Node:
    return constant((rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))


@pytest.fixture(scope="module")
def graph():
    """A convolution along time, whose past is a state, before a recurrent layer, whose cell is another."""
    rng = np.random.default_rng(0)
    data, past = graph_input("x", (1, CHANNELS, 1, 1)), graph_input("past", (1, CHANNELS, 3, 1))
    before = graph_input("before", (1, CHANNELS))
    rows = call(ops.CONCATENATE, [past, data], "rows", axis=2)
    begin, end = (0, 0, 1, 0), (1, CHANNELS, 4, 1)
    kept = call(ops.STRIDED_SLICE, [rows], "kept", begin=begin, end=end, strides=(1, 1, 1, 1))
    value = call(ops.RELU, [call(ops.CONV2D, [rows, _weight(rng, CHANNELS, CHANNELS, 4, 1)], "conv")], "relu")
    flat = call(ops.RESHAPE, [value], "flat", newshape=(1, CHANNELS))
    fresh = call(ops.DENSE, [flat, _weight(rng, CHANNELS, CHANNELS)], "fresh")
    again = call(ops.DENSE, [before, _weight(rng, CHANNELS, CHANNELS)], "again")
    cell = call(ops.TANH, [call(ops.ADD, [fresh, again], "sum")], "cell")
    states = (_zeros("past", 1, past), _zeros("before", 2, before))
    return Graph((data, past, before), (cell, kept, cell), "net", ("y", "past", "before"), states)


def _zeros(name: str, output: int, held: Node) -> State:
    return State(name, output, np.zeros(held.shape, np.float32))


@pytest.fixture(scope="module")
def data():
    return np.random.default_rng(1).standard_normal((40, CHANNELS, 1, 1)).astype(np.float32)


CONFIG = QuantizeConfig(skip_conv_layers=())


def test_states_that_only_integers_read_are_int8(graph, data):
    quantized = quantize_model(graph, BASELINE, calibration={"x": data}, quantize=CONFIG)
    assert {state.name: state.type.dtype for state in quantized.states} == {"past": "int8", "before": "int8"}
    wanted = np.stack([results[0] for results, _ in evaluate_stream(graph, ({"x": frame[None]} for frame in data))])
    got = np.stack([results[0] for results, _ in evaluate_stream(quantized, ({"x": frame[None]} for frame in data))])
    assert decibels(wanted, got) > 25


def test_they_stay_on_the_device(graph, data):
    compiled = compile_model(graph, BASELINE, calibration={"x": data}, quantize=CONFIG)
    assert compiled.total_macs == sum(record.macs for region in compiled.regions for record in region.operators)
    with Module(compiled, SimDevice(BASELINE)) as module:
        assert module.run_frames(data[:4], check=True).frames == 4


def test_states_that_floats_read_stay_float(graph, data):
    config = QuantizeConfig(skip_conv_layers=(0,), skip_dense=True)
    quantized = quantize_model(graph, BASELINE, calibration={"x": data}, quantize=config)
    assert {state.type.dtype for state in quantized.states} == {"float32"}


def test_calibration_follows_the_stream(graph, data):
    batches = list(batches_of(graph, {"x": data}))
    found = evaluate_stream(graph, ({"x": frame[None]} for frame in data))
    assert not batches[0]["past"].any()
    for batch, (_, held) in zip(batches[1:], found, strict=False):
        np.testing.assert_array_equal(batch["past"], held["past"])
        np.testing.assert_array_equal(batch["before"], held["before"])


def test_calibration_wants_frames(graph):
    with pytest.raises(UsageError, match="the calibration data has no input 'x'"):
        list(batches_of(graph, {"past": np.zeros((2, CHANNELS, 3, 1), np.float32)}))


def _pair(scale: float, start: float) -> Graph:
    """A state that is read at scale 0.5, and written at another one."""
    data, held = graph_input("x", (1, 4), "int8"), graph_input("h", (1, 4))
    levels = call(ops.QNN_QUANTIZE, [held], "read", scale=0.5)
    after = call(ops.QNN_DEQUANTIZE, [call(ops.MAXIMUM, [levels, data], "most")], "after", scale=scale)
    return Graph((data, held), (after, after), states=(State("h", 1, np.full((1, 4), start, np.float32)),))


def test_levels_of_the_same_scale_are_kept():
    plain = _pair(0.5, 3.0)
    graph = keep_quantized(plain)
    (state,) = graph.states
    assert (state.type.dtype, state.initial.tolist()) == ("int8", [[6, 6, 6, 6]])
    frames = [{"x": np.int8([[at, 20 - at, -at, 7]])} for at in range(10)]
    for (want, _), (got, _) in zip(evaluate_stream(plain, frames), evaluate_stream(graph, frames), strict=True):
        np.testing.assert_array_equal(got[0], want[0])


def test_levels_of_two_scales_are_not():
    graph = _pair(0.25, 0.0)
    assert keep_quantized(graph) is graph
