"""The token counter at its limits."""

import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.sim import Simulator

from tests.hardware.refusal import assert_refused
from vta.hardware.control.tokens import TokenQueue

STEPS = [
    # given, taken, set, value -> overflow, count afterwards
    ((1, 0, 0, 0), (0, 1)),
    ((1, 1, 0, 0), (0, 1)),
    ((1, 0, 0, 0), (0, 2)),
    ((1, 0, 0, 0), (1, 2)),
    ((1, 1, 0, 0), (0, 2)),
    ((0, 1, 0, 0), (0, 1)),
    ((0, 0, 1, 2), (0, 2)),
    ((0, 0, 1, 0), (0, 0)),
    # There is none to take.
    ((0, 1, 0, 0), (0, 0)),
    ((1, 1, 0, 0), (0, 1)),
]


def test_steps():
    queue = TokenQueue(limit=2)
    register = queue.register
    signals = (queue.given.valid, queue.taken.ready, register.set, register.value)

    async def process(ctx):
        for inputs, (overflow, count) in STEPS:
            for signal, value in zip(signals, inputs, strict=True):
                ctx.set(signal, value)
            assert ctx.get(queue.overflow) == overflow
            assert ctx.get(queue.taken.valid) == bool(ctx.get(register.count))
            await ctx.tick()
            assert ctx.get(register.count) == count

    simulator = Simulator(queue)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()


def test_a_queue_without_tokens_is_none():
    assert_refused("limit of a token queue = 0; allowed: 1 or more", lambda: TokenQueue(limit=0))
