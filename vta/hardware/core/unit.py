"""What all units show: in what state they are, and what they have completed."""

from __future__ import annotations

from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import Out, Signature

__all__ = ["UNIT_STATE", "UnitStatus"]

UNIT_STATE = StructLayout({"busy": 1, "memory": 1, "token": 1})
"""The state of a unit in a cycle: the first of busy, memory, token that is 1; idle if none is."""


class UnitStatus(Signature):
    """`completed` is 1 as an instruction completes, `drained` while the unit has none."""

    def __init__(self) -> None:
        super().__init__({"state": Out(UNIT_STATE), "completed": Out(1), "drained": Out(1)})
