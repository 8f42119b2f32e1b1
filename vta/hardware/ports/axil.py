"""An AXI4-Lite slave that turns the bus into one register write or read at a time."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib.wiring import Component, In, Out, Signature

__all__ = ["AxiLite", "AxiLiteSlave"]

_OKAY = 0


class AxiLite(Signature):
    """AXI4-Lite with 16 address and 32 data bits, as its master sees it."""

    def __init__(self) -> None:
        super().__init__(
            {
                "awvalid": Out(1),
                "awready": In(1),
                "awaddr": Out(16),
                "wvalid": Out(1),
                "wready": In(1),
                "wdata": Out(32),
                "wstrb": Out(4),
                "bvalid": In(1),
                "bready": Out(1),
                "bresp": In(2),
                "arvalid": Out(1),
                "arready": In(1),
                "araddr": Out(16),
                "rvalid": In(1),
                "rready": Out(1),
                "rdata": In(32),
                "rresp": In(2),
            }
        )


class AxiLiteSlave(Component):
    """In a cycle with `write`, the bits of `write_mask` of the register `write_index` are to become those of `write_data`.

    `read_data` is to be the register `read_index`. Indices are byte addresses divided by 4.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "bus": In(AxiLite()),
                "write": Out(1),
                "write_index": Out(14),
                "write_data": Out(32),
                "write_mask": Out(32),
                "read_index": Out(14),
                "read_data": In(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build both channels: one answer each is outstanding at most."""
        m = Module()
        bus = self.bus
        m.d.comb += [
            self.write.eq(bus.awvalid & bus.wvalid & ~bus.bvalid),
            bus.awready.eq(self.write),
            bus.wready.eq(self.write),
            bus.bresp.eq(_OKAY),
            bus.rresp.eq(_OKAY),
            self.write_index.eq(bus.awaddr[2:]),
            self.write_data.eq(bus.wdata),
            *(self.write_mask.word_select(lane, 8).eq(bus.wstrb[lane].replicate(8)) for lane in range(4)),
            bus.arready.eq(~bus.rvalid),
            self.read_index.eq(bus.araddr[2:]),
        ]
        with m.If(self.write):
            m.d.sync += bus.bvalid.eq(1)
        with m.Elif(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(bus.arvalid & bus.arready):
            m.d.sync += [bus.rvalid.eq(1), bus.rdata.eq(self.read_data)]
        with m.Elif(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        return m
