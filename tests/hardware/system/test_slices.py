"""Slices of streams: everything arrives in order, and at full speed where nobody waits."""

from collections import deque

import numpy as np
import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.sim import Simulator

from vta.hardware.system.slices import StreamSlice


def through(offers, takes):
    """Return in which cycle each payload left, where `offers` and `takes` say when each end is willing."""
    slices, left, waiting = StreamSlice(8), [], deque(range(sum(offers)))
    given, taken = slices.given, slices.taken

    async def process(ctx):
        offered = False
        for cycle, (offer, take) in enumerate(zip(offers, takes, strict=True)):
            # What is offered stays until it is taken.
            offered = (offered or bool(offer)) and bool(waiting)
            ctx.set(given.valid, int(offered))
            ctx.set(given.payload, waiting[0] if waiting else 0)
            ctx.set(taken.ready, int(take))
            if ctx.get(taken.valid) and take:
                left.append((ctx.get(taken.payload), cycle))
            if offered and ctx.get(given.ready):
                waiting.popleft()
                offered = False
            await ctx.tick()

    simulator = Simulator(slices)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()
    return left


def test_a_payload_a_cycle():
    assert through([1] * 20 + [0] * 4, [1] * 24) == [(index, index + 1) for index in range(20)]


@pytest.mark.parametrize("seed", range(3))
def test_order_under_back_pressure(seed):
    rng = np.random.default_rng(seed)
    offers = [*rng.integers(0, 2, 200), *[0] * 400]
    left = through([int(offer) for offer in offers], [int(take) for take in rng.integers(0, 2, 600)])
    assert [payload for payload, _ in left] == list(range(len(left)))
    assert len(left) > 60
