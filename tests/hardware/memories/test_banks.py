"""Banked memories: consecutive rows written and read in one cycle, wherever they begin."""

import numpy as np
import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from tests.hardware.refusal import assert_refused
from vta.hardware.memories.banks import BankedMemory, write_row, write_rows

ROW_BITS = 4
ROWS = 1 << ROW_BITS


def simulate(module, process):
    simulator = Simulator(module)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()


@pytest.mark.parametrize(("banks", "lanes"), [(1, 1), (2, 2), (4, 2), (8, 8), (32, 32)])
def test_rows_and_windows(banks, lanes):
    memory = BankedMemory(shape=8, row_bits=ROW_BITS, banks=banks, rows=1, windows=1)
    (row_read,), (window,) = memory.rows, memory.windows
    enable, row, first, count = Signal(), Signal(ROW_BITS), Signal(range(lanes)), Signal(range(lanes + 1))
    beat = [Signal(8, name=f"beat_{lane}") for lane in range(lanes)]
    m = Module()
    m.submodules.memory = memory
    with m.If(enable):
        m.d.comb += write_rows(memory.writes, row=row, lanes=beat, first_lane=first, count=count)
    rng = np.random.default_rng(banks)
    expected = np.zeros(ROWS, np.uint8)

    async def process(ctx):
        for _ in range(100):
            start, lane = int(rng.integers(0, ROWS)), int(rng.integers(0, lanes))
            number = int(min(rng.integers(0, lanes - lane + 1), ROWS - start))
            values = rng.integers(0, 256, lanes)
            for signal, value in zip(beat, values, strict=True):
                ctx.set(signal, int(value))
            for signal, value in ((enable, 1), (row, start), (first, lane), (count, number)):
                ctx.set(signal, value)
            await ctx.tick()
            ctx.set(enable, 0)
            expected[start : start + number] = values[lane : lane + number]
            at = int(rng.integers(0, ROWS))
            ctx.set(row_read.row, at)
            ctx.set(window.row, at)
            ctx.set(window.enable, 1)
            await ctx.tick()
            ctx.set(window.enable, 0)
            assert ctx.get(row_read.data) == expected[at]
            await ctx.tick()
            shown = [ctx.get(lane) for lane in window.lanes[: ROWS - at]]
            assert shown == expected[at : at + banks].tolist()

    simulate(m, process)


@pytest.mark.parametrize("forwards", [False, True])
def test_read_in_the_cycle_of_a_write(forwards):
    memory = BankedMemory(shape=8, row_bits=ROW_BITS, banks=1, rows=1, forwards=forwards)
    (read,) = memory.rows
    enable, row, data = Signal(), Signal(ROW_BITS), Signal(8)
    m = Module()
    m.submodules.memory = memory
    m.d.comb += write_row(memory.writes, enable=enable, row=row, data=data)

    async def process(ctx):
        for signal, value in ((enable, 1), (row, 3), (data, 7), (read.row, 3)):
            ctx.set(signal, value)
        await ctx.tick()
        assert ctx.get(read.data) == (7 if forwards else 0)

    simulate(m, process)


@pytest.mark.parametrize("banks", [0, 3])
def test_banks_are_a_power_of_two(banks):
    assert_refused(
        f"banks of a memory = {banks}; allowed: powers of two",
        lambda: BankedMemory(shape=8, row_bits=ROW_BITS, banks=banks, rows=1),
    )


@pytest.mark.parametrize("forwards", [False, True])
@pytest.mark.parametrize("reads", [2, 5])
def test_every_read_has_its_own_row(reads, forwards):
    memory = BankedMemory(shape=8, row_bits=ROW_BITS, banks=2, rows=reads, forwards=forwards)
    enable, row, value = Signal(), Signal(ROW_BITS), Signal(8)
    m = Module()
    m.submodules.memory = memory
    m.d.comb += write_row(memory.writes, enable=enable, row=row, data=value)
    rng = np.random.default_rng(reads)
    expected = np.zeros(ROWS, np.uint8)

    async def process(ctx):
        for _ in range(100):
            before = expected.copy()
            at, written = int(rng.integers(0, ROWS)), int(rng.integers(0, 256))
            places = [at, *rng.integers(0, ROWS, reads - 1).tolist()]
            ctx.set(enable, 1)
            ctx.set(row, at)
            ctx.set(value, written)
            for read, place in zip(memory.rows, places, strict=True):
                ctx.set(read.row, place)
            await ctx.tick()
            expected[at] = written
            shown = expected if forwards else before
            assert [ctx.get(read.data) for read in memory.rows] == shown[places].tolist()

    simulate(m, process)
