"""The requests of transfers against a walk in Python: where bursts are cut, and what the room allows."""

import numpy as np
import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.sim import Simulator

from tests.hardware.programs import small_config
from tests.hardware.refusal import assert_refused
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
    requests = BurstRequests(Geometry(small_config(0, 2, 5), timing), capacity=capacity, size_bits=28)
    transfers, burst = requests.transfers, requests.bursts.payload
    rng = np.random.default_rng(bus_bits)

    async def transfer(ctx, reserved):
        address, row_bytes, rows, stride = (4 * int(rng.integers(low, high)) for low, high in ((0, 99), (1, 99), (1, 2), (0, 99)))
        expected = [burst for row in range(rows) for burst in bursts(address + row * stride, row_bytes, timing)]
        given = {"address": address, "row_bytes": row_bytes, "rows": rows, "stride": stride}
        assert ctx.get(transfers.ready)
        ctx.set(transfers.payload, given)
        ctx.set(transfers.valid, 1)
        await ctx.tick()
        ctx.set(transfers.valid, 0)
        for word, beats in expected:
            granted = False
            while not granted:
                assert not ctx.get(transfers.ready)
                consumed = int(reserved > 0 and rng.integers(0, 2))
                valid = ctx.get(requests.bursts.valid)
                assert valid == (capacity - reserved >= beats)
                ready = bool(rng.integers(0, 2))
                granted = valid and ready
                if valid:
                    assert (ctx.get(burst.word), ctx.get(burst.beats)) == (word, beats)
                ctx.set(requests.bursts.ready, int(ready))
                ctx.set(requests.consumed, consumed)
                reserved += granted * beats - consumed
                await ctx.tick()
        ctx.set(requests.bursts.ready, 0)
        ctx.set(requests.consumed, 0)
        assert ctx.get(transfers.ready)
        return reserved

    async def process(ctx):
        reserved = 0
        for _ in range(12):
            reserved = await transfer(ctx, reserved)

    simulator = Simulator(requests)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()


def test_a_buffer_holds_a_burst():
    geometry = Geometry(small_config(0, 2, 5), TimingParameters(burst_beats=8))
    assert_refused("beats of a buffer = 7; allowed: 8 or more", lambda: BurstRequests(geometry, capacity=7, size_bits=28))
