"""Performance counters: what every unit did in every cycle of a run, and how much was moved."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value

from vta.config.targets import MemoryType
from vta.hardware.core.unit import UnitState
from vta.hardware.geometry import Geometry
from vta.hardware.registers import UNIT_STATES

__all__ = ["RUN_EVENTS", "TOTAL_EVENTS", "PerformanceCounters"]

RUN_EVENTS = ("cycles", "acc_writes", "read_beats", "write_beats")
"""What is counted up to the completion of FINISH."""
TOTAL_EVENTS = ("load_instructions", "compute_instructions", "store_instructions", "gemm_uops", "reset_uops", "alu_uops")
"""What is counted until all units rest."""
_MOVED = (MemoryType.UOP, MemoryType.INP, MemoryType.WGT, MemoryType.ACC, MemoryType.OUT)
_BITS = 32
_ELEMENTS_BITS = 8
"""Bits of the number of elements that one beat holds."""


class PerformanceCounters(Elaboratable):
    """Counts the states of units, `events` by name, and `elements` moved by memory. `clear` sets all counts to 0.

    What belongs to the run counts in cycles with `counting` only.
    """

    def __init__(self, geometry: Geometry, states: Mapping[str, UnitState]) -> None:
        self._geometry = geometry
        self._states = dict(states)
        self.clear = Signal()
        self.counting = Signal()
        self.events = {name: Signal(name=f"event_{name}") for name in RUN_EVENTS + TOTAL_EVENTS}
        self.elements = {memory: Signal(_ELEMENTS_BITS, name=f"elements_{memory.name.lower()}") for memory in _MOVED}
        self._counts = {name: Signal(_BITS, name=name) for name in self.events}
        self._counts |= {f"{unit}_{state}": Signal(_BITS, name=f"{unit}_{state}") for unit in states for state in UNIT_STATES}
        self._moved = {memory: Signal(_BITS, name=f"moved_{memory.name.lower()}") for memory in _MOVED}

    @property
    def readings(self) -> dict[str, Value]:
        """The value of each counter register by name."""
        readings: dict[str, Value] = dict(self._counts)
        for memory, elements in self._moved.items():
            name, nbytes = memory.name.lower(), elements << self._geometry.hw.log_elem_bytes[memory]
            readings |= {f"{name}_bytes": nbytes[:_BITS], f"{name}_bytes_high": nbytes[_BITS:]}
        return readings

    def elaborate(self, platform: object) -> Module:
        """Build the counters; of the states of a unit, the first that holds counts."""
        m = Module()
        amounts: dict[str, Value] = dict(self.events)
        for name in RUN_EVENTS:
            amounts[name] = self.events[name] & self.counting
        for unit, state in self._states.items():
            busy, memory, token = state.busy, ~state.busy & state.memory, ~state.busy & ~state.memory & state.token
            for name, holds in zip(UNIT_STATES, (busy, memory, token, ~busy & ~memory & ~token), strict=True):
                amounts[f"{unit}_{name}"] = self.counting & holds
        for name, count in self._counts.items():
            m.d.sync += count.eq(Mux(self.clear, 0, count + amounts[name]))
        for memory_type, count in self._moved.items():
            m.d.sync += count.eq(Mux(self.clear, 0, count + self.elements[memory_type]))
        return m
