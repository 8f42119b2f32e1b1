"""From a region on the level of tiles to its program, bound to the values of the graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from vta.codegen.region import CompiledOperators, compile_operators
from vta.codegen.region_program import OperatorRecord, RegionProgram, TensorBinding
from vta.config.hardware import HardwareConfig
from vta.ir.graph import Node
from vta.partition.fused.fused_operator import view_source
from vta.schedule.schedule import Schedule
from vta.tile.gemm_operator import GemmOperator
from vta.tile.region_lowering import RegionLowering, TileRegion

if TYPE_CHECKING:
    from vta.codegen.packed_constant import PackedConstant

__all__ = ["region_program"]

_LARGE = 256 << 10
"""Bytes of a constant from which on it pays not to hold it twice."""


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
    packed = tuple(_packed(tile, compiled))
    return RegionProgram(region.name, compiled.program, tuple(inputs), tuple(outputs), tuple(records), packed)


def _packed(tile: TileRegion, compiled: CompiledOperators) -> Iterator[PackedConstant]:
    """Large weights of the graph that the program holds as blocks."""
    sources = {source: None for fused in tile.source.operators for source in fused.anchor.inputs}
    values = [node.value for node in sources if node.value is not None and node.dtype == "int8" and node.value.nbytes >= _LARGE]
    if not values:
        return
    from vta.codegen.packed_constant import packed_constant  # which small networks do without

    terms = [term for operator in tile.region.operators if isinstance(operator, GemmOperator) for term in operator.terms]
    for value in values:
        found = (packed_constant(value, term.weights, compiled.places, compiled.program.image) for term in terms)
        yield from [packed for packed in found if packed is not None][:1]
