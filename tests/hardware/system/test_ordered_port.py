"""Two ways into the system: numbered writes from the network, and the choice between network and serial line."""

import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.sim import Simulator

from vta.hardware.system.address_map import ORDERED_BASE
from vta.hardware.system.bus_arbiter import BusArbiter
from vta.hardware.system.ordered_port import OrderedPort


def run(component, *processes):
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    for process in processes:
        simulator.add_testbench(process)
    simulator.run()


def answering(bus, done, wait=2):
    """Answer each transfer after `wait` cycles with its address plus one; `done` gets them."""

    async def process(ctx):
        waited = 0
        for _ in range(400):
            ready = bool(ctx.get(bus.valid)) and waited == wait
            ctx.set(bus.done, int(ready))
            ctx.set(bus.result, ctx.get(bus.address) + 1)
            if ready:
                done.append((ctx.get(bus.address), ctx.get(bus.data) if ctx.get(bus.write) else None))
            waited = 0 if ready or not ctx.get(bus.valid) else waited + 1
            await ctx.tick()

    return process


def through_the_port(cycles):
    """What comes of cycles of Wishbone, (address, word to write or None): the words read, and the transfers behind the port."""
    port, done, found = OrderedPort(), [], []
    wishbone = port.wishbone

    async def master(ctx):
        for address, word in cycles:
            ctx.set(wishbone.adr, address >> 2)
            ctx.set(wishbone.we, int(word is not None))
            ctx.set(wishbone.dat_w, word or 0)
            ctx.set(wishbone.cyc, 1)
            ctx.set(wishbone.stb, 1)
            await ctx.delay(1e-8)
            while not ctx.get(wishbone.ack):
                await ctx.tick()
                await ctx.delay(1e-8)
            if word is None:
                found.append(ctx.get(wishbone.dat_r))
            await ctx.tick()
            ctx.set(wishbone.stb, 0)
            await ctx.tick()

    run(port, answering(port.bus, done), master)
    return found, done


def numbered(number, address, *words):
    return [
        (ORDERED_BASE, number),
        (ORDERED_BASE + 4, address),
        *((ORDERED_BASE + 8 + 4 * at, word) for at, word in enumerate(words)),
    ]


def test_other_addresses_pass():
    assert through_the_port([(0x100, None), (0x104, 7), (0xF0020000, None)]) == (
        [0x101, 0xF0020001],
        [(0x100, None), (0x104, 7), (0xF0020000, None)],
    )


def test_a_write_goes_on_from_its_address_and_its_number_is_counted():
    cycles = [*numbered(0, 0x40, 1, 2, 3), (ORDERED_BASE, None), *numbered(1, 0xF0000000, 9), (ORDERED_BASE, None)]
    assert through_the_port(cycles) == ([1, 2], [(0x40, 1), (0x44, 2), (0x48, 3), (0xF0000000, 9)])


def test_what_came_before_or_comes_too_early_is_ignored():
    cycles = [*numbered(0, 0x40, 1), *numbered(0, 0x40, 1), *numbered(2, 0x80, 3), *numbered(1, 0x60, 2), *numbered(0, 0x40, 1)]
    assert through_the_port([*cycles, (ORDERED_BASE, None)]) == ([2], [(0x40, 1), (0x60, 2)])


def test_transfers_of_two_masters_stay_whole():
    arbiter, done, found = BusArbiter(), [], {"first": [], "second": []}

    def master(name, start, pause):
        end = getattr(arbiter, name)

        async def process(ctx):
            for index in range(10):
                ctx.set(end.address, start + 4 * index)
                ctx.set(end.write, index % 2)
                ctx.set(end.data, index)
                ctx.set(end.valid, 1)
                await ctx.delay(1e-8)
                while not ctx.get(end.done):
                    await ctx.tick()
                    await ctx.delay(1e-8)
                found[name].append(ctx.get(end.result))
                await ctx.tick()
                ctx.set(end.valid, 0)
                for _ in range(pause):
                    await ctx.tick()

        return process

    run(arbiter, answering(arbiter.bus, done, wait=1), master("first", 0x100, 3), master("second", 0x200, 1))
    for name, start in (("first", 0x100), ("second", 0x200)):
        assert found[name] == [start + 4 * index + 1 for index in range(10)]
        mine = [transfer for transfer in done if transfer[0] & 0xF00 == start]
        assert mine == [(start + 4 * index, index if index % 2 else None) for index in range(10)]
