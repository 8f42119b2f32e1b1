"""Texts of the levels that a network goes through on its way to programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from vta.config.hardware import HardwareConfig
from vta.isa.program import Program
from vta.schedule.schedule import Schedule
from vta.tile.operator import RegionOperators

__all__ = ["Level", "program_text", "tile_text"]


class Level(str, Enum):
    """The levels, in order."""

    GRAPH = "graph"
    """Float or quantised operators, as imported and rewritten."""
    INTEGER = "integer"
    """Integer operators without scales."""
    PARTITION = "partition"
    """The integer graph with regions as inner graphs, and fused operators inside them."""
    TILE = "tile"
    """Operators on tiles and their schedules."""
    ISA = "isa"
    """Instructions."""

    def __str__(self) -> str:
        return str(self.value)


def tile_text(regions: Sequence[RegionOperators], schedules: Sequence[Sequence[Schedule | None]], hw: HardwareConfig) -> str:
    """The operators of regions in program order, each with its schedule, where they have some: see `print_region`."""
    # What writes texts, and reads them, is imported for a dump alone.
    from vta.codegen.tile_text import print_region

    known = schedules or [(None,) * len(region.operators) for region in regions]
    return "\n".join(print_region(region, chosen, hw) for region, chosen in zip(regions, known, strict=True))


def program_text(programs: Iterable[tuple[str, Program]]) -> str:
    """The assembly text of programs with the names of their regions."""
    from vta.isa.assembly import disassemble

    return "\n".join(f"; region {name}\n{disassemble(program)}" for name, program in programs)
