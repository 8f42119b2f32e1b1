"""Accumulators that start from a raised bias give what a reset and an addition give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tile_operators import alu_step, gemm_operator, plain
from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig
from vta.devices.device import RunOptions
from vta.devices.sim import SimDevice
from vta.ir.graph import Graph, call, constant, graph_input
from vta.isa.instruction import AluOp
from vta.runtime import Module
from vta.tile.accumulator_init import with_accumulator_init
from vta.tile.gemm_term import GemmTerm
from vta.tile.operator import Tensor

HW = HardwareConfig.named("sim")
SOURCE = Tensor("x", 1, 1, 4, 4)
OUT = Tensor("y", 1, 1, 4, 4)


def operator(bias, shift, low=-128, high=127, weight=1, extra=()):
    weights = np.full((1, 1, 1, 1, 16, 16), weight, np.int8)
    steps = [alu_step(AluOp.ADD, bias), alu_step(AluOp.SHR, shift), alu_step(AluOp.MAX, low), alu_step(AluOp.MIN, high), *extra]
    return gemm_operator(OUT, GemmTerm(SOURCE, weights), steps=steps)


@pytest.mark.parametrize("bias", [0, 77, 127, 1 << 30, -(1 << 20), np.arange(16) * 1000 - 8000])
@pytest.mark.parametrize("shift", [1, 7, 15, np.arange(16)])
@pytest.mark.parametrize(("low", "high"), [(-128, 127), (0, 127), (-127, 0), (5, 5)])
def test_the_raise_hides_what_rows_held_and_leaves_the_low_bits_alone(bias, shift, low, high):
    given_operator = operator(bias, shift, low, high)
    raised = with_accumulator_init(given_operator, HW)
    if raised.accumulator_init is None:
        return
    _, lower, upper = (plain(step)[1] for step in raised.epilogue)
    left = np.arange(lower, upper + 1)
    assert (np.maximum(left[:, None], raised.accumulator_init) == raised.accumulator_init).all()
    sums = np.array([-32768, -1, 0, 1, 32767])[:, None] + raised.accumulator_init[:16]
    amounts = np.broadcast_to(shift, 16)
    stored = np.clip(sums >> amounts, lower, upper).astype(np.int8)
    exact = np.array([-32768, -1, 0, 1, 32767])[:, None] + bias
    assert (stored == np.clip(np.broadcast_to(exact, (5, 16)) >> amounts, low, high)).all()


def test_common_operators_are_raised():
    assert with_accumulator_init(operator(100, 8), HW).accumulator_init is not None
    assert with_accumulator_init(operator(np.arange(16), np.full(16, 9)), HW).accumulator_init is not None


@pytest.mark.parametrize(
    "given_operator",
    [
        operator(0, 31),
        operator(-(1 << 31), 8),
        operator(0, 8, -128, 200),
        operator(0, 8, extra=(alu_step(AluOp.ADD, 1),)),
        operator(0, -1),
    ],
    ids=["the raise overflows", "the bias overflows", "no 8-bit clip", "another step", "a left shift"],
)
def test_what_is_not_exact_stays_as_it_is(given_operator):
    assert with_accumulator_init(given_operator, HW) is given_operator


def test_steps_that_begin_with_a_large_addition_and_end_with_an_int8_start_from_it():
    start = np.arange(16) * 1000 + 127
    steps = (alu_step(AluOp.ADD, start), alu_step(AluOp.MUL, 5), alu_step(AluOp.SHR, 15), alu_step(AluOp.SHR, 9))
    given_operator = replace(operator(0, 0), epilogue=steps)
    raised = with_accumulator_init(given_operator, HW)
    assert raised.accumulator_init is not None
    assert raised.accumulator_init.tolist() == start.tolist()
    assert raised.epilogue == steps[1:]
    for other in ((alu_step(AluOp.ADD, start - 1), *steps[1:]), steps[:-1]):
        unchanged = replace(given_operator, epilogue=other)
        assert with_accumulator_init(unchanged, HW) is unchanged, "127 may be left, and more than an int8"


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 3),
    st.integers(1, 40),
    st.integers(1, 20),
    st.integers(0, 15),
    st.integers(0, 1 << 16),
    st.sampled_from([HW, HardwareConfig.named("pynq"), HardwareConfig.named("sim_4x8")]),
)
def test_compiled_convolutions_are_exact(kernel, size, channels, shift, seed, hw):
    rng = np.random.default_rng(seed)
    data = graph_input("x", (1, channels, size, size + 3), "int8")
    weights = rng.integers(-128, 128, (40, channels, kernel, 1), dtype=np.int8)
    value = call("nn.conv2d", [data, constant(weights)], "conv", padding=(1, 0, 1, 0))
    value = call("add", [value, constant(rng.integers(-(1 << 15), 1 << 15, (1, 40, 1, 1), dtype=np.int32))], "conv")
    value = call("right_shift", [value, constant(np.int32(shift))], "conv")
    value = call("clip", [value], "conv", a_min=-128, a_max=127)
    compiled = compile_graph(Graph((data,), (call("cast", [value], "conv", dtype="int8"),)), hw)
    inputs = {"x": rng.integers(-128, 128, data.shape, dtype=np.int8)}
    with Module(compiled, SimDevice(hw), RunOptions(seed=seed)) as module:
        assert module.check(inputs).bit_exact
