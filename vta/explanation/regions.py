"""The operators of a compiled module on blocks, worked out again from its graph: a file does not hold them."""

from __future__ import annotations

from vta.compiler.compile import graph_regions
from vta.config.hardware import HardwareConfig
from vta.runtime.compiled_module import CompiledModule
from vta.tile.operator import RegionOperators, TileOperator

__all__ = ["operators_by_name", "regions_of"]

_VTA = "vta"


def regions_of(module: CompiledModule, hw: HardwareConfig | None = None) -> tuple[RegionOperators, ...]:
    """The regions of what `module` runs on the accelerator, on `hw` (default: what it was compiled for).

    Raises `CompileError` if it cannot run there.
    """
    layers = frozenset(entry.layer for entry in module.placements if entry.where == _VTA)
    return graph_regions(module.graph, hw or module.hw, layers) if layers else ()


def operators_by_name(regions: tuple[RegionOperators, ...]) -> dict[str, TileOperator]:
    """All operators of some regions."""
    return {operator.name: operator for region in regions for operator in region.operators}
