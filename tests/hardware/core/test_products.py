"""Two products in one multiplier."""

import itertools

import numpy as np
import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.hdl import Module, Signal, signed
from amaranth.sim import Simulator

from vta.hardware.core.products import PACKED_BITS, packed_product, unpacked


def test_both_products_come_back():
    m = Module()
    high, low, factor = (Signal(signed(8)) for _ in range(3))
    product, results = Signal(PACKED_BITS), [Signal(signed(16)) for _ in range(2)]
    m.d.comb += product.eq(packed_product(high, low, factor))
    m.d.comb += [result.eq(part) for result, part in zip(results, unpacked(product), strict=True)]
    values = [-128, -127, -1, 0, 1, 127, *map(int, np.random.default_rng(1).integers(-128, 128, 6))]

    async def process(ctx):
        for a, b, c in itertools.product(values, repeat=3):
            for signal, value in ((high, a), (low, b), (factor, c)):
                ctx.set(signal, value)
            assert [ctx.get(result) for result in results] == [a * c, b * c]

    simulator = Simulator(m)
    simulator.add_testbench(process)
    simulator.run()
