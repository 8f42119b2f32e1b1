"""The ALU lane against the arithmetic of the instruction set, on the values where it could go wrong."""

import itertools

import numpy as np
import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.sim import Simulator

from vta.hardware.core.alu import AluLane
from vta.hardware.core.requantizer import RequantizingLane
from vta.isa import AluOp

OPERATIONS = [op for op in AluOp if op != AluOp.REQUANTIZE]


def expected(op, left, right, bits):
    if op == AluOp.SHR:
        value = left >> min(right, 31) if right >= 0 else (left << -right if right >= -31 else 0)
    else:
        value = {AluOp.MIN: min, AluOp.MAX: max, AluOp.ADD: lambda a, b: a + b, AluOp.MUL: lambda a, b: a * b}[op](left, right)
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


@pytest.mark.parametrize(
    ("lane", "bits"),
    [
        *((AluLane(bits=bits, split=split), bits) for bits in (16, 32) for split in (False, True)),
        (RequantizingLane(dsp48=True), 32),
    ],
    ids=["16", "16-split", "32", "32-split", "requantizing"],
)
def test_lane(lane, bits):
    top = (1 << (bits - 1)) - 1
    rng = np.random.default_rng(bits)
    values = [0, 1, -1, 15, 31, 32, -31, -32, -15, top, -top - 1, *map(int, rng.integers(-top, top, 4))]

    async def process(ctx):
        for op, left, right in itertools.product(OPERATIONS, values, values):
            ctx.set(lane.opcode, int(op))
            ctx.set(lane.left, left)
            ctx.set(lane.right, right)
            await ctx.delay(1e-9)
            assert ctx.get(lane.result) == expected(op, left, right, bits), (op, left, right)

    simulator = Simulator(lane)
    simulator.add_testbench(process)
    simulator.run()
