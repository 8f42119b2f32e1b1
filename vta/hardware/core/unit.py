"""What all three executing units show: their instruction queue, and in what state they are."""

from __future__ import annotations

from amaranth.hdl import Signal

from vta.hardware.geometry import INSTRUCTION_BITS

__all__ = ["UnitPort", "UnitState"]


class UnitState:
    """The state of a unit in a cycle: the first of busy, memory, token that is 1; idle if none is."""

    def __init__(self) -> None:
        self.busy = Signal()
        self.memory = Signal()
        self.token = Signal()


class UnitPort:
    """The head `instruction` of the unit's queue, there if `valid`, taken with `accept`; and reports to control."""

    def __init__(self) -> None:
        self.instruction = Signal(INSTRUCTION_BITS)
        self.valid = Signal()
        self.accept = Signal()
        self.completed = Signal()
        self.drained = Signal()
        self.state = UnitState()
