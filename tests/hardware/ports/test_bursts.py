"""The requests of transfers against a walk in Python: where bursts are cut, and what the room allows."""

import numpy as np
import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.sim import Simulator

from tests.hardware.programs import small_config
from vta.config.timing import TimingParameters
from vta.hardware.geometry import Geometry
from vta.hardware.ports.bursts import BurstRequests


def bursts(address, nbytes, timing):
    word, end = address // timing.bus_bytes, (address + nbytes - 1) // timing.bus_bytes + 1
    while word < end:
        stop = min(end, (word // timing.burst_beats + 1) * timing.burst_beats)
        yield word, stop - word
        word = stop


@pytest.mark.parametrize(("bus_bits", "burst_beats", "capacity"), [(64, 4, 5), (128, 1, 1), (512, 8, 100)])
def test_bursts_and_room(bus_bits, burst_beats, capacity):
    timing = TimingParameters(bus_bits=bus_bits, burst_beats=burst_beats)
    requests = BurstRequests(Geometry(small_config(0, 2, 5), timing), capacity, 28)
    rng = np.random.default_rng(bus_bits)

    async def transfer(ctx, reserved):
        address, row_bytes, rows, stride = (4 * int(rng.integers(low, high)) for low, high in ((0, 99), (1, 99), (1, 2), (0, 99)))
        expected = [burst for row in range(rows) for burst in bursts(address + row * stride, row_bytes, timing)]
        for name, value in {"address": address, "row_bytes": row_bytes, "rows": rows, "stride": stride, "start": 1}.items():
            ctx.set(getattr(requests, name), value)
        await ctx.tick()
        ctx.set(requests.start, 0)
        for word, beats in expected:
            granted = False
            while not granted:
                assert ctx.get(requests.busy)
                consumed = int(reserved > 0 and rng.integers(0, 2))
                valid = ctx.get(requests.request.valid)
                assert valid == (capacity - reserved >= beats)
                granted = bool(valid and rng.integers(0, 2))
                if valid:
                    assert (ctx.get(requests.request.word), ctx.get(requests.request.beats)) == (word, beats)
                ctx.set(requests.request.grant, int(granted))
                ctx.set(requests.consumed, consumed)
                reserved += granted * beats - consumed
                await ctx.tick()
        ctx.set(requests.request.grant, 0)
        ctx.set(requests.consumed, 0)
        assert not ctx.get(requests.busy)
        return reserved

    async def process(ctx):
        reserved = 0
        for _ in range(12):
            reserved = await transfer(ctx, reserved)

    simulator = Simulator(requests)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()
