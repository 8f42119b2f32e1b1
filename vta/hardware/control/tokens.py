"""The token queues between the units: four counters."""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Signal

__all__ = ["TokenQueue"]


class TokenQueue(Elaboratable):
    """Counts tokens up to `limit`. A push beyond it is lost and reported in `overflow`; `set` takes the count `value` instead.

    A push and a pop in the same cycle leave the count as it is.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.push = Signal()
        self.pop = Signal()
        self.set = Signal()
        self.value = Signal(range(limit + 1))
        self.count = Signal(range(limit + 1))
        self.ready = Signal()
        self.overflow = Signal()

    def elaborate(self, platform: object) -> Module:
        """Build the counter."""
        m = Module()
        m.d.comb += [
            self.ready.eq(self.count != 0),
            self.overflow.eq(self.push & ~self.pop & (self.count == self._limit)),
        ]
        with m.If(self.set):
            m.d.sync += self.count.eq(self.value)
        with m.Elif(~self.overflow):
            m.d.sync += self.count.eq(self.count + self.push - self.pop)
        return m
