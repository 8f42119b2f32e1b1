"""The network's end of the system: what comes as cycles of Wishbone, with writes that are executed once and in their order."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.system.address_map import ORDERED_BASE, REGION_BITS, Ordered
from vta.hardware.system.wishbone import Wishbone
from vta.hardware.system.word_bus import WORD_BITS, WORD_BYTES, WordBus

__all__ = ["OrderedPort"]


class OrderedPort(Component):
    """Makes each cycle of `wishbone` a transfer of `bus`, but for those of the region `ORDERED_BASE`, which it is."""

    def __init__(self) -> None:
        super().__init__({"wishbone": In(Wishbone()), "bus": Out(WordBus())})

    def elaborate(self, platform: object) -> Module:
        """Build the number that is next, and where the next word goes."""
        m = Module()
        wishbone, bus = self.wishbone, self.bus
        asked, ordered, given = Signal(), Signal(), Signal(32)
        following, place, follows = Signal(WORD_BITS), Signal(32), Signal()
        m.d.comb += [
            asked.eq(wishbone.cyc & wishbone.stb),
            given.eq(wishbone.adr << 2),
            ordered.eq(given[REGION_BITS:] == ORDERED_BASE >> REGION_BITS),
            bus.write.eq(wishbone.we),
            bus.data.eq(wishbone.dat_w),
        ]
        with m.If(~ordered):
            m.d.comb += [
                bus.valid.eq(asked),
                bus.address.eq(given),
                wishbone.ack.eq(bus.done),
                wishbone.dat_r.eq(bus.result),
            ]
        with m.Elif(asked):
            m.d.comb += [wishbone.ack.eq(1), wishbone.dat_r.eq(following)]
            with m.If(wishbone.we), m.Switch(given[:REGION_BITS]):
                with m.Case(int(Ordered.NUMBER)):
                    follows_now = wishbone.dat_w == following
                    m.d.sync += [follows.eq(follows_now), following.eq(following + follows_now)]
                with m.Case(int(Ordered.ADDRESS)):
                    m.d.sync += place.eq(wishbone.dat_w)
                with m.Default():
                    m.d.comb += [bus.valid.eq(follows), bus.address.eq(place), wishbone.ack.eq(bus.done | ~follows)]
                    with m.If(bus.done):
                        m.d.sync += place.eq(place + WORD_BYTES)
        return m
