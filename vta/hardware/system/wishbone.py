"""The word bus as master of Wishbone, for the registers of a memory controller."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib.wiring import Component, In, Out, Signature

from vta.hardware.system.address_map import REGION_BITS
from vta.hardware.system.word_bus import WORD_BITS, WORD_BYTES, WordBus

__all__ = ["Wishbone", "WishbonePort"]


class Wishbone(Signature):
    """Classic cycles of Wishbone with addresses of words."""

    def __init__(self) -> None:
        super().__init__(
            {
                "adr": Out(30),
                "dat_w": Out(WORD_BITS),
                "dat_r": In(WORD_BITS),
                "sel": Out(WORD_BYTES),
                "cyc": Out(1),
                "stb": Out(1),
                "we": Out(1),
                "ack": In(1),
            }
        )


class WishbonePort(Component):
    """Makes each transfer of `bus` a cycle of `wishbone`, at its address within the region."""

    def __init__(self) -> None:
        super().__init__({"bus": In(WordBus()), "wishbone": Out(Wishbone())})

    def elaborate(self, platform: object) -> Module:
        """Join the signals."""
        m = Module()
        bus, wishbone = self.bus, self.wishbone
        m.d.comb += [
            wishbone.adr.eq(bus.address[2:REGION_BITS]),
            wishbone.dat_w.eq(bus.data),
            wishbone.sel.eq(~0),
            wishbone.cyc.eq(bus.valid),
            wishbone.stb.eq(bus.valid),
            wishbone.we.eq(bus.write),
            bus.done.eq(wishbone.ack),
            bus.result.eq(wishbone.dat_r),
        ]
        return m
