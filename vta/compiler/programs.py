"""From a region on the level of tiles to its program, bound to the values of the graph."""

from __future__ import annotations

from collections.abc import Sequence

from vta.codegen.region import compile_operators
from vta.codegen.region_program import OperatorRecord, RegionProgram, TensorBinding
from vta.config.hardware import HardwareConfig
from vta.ir.graph import Node
from vta.partition.fused.fused_operator import view_source
from vta.schedule.schedule import Schedule
from vta.tile.region_lowering import RegionLowering, TileRegion

__all__ = ["region_program"]


def region_program(
    tile: TileRegion, schedules: Sequence[Schedule | None], hw: HardwareConfig, lowering: RegionLowering, serial: bool
) -> RegionProgram:
    """Compile a region by the schedules of its operators. Raises `CompileError` or `EncodingError` if it has no program."""
    region = tile.region
    compiled = compile_operators(region.operators, region.inputs, region.outputs, hw, schedules, serial, tile.results)

    def binding(node: Node) -> TensorBinding:
        tensor = lowering.tensor(node)
        return TensorBinding(view_source(node), tensor.name, tensor.planes)

    records = []
    first = 0
    for fused, last in tile.ends:
        operators = region.operators[first : last + 1]
        macs, kind = sum(operator.macs for operator in operators), operators[-1].kind
        records.append(OperatorRecord(operators[-1].name, kind, macs, binding(fused.result), compiled.ends[last]))
        first = last + 1
    inputs, outputs = map(binding, tile.source.inputs), map(binding, tile.source.outputs)
    return RegionProgram(region.name, compiled.program, tuple(inputs), tuple(outputs), tuple(records))
