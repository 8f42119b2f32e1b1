"""Performance counters: what every unit did in every cycle of a run, and how much was moved."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Elaboratable, Module, Signal, Value

from vta.hardware.registers import UNIT_STATES
from vta.hardware.unit import UnitState

__all__ = ["EventCounter", "UnitCounters"]

_BITS = 32


class EventCounter(Elaboratable):
    """Adds `amount` to `total` in each cycle; `clear` sets it to 0."""

    def __init__(self, amount_bits: int = 1) -> None:
        self.clear = Signal()
        self.amount = Signal(amount_bits)
        self.total = Signal(_BITS)

    def elaborate(self, platform: object) -> Module:
        """Build the counter."""
        m = Module()
        with m.If(self.clear):
            m.d.sync += self.total.eq(0)
        with m.Else():
            m.d.sync += self.total.eq(self.total + self.amount)
        return m


class UnitCounters(Elaboratable):
    """Counts each cycle with `count` as one of busy, memory, token, idle; `clear` sets the counts to 0."""

    def __init__(self, state: UnitState) -> None:
        self._state = state
        self.clear = Signal()
        self.count = Signal()
        self._counters = {name: EventCounter() for name in UNIT_STATES}

    @property
    def totals(self) -> Mapping[str, Value]:
        """The count of each state."""
        return {name: counter.total for name, counter in self._counters.items()}

    def elaborate(self, platform: object) -> Module:
        """Build four counters behind the order of the states."""
        m = Module()
        for name, counter in self._counters.items():
            m.submodules[name] = counter
            m.d.comb += counter.clear.eq(self.clear)
        state, amounts = self._state, {name: counter.amount for name, counter in self._counters.items()}
        with m.If(state.busy):
            m.d.comb += amounts["busy"].eq(self.count)
        with m.Elif(state.memory):
            m.d.comb += amounts["memory"].eq(self.count)
        with m.Elif(state.token):
            m.d.comb += amounts["token"].eq(self.count)
        with m.Else():
            m.d.comb += amounts["idle"].eq(self.count)
        return m
