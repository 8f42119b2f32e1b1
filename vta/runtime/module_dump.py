"""Texts of the levels of a compiled network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vta.codegen.dump import Level, program_text, tile_text
from vta.errors import UsageError
from vta.ir.printer import print_graph
from vta.tile.region_lowering import RegionLowering

if TYPE_CHECKING:
    from vta.runtime.compiled_module import CompiledModule

__all__ = ["dump_module"]


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
