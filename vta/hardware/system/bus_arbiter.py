"""One word bus for two: the serial line and the network."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import Component, In, Out

from vta.hardware.system.word_bus import WordBus

__all__ = ["BusArbiter"]


class BusArbiter(Component):
    """Passes on the transfers of `first` and `second`, each whole; those of `first` go before."""

    def __init__(self) -> None:
        super().__init__({"first": In(WordBus()), "second": In(WordBus()), "bus": Out(WordBus())})

    def elaborate(self, platform: object) -> Module:
        """Choose who goes, and stay with it until it is done."""
        m = Module()
        first, second, bus = self.first, self.second, self.bus
        chosen, held, going_on = Signal(), Signal(), Signal()
        m.d.comb += [
            chosen.eq(Mux(going_on, held, ~first.valid)),
            bus.valid.eq(Mux(chosen, second.valid, first.valid)),
            first.done.eq(bus.done & ~chosen),
            second.done.eq(bus.done & chosen),
        ]
        m.d.comb += [getattr(bus, name).eq(Mux(chosen, getattr(second, name), getattr(first, name))) for name in _GIVEN]
        m.d.comb += [end.result.eq(bus.result) for end in (first, second)]
        m.d.sync += [held.eq(chosen), going_on.eq(bus.valid & ~bus.done)]
        return m


_GIVEN = ("write", "address", "data")
