"""Where each operator of a compiled graph runs, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vta.codegen.region_program import HOST, VTA, Placement
from vta.config.target_list import TargetList
from vta.errors import CompileError
from vta.ir.diagnostics import Diagnostic
from vta.ir.graph import Graph
from vta.partition.fused.fused_operator import FusedOperator, is_view, view_source
from vta.partition.partition import Partition

__all__ = ["MOST_NAMED", "placements_of", "require_no_host"]

MOST_NAMED = 6
"""Operators that a message names."""


def placements_of(
    graph: Graph, parts: Partition, inexact: Mapping[str, Diagnostic], unmoved: Iterable[FusedOperator]
) -> tuple[Placement, ...]:
    """One for each operator of the graph that was partitioned; what is `unmoved` takes no operator of VTA."""
    part_of = {node: fused for region in parts.regions for fused in region.operators for node in fused.nodes}
    lying = set(unmoved)
    placements = []
    for node in graph.calls():
        if node in parts.reasons:
            reason = parts.reasons[node]
            placements.append(Placement(node.name, node.op, HOST, str(reason), reason.rule, reason.value))
        elif node in part_of and part_of[node] in lying:
            placements.append(Placement(node.name, node.op, VTA, "by where its tensors lie, nothing is copied"))
        elif node in part_of or is_view(node):
            owner = part_of[node].label if node in part_of else view_source(node).name
            note = f"; {inexact[node.name].text}" if node.name in inexact else ""
            placements.append(Placement(node.name, node.op, VTA, f"part of {owner}{note}"))
    return tuple(placements)


def require_no_host(placements: tuple[Placement, ...], targets: TargetList) -> None:
    """Raise `CompileError` naming what would run on a host that is not among `targets`."""
    left = [placement for placement in placements if placement.where == HOST]
    if left:
        named = "; ".join(f"{placement.layer} ({placement.op}): {placement.reason}" for placement in left[:MOST_NAMED])
        more = f"; and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
        raise CompileError(f"target {targets}: a host, such as llvm, is needed for {named}{more}")
