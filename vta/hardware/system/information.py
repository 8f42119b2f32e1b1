"""The registers that say what the system is."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Module
from amaranth.lib.wiring import Component, In

from vta.hardware.system.address_map import NOBODY, REGION_BITS, Information, StateBit
from vta.hardware.system.word_bus import WordBus

__all__ = ["InformationRegisters"]


class InformationRegisters(Component):
    """Answers on `bus` with `constants`, by register, and the state; what is written is ignored."""

    def __init__(self, constants: Mapping[Information, int]) -> None:
        self._constants = constants
        super().__init__({"bus": In(WordBus()), "memory_ready": In(1)})

    def elaborate(self, platform: object) -> Module:
        """Build the choice of the answer."""
        m = Module()
        m.d.comb += [self.bus.done.eq(self.bus.valid), self.bus.result.eq(NOBODY)]
        with m.Switch(self.bus.address[:REGION_BITS]):
            for register, value in self._constants.items():
                with m.Case(int(register)):
                    m.d.comb += self.bus.result.eq(value)
            with m.Case(int(Information.STATE)):
                m.d.comb += self.bus.result.eq(self.memory_ready << int(StateBit.MEMORY_READY))
        return m
