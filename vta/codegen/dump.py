"""Texts of the levels that a network goes through on its way to programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from vta.codegen.region_program import CompiledModule
from vta.codegen.tile_text import print_region
from vta.config.hardware import HardwareConfig
from vta.errors import UsageError
from vta.ir.printer import print_graph
from vta.isa.assembly import disassemble
from vta.isa.program import Program
from vta.schedule.schedule import Schedule
from vta.tile.operator import RegionOperators
from vta.tile.region_lowering import RegionLowering

__all__ = ["Level", "dump_module", "program_text", "tile_text"]


class Level(StrEnum):
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


def tile_text(regions: Sequence[RegionOperators], schedules: Sequence[Sequence[Schedule | None]], hw: HardwareConfig) -> str:
    """The operators of regions in program order, each with its schedule, where they have some: see `print_region`."""
    known = schedules or [(None,) * len(region.operators) for region in regions]
    return "\n".join(print_region(region, chosen, hw) for region, chosen in zip(regions, known, strict=True))


def program_text(programs: Iterable[tuple[str, Program]]) -> str:
    """The assembly text of programs with the names of their regions."""
    return "\n".join(f"; region {name}\n{disassemble(program)}" for name, program in programs)


def dump_module(module: CompiledModule, level: str) -> str:
    """The text of one level of a compiled network: see `CompiledModule.dump`."""
    if level == Level.INTEGER:
        return print_graph(module.graph)
    if level == Level.ISA:
        return program_text((region.name, region.program) for region in module.regions)
    if module.partition is None:
        raise UsageError(
            f"a network from a .vta file holds no level {level}; it has integer and isa: compile the model to see the others"
        )
    if level == Level.PARTITION:
        return print_graph(module.partition.graph)
    if level == Level.TILE:
        tiles = RegionLowering(module.graph, module.hw).regions(module.partition.regions)
        return tile_text([tile.region for tile in tiles], module.schedules, module.hw)
    raise UsageError(f"a compiled network holds no level {level}; it has integer, partition, tile and isa")
