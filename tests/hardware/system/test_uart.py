"""The serial line, cycle by cycle."""

import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.hdl import Module
from amaranth.sim import Simulator

from tests.hardware.refusal import assert_refused
from vta.hardware.system.uart import UartReceiver, UartTransmitter

BYTES = (0x00, 0xFF, 0x55, 0xA3, 0x80, 0x01)


def simulate(module, bench):
    simulator = Simulator(module)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("divisor", [4, 7, 16])
def test_what_is_sent_is_received(divisor):
    m = Module()
    m.submodules.sender = sender = UartTransmitter(divisor=divisor)
    m.submodules.receiver = receiver = UartReceiver(divisor=divisor)
    m.d.comb += receiver.line.eq(sender.line)
    found = []

    async def bench(ctx):
        ctx.set(receiver.bytes.ready, 1)
        pending = list(BYTES)
        for _ in range(10 * divisor * (len(BYTES) + 2)):
            ctx.set(sender.bytes.valid, bool(pending))
            ctx.set(sender.bytes.payload, pending[0] if pending else 0)
            if ctx.get(sender.bytes.ready) and pending:
                pending.pop(0)
            if ctx.get(receiver.bytes.valid):
                found.append(ctx.get(receiver.bytes.payload))
            await ctx.tick()

    simulate(m, bench)
    assert tuple(found) == BYTES


def test_a_frame_without_its_end_and_a_glitch_are_dropped():
    receiver = UartReceiver(divisor=8)
    levels = [1] * 8 + [0] * 2 + [1] * 16 + [0] * 8 * 10 + [1] * 8 * 12
    seen = []

    async def bench(ctx):
        for level in levels:
            ctx.set(receiver.line, level)
            seen.append(ctx.get(receiver.bytes.valid))
            await ctx.tick()

    simulate(receiver, bench)
    assert not any(seen)


def test_a_line_that_is_too_fast_is_refused():
    assert_refused("cycles of a bit = 2; allowed: 4 or more", lambda: UartReceiver(divisor=2))
