"""The word bus as master of AXI4-Lite, for the registers of the core."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.ports.axil import AxiLite
from vta.hardware.system.word_bus import WordBus

__all__ = ["RegistersPort"]


class RegistersPort(Component):
    """Makes each transfer of `bus` one of `axil`."""

    def __init__(self) -> None:
        super().__init__({"bus": In(WordBus()), "axil": Out(AxiLite())})

    def elaborate(self, platform: object) -> Module:
        """Hold each channel's request until it is taken."""
        m = Module()
        bus, axil = self.bus, self.axil
        address_taken, data_taken = Signal(), Signal()
        reads, writes = bus.valid & ~bus.write, bus.valid & bus.write
        m.d.comb += [
            axil.araddr.eq(bus.address),
            axil.arvalid.eq(reads & ~address_taken),
            axil.rready.eq(reads),
            axil.awaddr.eq(bus.address),
            axil.awvalid.eq(writes & ~address_taken),
            axil.wdata.eq(bus.data),
            axil.wstrb.eq(~0),
            axil.wvalid.eq(writes & ~data_taken),
            axil.bready.eq(writes),
            bus.done.eq((reads & axil.rvalid) | (writes & axil.bvalid)),
            bus.result.eq(axil.rdata),
        ]
        with m.If(bus.done):
            m.d.sync += [address_taken.eq(0), data_taken.eq(0)]
        with m.Else():
            with m.If((axil.arvalid & axil.arready) | (axil.awvalid & axil.awready)):
                m.d.sync += address_taken.eq(1)
            with m.If(axil.wvalid & axil.wready):
                m.d.sync += data_taken.eq(1)
        return m
