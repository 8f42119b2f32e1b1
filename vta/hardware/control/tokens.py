"""The token queues between the units: four counters."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out, Signature

from vta.hardware.checks import check_range

__all__ = ["GIVEN_TOKENS", "TAKEN_TOKENS", "TokenQueue", "TokenRegister"]

GIVEN_TOKENS = stream.Signature(0, always_ready=True)
"""Gives a token in each cycle in which it is valid."""
TAKEN_TOKENS = stream.Signature(0)
"""Is valid while there is a token to take."""


class TokenRegister(Signature):
    """The host reads `count`, and makes it `value` with `set`."""

    def __init__(self, limit: int) -> None:
        count = range(limit + 1)
        super().__init__({"count": In(count), "set": Out(1), "value": Out(count)})


class TokenQueue(Component):
    """Counts tokens up to `limit`. One `given` beyond it is lost and reported in `overflow`.

    One given and one `taken` in the same cycle leave the count as it is.
    """

    def __init__(self, *, limit: int) -> None:
        check_range("limit of a token queue", limit, 1)
        self._limit = limit
        super().__init__(
            {
                "given": In(GIVEN_TOKENS),
                "taken": Out(TAKEN_TOKENS),
                "register": In(TokenRegister(limit)),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the counter."""
        m = Module()
        register, push, pop = self.register, self.given.valid, self.taken.valid & self.taken.ready
        m.d.comb += [
            self.overflow.eq(push & ~pop & (register.count == self._limit)),
        ]
        with m.If(register.set):
            m.d.sync += [register.count.eq(register.value), self.taken.valid.eq(register.value != 0)]
        with m.Elif(~self.overflow):
            m.d.sync += [
                register.count.eq(register.count + push - pop),
                self.taken.valid.eq(push | (self.taken.valid & ~(pop & (register.count == 1)))),
            ]
        return m
