"""The zero elements of random padded loads: each of them once, one a cycle."""

import numpy as np
import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from tests.hardware.programs import Programs, small_config
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.hardware.core.load import LOADED
from vta.hardware.geometry import Geometry
from vta.hardware.transfers.decoder import TransferDecoder
from vta.hardware.transfers.plan import end_row_of
from vta.hardware.transfers.zeros import ZeroElements
from vta.isa import Opcode, encode


def zero_rows(load):
    before, size, after = (int(load[name][0]) for name in ("x_pad_0", "x_size", "x_pad_1"))
    top, rows, bottom = (int(load[name][0]) for name in ("y_pad_0", "y_size", "y_pad_1"))
    if not size or not rows:
        return []
    places = np.ones((top + rows + bottom, before + size + after), bool)
    places[top : top + rows, before : before + size] = False
    return (np.flatnonzero(places) + load["sram_base"][0]).tolist()


def test_random_pads():
    hw = small_config(0, 2, 5, (4, 5, 7, 5))
    decoder = TransferDecoder(Geometry(hw, TimingParameters()), LOADED)
    zeros = ZeroElements(row_bits=hw.log_depth[MemoryType.INP])
    elements = zeros.elements
    m = Module()
    m.submodules += [decoder, zeros]
    end_row = Signal(hw.log_depth[MemoryType.INP])
    m.d.comb += [zeros.loads.payload.eq(decoder.plan.zeros), end_row.eq(end_row_of(decoder.plan))]
    maker = Programs(hw, np.random.default_rng(0), pad=3, rows=5)

    async def process(ctx):
        for _ in range(150):
            load = maker.transfer(Opcode.LOAD, MemoryType.INP)
            ctx.set(decoder.instruction, int.from_bytes(encode(load, hw).tobytes(), "little"))
            ctx.set(zeros.loads.valid, 1)
            await ctx.tick()
            ctx.set(zeros.loads.valid, 0)
            ctx.set(elements.ready, 1)
            expected = zero_rows(load)
            for place, row in enumerate(expected):
                assert ctx.get(elements.valid)
                base = ctx.get(end_row) if ctx.get(elements.payload.at_end) else 0
                assert (base + ctx.get(elements.payload.row)) % (1 << len(end_row)) == row
                assert ctx.get(elements.payload.last) == (place == len(expected) - 1)
                await ctx.tick()
            assert not ctx.get(elements.valid)
            ctx.set(elements.ready, 0)

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()
