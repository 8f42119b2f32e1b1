"""The GEMM core: one multiplier for each of BATCH * BLOCK * BLOCK products, and an adder tree over three stages."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Signal, Value, signed
from amaranth.lib.wiring import Component, In, Out

from vta.config.targets import MemoryType
from vta.hardware.geometry import Geometry

__all__ = ["GemmCore"]

_SCALAR_BITS = 8
_GROUP = 4
"""Products that stage S4 adds up; S5 adds up the groups."""


class GemmCore(Component):
    """Multiplies the `inp` row with the `wgt` row that are there in stage S3; `sums[b * BLOCK + c]` are there in stage S6.

    `enable` has a bit for each of the stages S3, S4 and S5: whether it holds a micro-op that multiplies.
    """

    def __init__(self, geometry: Geometry) -> None:
        hw = geometry.hw
        self._geometry = geometry
        super().__init__(
            {
                "inp": In(geometry.elem_bits(MemoryType.INP)),
                "wgt": In(geometry.elem_bits(MemoryType.WGT)),
                "enable": In(3),
                "sums": Out(signed(2 * _SCALAR_BITS + hw.log_block)).array(hw.batch * hw.block),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the dot product of each row of the input element with each row of the weight element."""
        m = Module()
        g, block = self._geometry, self._geometry.hw.block
        inp, wgt = g.element(MemoryType.INP, self.inp), g.element(MemoryType.WGT, self.wgt)
        for lane, total in enumerate(self.sums):
            row, column = divmod(lane, block)
            products = [Signal(signed(2 * _SCALAR_BITS), name=f"product_{lane}_{k}") for k in range(block)]
            groups = [Signal(signed(2 * _SCALAR_BITS + 2), name=f"group_{lane}_{k}") for k in range(0, block, _GROUP)]
            with m.If(self.enable[0]):
                m.d.sync += [product.eq(inp[row][k] * wgt[column][k]) for k, product in enumerate(products)]
            with m.If(self.enable[1]):
                m.d.sync += [group.eq(_total(products[k * _GROUP :][:_GROUP])) for k, group in enumerate(groups)]
            with m.If(self.enable[2]):
                m.d.sync += total.eq(_total(groups))
        return m


def _total(terms: Sequence[Value]) -> Value:
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=True)]
    return terms[0]
