"""Block memories behind the memory port: random bursts both ways, with a reader that is not always ready."""

import numpy as np
import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.sim import Simulator

from tests.hardware.programs import small_config
from vta.config.timing import TimingParameters
from vta.hardware.geometry import Geometry
from vta.hardware.system.block_memory import BlockMemory

NBYTES, WORD = 1 << 10, 8


async def write(ctx, port, word, data, strobes):
    ctx.set(port.awaddr, WORD * word)
    ctx.set(port.awlen, len(data) - 1)
    ctx.set(port.awvalid, 1)
    while not ctx.get(port.awready):
        await ctx.tick()
    await ctx.tick()
    ctx.set(port.awvalid, 0)
    ctx.set(port.wvalid, 1)
    for index, (beat, strobe) in enumerate(zip(data, strobes, strict=True)):
        ctx.set(port.wdata, int.from_bytes(beat.tobytes(), "little"))
        ctx.set(port.wstrb, strobe)
        ctx.set(port.wlast, index == len(data) - 1)
        while not ctx.get(port.wready):
            await ctx.tick()
        await ctx.tick()
    ctx.set(port.wvalid, 0)
    ctx.set(port.bready, 1)
    while not ctx.get(port.bvalid):
        await ctx.tick()
    await ctx.tick()


async def read(ctx, port, word, beats, number, rng):
    ctx.set(port.araddr, WORD * word)
    ctx.set(port.arlen, beats - 1)
    ctx.set(port.arid, number)
    ctx.set(port.arvalid, 1)
    found, asked = [], True
    while len(found) < beats:
        ctx.set(port.rready, int(rng.integers(0, 2)))
        taken = ctx.get(port.arready)
        if ctx.get(port.rvalid) and ctx.get(port.rready):
            assert ctx.get(port.rid) == number
            assert ctx.get(port.rlast) == (len(found) == beats - 1)
            found.append(ctx.get(port.rdata).to_bytes(WORD, "little"))
        await ctx.tick()
        if asked and taken:
            ctx.set(port.arvalid, 0)
            asked = False
    return b"".join(found)


def test_random_bursts():
    memory = BlockMemory(Geometry(small_config(0, 2, 5), TimingParameters(bus_bits=64)), nbytes=NBYTES)
    rng, expected = np.random.default_rng(5), np.zeros(NBYTES, np.uint8)

    async def bench(ctx):
        for number in range(40):
            beats = int(rng.integers(1, 17))
            word = int(rng.integers(0, NBYTES // WORD - beats))
            place = slice(WORD * word, WORD * (word + beats))
            if number % 2:
                assert await read(ctx, memory.read, word, beats, number % 4, rng) == expected[place].tobytes()
                continue
            data = rng.integers(0, 256, (beats, WORD), dtype=np.uint8)
            strobes = rng.integers(0, 1 << WORD, beats)
            await write(ctx, memory.write, word, data, [int(strobe) for strobe in strobes])
            kept = (strobes[:, None] >> np.arange(WORD) & 1).astype(bool)
            expected[place] = np.where(kept, data, expected[place].reshape(beats, WORD)).reshape(-1)

    simulator = Simulator(memory)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
