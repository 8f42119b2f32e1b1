"""What control and the units tell each other."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.lib.data import StructLayout
from amaranth.lib.wiring import Out, Signature

from vta.config.targets import MemoryType
from vta.hardware.geometry import ADDRESS_BITS, buffer_name

__all__ = ["UNIT_STATE", "Bases", "Moved", "UnitStatus"]

_COUNT_BITS = 8
"""Bits of the number of elements that one beat holds."""

UNIT_STATE = StructLayout({"busy": 1, "memory": 1, "token": 1})
"""The state of a unit in a cycle: the first of busy, memory, token that is 1; idle if none is."""


class Bases(Signature):
    """The byte addresses of the instructions and of the first element of each memory."""

    def __init__(self) -> None:
        super().__init__({name: Out(ADDRESS_BITS) for name in ("instruction", "uop", "inp", "wgt", "acc", "out")})


class UnitStatus(Signature):
    """`completed` is 1 as an instruction completes, `drained` while the unit has none."""

    def __init__(self) -> None:
        super().__init__({"state": Out(UNIT_STATE), "completed": Out(1), "drained": Out(1)})


class Moved(Signature):
    """How many elements of each of `memories`, by its name, are moved in a cycle."""

    def __init__(self, memories: Iterable[MemoryType]) -> None:
        super().__init__({buffer_name(memory): Out(_COUNT_BITS) for memory in memories})
