"""What each layer cost and where it ran: the rows, and the tables that show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from vta.codegen.region_program import MOVE_SUFFIX
from vta.devices.device import Counters
from vta.runtime.compiled_module import CompiledModule
from vta.support.dataclass import dataclass
from vta.support.table import Table, make_table

__all__ = ["LayerRow", "PlacementRow", "layer_rows", "layer_table", "placement_rows", "placement_table"]

_MEMORIES = ("inp", "wgt", "acc", "uop", "out")


@dataclass(frozen=True)
class LayerRow:
    """What one VTA operator cost."""

    layer: str
    operator: str
    kind: str
    region: str
    macs: int
    """What the network needs. The hardware may do more, where blocks are filled up."""
    counters: Counters


@dataclass(frozen=True)
class PlacementRow:
    """Operators of one layer that run in one place for one reason."""

    layer: str
    ops: tuple[str, ...]
    where: str
    """``vta`` or ``host``."""
    reason: str


def layer_rows(module: CompiledModule, counters: Mapping[str, Counters]) -> list[LayerRow]:
    """One row for each VTA operator, in program order; `counters` as in `RunReport.operators`."""
    return [
        LayerRow(
            record.output.node.name,
            record.name,
            record.kind,
            region.name,
            record.macs,
            counters.get(record.name, Counters()) + counters.get(record.name + MOVE_SUFFIX, Counters()),
        )
        for region in module.regions
        for record in region.operators
    ]


def placement_rows(module: CompiledModule) -> list[PlacementRow]:
    """One row for each run of neighbouring operators that share layer, place and reason."""
    groups = groupby(module.placements, key=lambda entry: (entry.layer, entry.where, entry.reason))
    return [
        PlacementRow(layer, tuple(entry.op for entry in entries), where, reason) for (layer, where, reason), entries in groups
    ]


def layer_table(rows: Sequence[LayerRow]) -> Table:
    """Show the cost of each VTA operator, and the sums."""
    headers = ("operator", "template", "MACs", "uops", *(f"{memory} bytes" for memory in _MEMORIES))
    total = sum((row.counters for row in rows), Counters())
    shown = [(row.operator, row.kind, *_costs(row.macs, row.counters)) for row in rows]
    return make_table(headers, [*shown, ("total", "", *_costs(sum(row.macs for row in rows), total))], "VTA operators")


def placement_table(rows: Sequence[PlacementRow]) -> Table:
    """Show where each operator runs and why."""
    values = [(row.layer, ", ".join(row.ops), row.where, row.reason) for row in rows]
    return make_table(("layer", "operators", "where", "why"), values, "Where each operator runs")


def _costs(macs: int, counters: Counters) -> list[int]:
    moved = counters.dram_bytes
    return [macs, counters.gemm_uops + counters.alu_uops, *(moved[memory] for memory in _MEMORIES)]
