"""The token counter at its limits."""

import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.sim import Simulator

from vta.hardware.control.tokens import TokenQueue

STEPS = [
    # push, pop, set, value -> overflow, count afterwards
    ((1, 0, 0, 0), (0, 1)),
    ((1, 1, 0, 0), (0, 1)),
    ((1, 0, 0, 0), (0, 2)),
    ((1, 0, 0, 0), (1, 2)),
    ((1, 1, 0, 0), (0, 2)),
    ((0, 1, 0, 0), (0, 1)),
    ((0, 0, 1, 2), (0, 2)),
]


def test_steps():
    queue = TokenQueue(2)

    async def process(ctx):
        for inputs, (overflow, count) in STEPS:
            for signal, value in zip((queue.push, queue.pop, queue.set, queue.value), inputs, strict=True):
                ctx.set(signal, value)
            assert ctx.get(queue.overflow) == overflow
            await ctx.tick()
            assert ctx.get(queue.count) == count

    simulator = Simulator(queue)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()
