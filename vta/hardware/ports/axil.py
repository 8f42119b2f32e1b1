"""An AXI4-Lite slave that turns the bus into one register write or read at a time."""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Signal

__all__ = ["AxiLite", "AxiLiteSlave"]

_OKAY = 0


class AxiLite:
    """The signals of a slave with 16 address and 32 data bits."""

    def __init__(self) -> None:
        self.awvalid = Signal()
        self.awready = Signal()
        self.awaddr = Signal(16)
        self.wvalid = Signal()
        self.wready = Signal()
        self.wdata = Signal(32)
        self.wstrb = Signal(4)
        self.bvalid = Signal()
        self.bready = Signal()
        self.bresp = Signal(2)
        self.arvalid = Signal()
        self.arready = Signal()
        self.araddr = Signal(16)
        self.rvalid = Signal()
        self.rready = Signal()
        self.rdata = Signal(32)
        self.rresp = Signal(2)


class AxiLiteSlave(Elaboratable):
    """In a cycle with `write`, the bits of `write_mask` of the register `write_index` are to become those of `write_data`.

    `read_data` is to be the register `read_index`. Indices are byte addresses divided by 4.
    """

    def __init__(self) -> None:
        self.bus = AxiLite()
        self.write = Signal()
        self.write_index = Signal(14)
        self.write_data = Signal(32)
        self.write_mask = Signal(32)
        self.read_index = Signal(14)
        self.read_data = Signal(32)

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
