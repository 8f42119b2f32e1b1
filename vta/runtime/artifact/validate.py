"""Whether the parts of a compiled module fit together, asked of every module that comes from a file."""

from __future__ import annotations

from collections.abc import Sequence

from vta.codegen.region_program import RegionProgram, TensorBinding
from vta.config.hardware import HardwareConfig
from vta.errors import ArtifactError
from vta.ir.graph import Graph
from vta.isa.instruction import INSTRUCTION_DTYPE
from vta.isa.program import Program
from vta.support.shorten import shown
from vta.tile.packing import packed_nbytes, planes_of

__all__ = ["check_module"]


def check_module(graph: Graph, hw: HardwareConfig, regions: Sequence[RegionProgram]) -> None:
    """Raise `ArtifactError` naming the region and what does not fit."""
    names = [region.name for region in regions]
    if len(set(names)) != len(names):
        raise ArtifactError(f"two regions have one name: {', '.join(names)}")
    nodes = set(graph.nodes())
    for region in regions:
        where = f"region {shown(region.name)}"
        if region.program.hw != hw:
            raise ArtifactError(f"{where}: its program is for {region.program.hw.model}, the module for {hw.model}")
        _check_program(region.program, where)
        for binding in (*region.inputs, *region.outputs, *(record.output for record in region.operators)):
            if binding.node not in nodes:
                raise ArtifactError(f"{where}: {shown(binding.symbol)} holds {shown(binding.node)}, which is not in the graph")
            _check_binding(binding, region.program, where)
        _check_records(region, where)


def _check_program(program: Program, where: str) -> None:
    if program.instructions.dtype != INSTRUCTION_DTYPE:
        raise ArtifactError(f"{where}: instructions are of dtype {program.instructions.dtype}")
    if program.image.nbytes > program.image_bytes:
        raise ArtifactError(f"{where}: {program.image.nbytes} initial bytes in an image of {program.image_bytes}")
    names = set()
    for symbol in program.symbols:
        if symbol.name in names:
            raise ArtifactError(f"{where}: symbol {shown(symbol.name)} is there twice")
        names.add(symbol.name)
        if symbol.offset < 0 or symbol.nbytes < 0 or symbol.offset + symbol.nbytes > program.image_bytes:
            raise ArtifactError(
                f"{where}: symbol {shown(symbol.name)} at {symbol.offset}, {symbol.nbytes} bytes, "
                f"is outside the image of {program.image_bytes} bytes"
            )
    indices = program.operator_index
    if len(indices) and (indices.min() < -1 or indices.max() >= len(program.operators)):
        raise ArtifactError(f"{where}: operator_index names operator {int(indices.max())} of {len(program.operators)}")


def _check_binding(binding: TensorBinding, program: Program, where: str) -> None:
    try:
        symbol = program.symbol(binding.symbol)
        planes = planes_of(binding.node.dtype)
        needed = packed_nbytes(binding.node.shape, program.hw, planes)
    except KeyError:
        raise ArtifactError(f"{where}: there is no symbol {shown(binding.symbol)}") from None
    except ValueError as error:
        raise ArtifactError(f"{where}: {shown(binding.symbol)}: {error}") from None
    if binding.planes != planes:
        raise ArtifactError(f"{where}: {shown(binding.symbol)} has {binding.planes} planes; {binding.node.dtype} has {planes}")
    if symbol.nbytes < needed:
        raise ArtifactError(f"{where}: {shown(binding.symbol)} has {symbol.nbytes} bytes; {binding.node.type} takes {needed}")


def _check_records(region: RegionProgram, where: str) -> None:
    end = 0
    for record in region.operators:
        if not end <= record.end <= len(region.program.instructions):
            raise ArtifactError(
                f"{where}: operator {shown(record.name)} ends at instruction {record.end}; "
                f"allowed: {end} to {len(region.program.instructions)}"
            )
        end = record.end
