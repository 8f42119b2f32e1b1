"""Performance counters: what every unit did in every cycle of a run, and how much was moved."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import Component, In, Out, Signature

from vta.config.targets import MemoryType
from vta.hardware.control.interfaces import UNIT_STATE, Moved
from vta.hardware.geometry import Geometry, buffer_name
from vta.hardware.registers import UNIT_STATES, UNITS

__all__ = ["RUN_EVENTS", "TOTAL_EVENTS", "Counts", "PerformanceCounters"]

RUN_EVENTS = ("cycles", "acc_writes", "read_beats", "write_beats")
"""What is counted up to the completion of FINISH."""
TOTAL_EVENTS = ("load_instructions", "compute_instructions", "store_instructions", "gemm_uops", "reset_uops", "alu_uops")
"""What is counted until all units rest."""
_EVENTS = RUN_EVENTS + TOTAL_EVENTS
_STATES = tuple(f"{unit}_{state}" for unit in UNITS for state in UNIT_STATES)
_MOVED = (MemoryType.UOP, MemoryType.INP, MemoryType.WGT, MemoryType.ACC, MemoryType.OUT)
_BITS = 32


class Counts(Signature):
    """The value of each counter register, by its name."""

    def __init__(self) -> None:
        moved = (f"{buffer_name(memory)}_bytes{part}" for memory in _MOVED for part in ("", "_high"))
        super().__init__({name: Out(_BITS) for name in (*_EVENTS, *_STATES, *moved)})


class PerformanceCounters(Component):
    """Counts the `states` of units, `events`, and elements `moved`. `clear` sets all counts to 0.

    What belongs to the run counts in cycles with `counting` only. The counts are a cycle late.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        super().__init__(
            {
                "clear": In(1),
                "counting": In(1),
                "states": In(Signature({unit: Out(UNIT_STATE) for unit in UNITS})),
                "events": In(Signature({name: Out(1) for name in _EVENTS})),
                "moved": In(Moved((*_MOVED, MemoryType.TABLE) if geometry.hw.table_unit else _MOVED)),
                "counts": Out(Counts()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the counters."""
        m = Module()
        for name in _EVENTS:
            event, happened = getattr(self.events, name), Signal(name=f"{name}_happened")
            m.d.sync += happened.eq(event & self.counting if name in RUN_EVENTS else event)
            self._count(m, getattr(self.counts, name), happened)
        for unit in UNITS:
            self._count_states(m, unit)
        for memory in _MOVED:
            self._count_moved(m, memory)
        return m

    def _count_states(self, m: Module, unit: str) -> None:
        """Of the states of a unit, the first that holds counts."""
        state = getattr(self.states, unit)
        busy, memory, token = state.busy, ~state.busy & state.memory, ~state.busy & ~state.memory & state.token
        for name, holds in zip(UNIT_STATES, (busy, memory, token, ~busy & ~memory & ~token), strict=True):
            held = Signal(name=f"{unit}_{name}_held")
            m.d.sync += held.eq(self.counting & holds)
            self._count(m, getattr(self.counts, f"{unit}_{name}"), held)

    def _count_moved(self, m: Module, memory: MemoryType) -> None:
        name = buffer_name(memory)
        elements = self._elements(m, name)
        nbytes = elements << self._geometry.hw.log_elem_bytes[memory]
        if memory is MemoryType.ACC and self._geometry.hw.table_unit:
            nbytes = nbytes + (self._elements(m, "table") << self._geometry.hw.log_elem_bytes[MemoryType.TABLE])
        m.d.comb += [
            getattr(self.counts, f"{name}_bytes").eq(nbytes[:_BITS]),
            getattr(self.counts, f"{name}_bytes_high").eq(nbytes[_BITS : 2 * _BITS]),
        ]

    def _elements(self, m: Module, name: str) -> Signal:
        elements, moved = Signal(_BITS, name=f"{name}_elements"), Signal.like(getattr(self.moved, name), name=f"{name}_moved")
        m.d.sync += moved.eq(getattr(self.moved, name))
        self._count(m, elements, moved)
        return elements

    def _count(self, m: Module, count: Signal, amount: Value) -> None:
        m.d.sync += count.eq(Mux(self.clear, 0, count + amount))
