"""The queue against a deque: heads are there in the next cycle, and can change in every cycle."""

from collections import deque

import numpy as np
import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.sim import Simulator

from vta.hardware.memories.queue import Queue


@pytest.mark.parametrize("depth", [1, 2, 3, 8])
def test_random_traffic(depth):
    queue = Queue(8, depth)
    rng = np.random.default_rng(depth)

    async def process(ctx):
        held = deque()
        for _ in range(300):
            assert ctx.get(queue.valid) == bool(held)
            assert ctx.get(queue.full) == (len(held) == depth)
            if held:
                assert ctx.get(queue.head) == held[0]
            push, pop, entry = len(held) < depth and rng.integers(0, 2), held and rng.integers(0, 2), rng.integers(0, 256)
            ctx.set(queue.push, int(push))
            ctx.set(queue.pop, int(bool(pop)))
            ctx.set(queue.entry, int(entry))
            if pop:
                held.popleft()
            if push:
                held.append(int(entry))
            await ctx.tick()

    simulator = Simulator(queue)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()
