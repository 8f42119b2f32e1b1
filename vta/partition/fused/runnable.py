"""Which fused operators of a graph a config can run: whole, or as far as it can go on."""

from __future__ import annotations

from collections.abc import Callable, Collection

from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph, Node
from vta.ir.state import state_nodes
from vta.partition.fused.copies import is_copy
from vta.partition.fused.find import find_fused_operators
from vta.partition.fused.fused_operator import ANCHORS, FusedOperator, view_source
from vta.partition.fused.host_reasons import reason_on_target
from vta.partition.fused.reason import Reason
from vta.partition.fused.support_rules import broken_rule

__all__ = ["Veto", "runnable_operators", "shortened"]

Veto = Callable[[FusedOperator], Reason | None]
"""Gives a reason against a fused operator, or None."""


def runnable_operators(graph: Graph, hw: HardwareConfig, veto: Veto) -> tuple[dict[Node, FusedOperator], dict[Node, Reason]]:
    """Return the fused operators to run by the result of each, and for other calls that join or start none why.

    Where one breaks a rule in its epilogue, what comes before is one that stores its int32 accumulators; the host goes on.
    """
    fused_operators, found = find_fused_operators(graph)
    reasons = {node: reason_on_target(reason, hw) for node, reason in found.items()}
    accepted: dict[Node, FusedOperator] = {}
    states = {held for held, _ in state_nodes(graph)}
    for fused in fused_operators.values():
        reason = broken_rule(fused, hw) or _moved_before(fused, accepted, states)
        part = fused if reason is None else shortened(fused, hw)
        vetoed = None if part is None else veto(part)
        left = reason or vetoed
        if part is not None and vetoed is None:
            accepted[part.result] = part
        if left is not None:
            inside = set() if part is None or vetoed is not None else set(part.nodes)
            reasons.update((node, left) for node in fused.nodes if node not in inside)
    return accepted, reasons


def _moved_before(fused: FusedOperator, accepted: Collection[Node], states: Collection[Node]) -> Reason | None:
    """Why the host joins, cuts or pads what it gives to VTA: less is copied so. States are there already."""
    sources = {view_source(source) for source in fused.sources}
    if not is_copy(fused.anchor) or not sources.isdisjoint(accepted) or not sources.isdisjoint(states):
        return None
    return Reason("moved_before", "joined, cut or padded on the host, before VTA reads it", fused.anchor)


def shortened(fused: FusedOperator, hw: HardwareConfig) -> FusedOperator | None:
    """The longest part of an operator, from its product or window sum on, that `hw` can run, and whose end the rest reads.

    None if there is none. It has no output padding and no branches.
    """
    if fused.anchor.op not in ANCHORS:
        return None
    values = [fused.anchor, *fused.epilogue]
    starts = {branch.start for branch in fused.branches}
    longest = next((index for index, value in enumerate(values) if value in starts), len(values) - 1)
    for end in reversed(values[: longest + 1]):
        if end is fused.result:
            continue
        part = _up_to(fused, end, values.index(end))
        if broken_rule(part, hw) is None:
            return part
    return None


def _up_to(fused: FusedOperator, end: Node, steps: int) -> FusedOperator:
    inside, needed = set(fused.nodes), {end}
    pending = [end]
    while pending:
        for source in pending.pop().inputs:
            if source in inside and source not in needed:
                needed.add(source)
                pending.append(source)
    nodes = tuple(node for node in fused.nodes if node in needed)
    read = {source for node in nodes for source in node.inputs}
    return FusedOperator(
        end, fused.anchor, fused.epilogue[:steps], nodes, tuple(source for source in fused.sources if source in read)
    )
