"""Copies that the maximum makes: only where what a branch leaves is never larger than what is copied."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tile_operators import alu_step, gemm_operator
from vta.compiler.compile import compile_graph
from vta.config.hardware import HardwareConfig
from vta.devices.device import RunOptions
from vta.devices.sim import SimDevice
from vta.ir.graph import Graph, call, constant, graph_input
from vta.isa.instruction import AluOp
from vta.runtime import Module
from vta.tile.copy_elision import with_elided_copies
from vta.tile.gemm_term import GemmTerm
from vta.tile.operator import Tensor
from vta.tile.step import Branch, Step

HW = HardwareConfig.named("sim")
SOURCE = Tensor("x", 1, 1, 4, 4)


def marked(before, branch):
    term = GemmTerm(SOURCE, np.ones((1, 1, 1, 1, 16, 16), np.int8))
    steps = (*before, Step(AluOp.ADD, Branch(branch)))
    operator = gemm_operator(Tensor("y", 1, 1, 4, 4), term, steps=steps)
    return with_elided_copies(operator, HW).epilogue[-1].operand.copy_elided


AT_LEAST_5 = alu_step(AluOp.MAX, 5)
CLAMP = (alu_step(AluOp.MAX, np.arange(16)), alu_step(AluOp.MIN, np.arange(16) + 1000))


@pytest.mark.parametrize(
    ("before", "branch", "elided"),
    [
        ((AT_LEAST_5,), (alu_step(AluOp.MIN, 5),), True),
        ((AT_LEAST_5,), (alu_step(AluOp.MIN, 6),), False),
        ((AT_LEAST_5,), (alu_step(AluOp.ADD, -(1 << 30)), alu_step(AluOp.SHR, 31), alu_step(AluOp.MUL, 7)), True),
        ((), (alu_step(AluOp.SHR, 31),), False),
        (CLAMP, (alu_step(AluOp.MUL, np.arange(16) - 15), alu_step(AluOp.SHR, 3)), True),
        (CLAMP, (alu_step(AluOp.MUL, np.full(16, -(1 << 30))),), False),
        (CLAMP, (alu_step(AluOp.SHR, -1),), False),
    ],
    ids=["a bound", "a bound above", "a sign", "anything may be copied", "negative products", "products wrap", "a left shift"],
)
def test_what_a_branch_leaves_decides(before, branch, elided):
    assert marked(before, branch) is elided


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 3), st.integers(5, 40), st.integers(-300, 300), st.integers(-(1 << 12), 1 << 12), st.integers(0, 1 << 16))
def test_compiled_branches_are_exact(kernel, size, low, factor, seed):
    rng = np.random.default_rng(seed)
    data = graph_input("x", (1, 20, size, size), "int8")
    weights = rng.integers(-128, 128, (40, 20, kernel, 1), dtype=np.int8)
    value = call("nn.conv2d", [data, constant(weights)], "conv")

    def step(op, source, operand):
        return call(op, [source, constant(np.asarray(operand, np.int32))], "conv")

    clamped = step("minimum", step("maximum", value, low), rng.integers(low, low + 1000, (1, 40, 1, 1)))
    branch = step("right_shift", step("multiply", clamped, factor), 5)
    value = call("add", [step("multiply", clamped, 3), branch], "conv")
    value = call("cast", [step("right_shift", value, 24)], "conv", dtype="int8")
    compiled = compile_graph(Graph((data,), (value,)), HW)
    inputs = {"x": rng.integers(-128, 128, data.shape, dtype=np.int8)}
    with Module(compiled, SimDevice(HW), RunOptions(seed=seed)) as module:
        assert module.check(inputs).bit_exact
