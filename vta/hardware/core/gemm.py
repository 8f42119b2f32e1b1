"""The GEMM core: BATCH * BLOCK * BLOCK products, each with a multiplier or two in one, and an adder tree over three stages."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Module, Signal, Value, signed
from amaranth.lib.wiring import Component, In, Out

from vta.config.targets import MemoryType
from vta.hardware.core.products import PACKED_BITS, packed_product, unpacked
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
        self._inp = geometry.element(MemoryType.INP, self.inp)
        self._wgt = geometry.element(MemoryType.WGT, self.wgt)

    def elaborate(self, platform: object) -> Module:
        """Build the dot product of each row of the input element with each row of the weight element."""
        m = Module()
        packs = self._geometry.fabric.dsp48 and self._geometry.hw.block > 1
        for lane in range(0, len(self.sums), 2 if packs else 1):
            for offset, products in enumerate(self._packed(m, lane) if packs else [self._products(m, lane)]):
                self._add_up(m, lane + offset, products)
        return m

    def _products(self, m: Module, lane: int) -> list[Value]:
        """Return the products of `lane`, registered."""
        row, column = divmod(lane, self._geometry.hw.block)
        products = [Signal(signed(2 * _SCALAR_BITS), name=f"product_{lane}_{k}") for k in range(self._geometry.hw.block)]
        with m.If(self.enable[0]):
            m.d.sync += [product.eq(self._inp[row][k] * self._wgt[column][k]) for k, product in enumerate(products)]
        return list(products)

    def _packed(self, m: Module, lane: int) -> list[list[Value]]:
        """Return the products of `lane` and of the next one: they share the input."""
        row, column = divmod(lane, self._geometry.hw.block)
        pairs = [Signal(PACKED_BITS, name=f"pair_{lane}_{k}") for k in range(self._geometry.hw.block)]
        first, second = self._wgt[column], self._wgt[column + 1]
        with m.If(self.enable[0]):
            m.d.sync += [pair.eq(packed_product(second[k], first[k], self._inp[row][k])) for k, pair in enumerate(pairs)]
        both = [unpacked(pair) for pair in pairs]
        return [[low for _, low in both], [high for high, _ in both]]

    def _add_up(self, m: Module, lane: int, products: Sequence[Value]) -> None:
        groups = [Signal(signed(2 * _SCALAR_BITS + 2), name=f"group_{lane}_{k}") for k in range(0, len(products), _GROUP)]
        with m.If(self.enable[1]):
            m.d.sync += [group.eq(_total(products[k * _GROUP :][:_GROUP])) for k, group in enumerate(groups)]
        with m.If(self.enable[2]):
            m.d.sync += self.sums[lane].eq(_total(groups))


def _total(terms: Sequence[Value]) -> Value:
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=True)]
    return terms[0]
