"""Coded memories: two rows read and one written in a cycle, against an array."""

import numpy as np
import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.sim import Simulator

from tests.hardware.refusal import assert_refused
from vta.hardware.memories.coded import CodedMemory

ROW_BITS = 3


@pytest.mark.parametrize("banks", [2, 4])
def test_two_reads_beside_a_write(banks):
    """Few rows, so that each pair of banks, and each row that is read as it is written, occurs often."""
    memory = CodedMemory(shape=8, row_bits=ROW_BITS, banks=banks)
    rng = np.random.default_rng(banks)
    expected = np.zeros(1 << ROW_BITS, np.uint8)

    async def process(ctx):
        readable = 0
        for _ in range(2000):
            rows = [int(row) for row in rng.integers(0, 1 << ROW_BITS, 2)]
            enable, data = int(rng.integers(0, 2)), int(rng.integers(0, 256))
            for signal, value in (
                (memory.rows[0].row, rows[0]),
                (memory.rows[1].row, rows[1]),
                (memory.writes.enable[0], enable),
                (memory.writes.index[0], readable),
                (memory.writes.data[0], data),
            ):
                ctx.set(signal, value)
            await ctx.tick()
            if enable:
                expected[readable] = data
            assert [ctx.get(read.data) for read in memory.rows] == [expected[row] for row in rows]
            readable = rows[0]

    simulator = Simulator(memory)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()


def test_banks_are_a_power_of_two():
    assert_refused("banks of a memory = 3; allowed: powers of two", lambda: CodedMemory(shape=8, row_bits=4, banks=3))
