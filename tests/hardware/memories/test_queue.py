"""The queue against a deque: heads are there in the next cycle, and can change in every cycle."""

from collections import deque

import numpy as np
import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.sim import Simulator

from tests.hardware.refusal import assert_refused
from vta.hardware.memories.queue import Queue


@pytest.mark.parametrize("always_ready", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 3, 8])
def test_random_traffic(depth, always_ready):
    """Both ends are tried at any time; with `always_ready` only where there is room, which the writer has to know."""
    queue = Queue(shape=8, depth=depth, always_ready=always_ready)
    tail, head = queue.tail, queue.head
    rng = np.random.default_rng(depth)

    async def process(ctx):
        held = deque()
        for _ in range(300):
            assert ctx.get(head.valid) == bool(held)
            if held:
                assert ctx.get(head.payload) == held[0]
            has_room, offers, takes, entry = len(held) < depth, rng.integers(0, 2), rng.integers(0, 2), int(rng.integers(0, 256))
            if always_ready:
                offers = offers and has_room
            else:
                assert ctx.get(tail.ready) == has_room
            ctx.set(tail.valid, int(offers))
            ctx.set(head.ready, int(takes))
            ctx.set(tail.payload, entry)
            if held and takes:
                held.popleft()
            if offers and has_room:
                held.append(entry)
            await ctx.tick()

    simulator = Simulator(queue)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()


def test_a_queue_holds_something():
    assert_refused("depth of a queue = 0; allowed: 1 or more", lambda: Queue(shape=8, depth=0))
