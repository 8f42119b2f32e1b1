"""What each layer cost and where it ran: the rows, and the table that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from vta.codegen.region_program import CompiledModule
from vta.runtime.device import Counters

__all__ = ["LayerRow", "PlacementRow", "layer_rows", "layer_table", "placement_rows", "placement_table"]


@dataclass(frozen=True)
class LayerRow:
    """One VTA operator."""

    layer: str
    region: str
    operator: str
    kind: str
    macs: int
    """What the network needs; what ran may be more, where blocks are filled up."""
    instructions: int
    uops: int
    """Micro-ops that ran."""
    bytes: dict[str, int]
    """Moved, for each of inp, wgt, acc, uop, out."""


@dataclass(frozen=True)
class PlacementRow:
    """Operators of one layer that share a place and a reason."""

    layer: str
    ops: tuple[str, ...]
    where: str
    why: str
