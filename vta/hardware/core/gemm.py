"""The GEMM core: BATCH * BLOCK * BLOCK products, each with a multiplier or two in one, and an adder tree over three stages."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Const, Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import Component, In, Member, Out

from vta.config.targets import MemoryType
from vta.hardware.checks import check_range
from vta.hardware.core.products import PACKED_BITS, packed_product, unpacked
from vta.hardware.geometry import Geometry
from vta.isa.instruction import DEPTHWISE_TAPS

__all__ = ["GemmCore"]

_SCALAR_BITS = 8
_GROUP = 4
"""Products that stage S5 adds up; S6 adds up the groups."""


class GemmCore(Component):
    """Multiplies the `inp` row with the `wgt` row that are there in stage S3; `sums[b * BLOCK + c]` are there at the end of S6.

    `enable` has a bit for each of the stages S3, S4 and S5: whether it holds a micro-op that multiplies. Rows are multiplied in
    S4, which is told whether it is `depthwise`.
    """

    def __init__(self, geometry: Geometry) -> None:
        hw = geometry.hw
        self._geometry = geometry
        self._packs = geometry.fabric.dsp48 and hw.block > 1
        depthwise: dict[str, Member] = {}
        if hw.depthwise_unit:
            check_range("BLOCK of a core with DEPTHWISE", hw.block, 2 * _GROUP if self._packs else _GROUP)
            depthwise = {"depthwise": In(1), "taps": In(geometry.elem_bits(MemoryType.INP)).array(DEPTHWISE_TAPS)}
        super().__init__(
            {
                **depthwise,
                "inp": In(geometry.elem_bits(MemoryType.INP)),
                "wgt": In(geometry.elem_bits(MemoryType.WGT)),
                "enable": In(3),
                "sums": Out(signed(2 * _SCALAR_BITS + hw.log_block)).array(hw.batch * hw.block),
            }
        )
        self._given = {"inp": self.inp, "wgt": self.wgt}
        if hw.depthwise_unit:
            self._given |= {f"tap_{index}": tap for index, tap in enumerate(self.taps)}
        self._held = {name: Signal.like(given, name=f"held_{name}") for name, given in self._given.items()}
        memories = {name: MemoryType.WGT if name == "wgt" else MemoryType.INP for name in self._given}
        self._elements = {name: geometry.element(memories[name], held) for name, held in self._held.items()}

    def elaborate(self, platform: object) -> Module:
        """Build the dot product of each row of the input element with each row of the weight element."""
        m = Module()
        with m.If(self.enable[0]):
            # What comes from a block memory comes too late to be multiplied at once.
            m.d.sync += [held.eq(self._given[name]) for name, held in self._held.items()]
        for lane in range(0, len(self.sums), 2 if self._packs else 1):
            for offset, products in enumerate(self._packed(m, lane) if self._packs else [self._products(m, lane)]):
                self._add_up(m, lane + offset, products)
        return m

    def _products(self, m: Module, lane: int) -> list[Value]:
        """Return the products of `lane`, registered."""
        row, column = divmod(lane, self._geometry.hw.block)
        products = [Signal(signed(2 * _SCALAR_BITS), name=f"product_{lane}_{k}") for k in range(self._geometry.hw.block)]
        with m.If(self.enable[1]):
            m.d.sync += [
                product.eq(self._factor(row, k, (column,)) * self._weight(column, k, k)) for k, product in enumerate(products)
            ]
        return list(products)

    def _packed(self, m: Module, lane: int) -> list[list[Value]]:
        """Return the products of `lane` and of the next one: they share the input."""
        row, column = divmod(lane, self._geometry.hw.block)
        pairs = [Signal(PACKED_BITS, name=f"pair_{lane}_{k}") for k in range(self._geometry.hw.block)]
        with m.If(self.enable[1]):
            for k, pair in enumerate(pairs):
                # With DEPTHWISE the lanes have the first products each for itself, one lane after the other.
                high, low = self._weight(column + 1, k, k - DEPTHWISE_TAPS), self._weight(column, k, k)
                m.d.sync += pair.eq(packed_product(high, low, self._factor(row, k, (column, column + 1))))
        both = [unpacked(pair) for pair in pairs]
        return [[low for _, low in both], [high for high, _ in both]]

    def _factor(self, row: int, k: int, columns: Sequence[int]) -> Value:
        """Return the input of product `k` of the lanes in `row` at `columns`; with DEPTHWISE that of a tap of one of them."""
        plain = self._elements["inp"][row][k]
        if not self._geometry.hw.depthwise_unit:
            return plain
        own: Value = Const(0, signed(_SCALAR_BITS))
        which, tap = divmod(k, DEPTHWISE_TAPS)
        if which < len(columns):
            own = self._elements[f"tap_{tap}"][row][columns[which]]
        return Mux(self.depthwise, own, plain)

    def _weight(self, column: int, k: int, tap: int) -> Value:
        """Return the weight of product `k` of the lane at `column`; with DEPTHWISE it is that of `tap`, or 0 if that is none."""
        weights = self._elements["wgt"]
        plain = weights[column][k]
        if not self._geometry.hw.depthwise_unit:
            return plain
        own = weights[tap][column] if 0 <= tap < DEPTHWISE_TAPS else Const(0, signed(_SCALAR_BITS))
        # Where no lane has a tap, the input is 0.
        return Mux(self.depthwise, own, plain) if k < 2 * DEPTHWISE_TAPS else plain

    def _add_up(self, m: Module, lane: int, products: Sequence[Value]) -> None:
        groups = [Signal(signed(2 * _SCALAR_BITS + 2), name=f"group_{lane}_{k}") for k in range(0, len(products), _GROUP)]
        with m.If(self.enable[2]):
            m.d.sync += [group.eq(_total(products[k * _GROUP :][:_GROUP])) for k, group in enumerate(groups)]
        m.d.comb += self.sums[lane].eq(_total(groups))


def _total(terms: Sequence[Value]) -> Value:
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=True)]
    return terms[0]
