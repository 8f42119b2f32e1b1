"""Takes a graph apart: which fused operators run on VTA, and which of them form one region."""

from __future__ import annotations

from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph, Node
from vta.partition.fused_operator import FusedOperator, view_source
from vta.partition.grouping import Piece, group_pieces
from vta.partition.runnable import Refuse, runnable_operators
from vta.support.dataclass import dataclass

__all__ = ["Partition", "RegionNodes", "partition"]


@dataclass(frozen=True, eq=False)
class RegionNodes:
    """Fused operators that run as one program, in an order in which each follows those it reads from."""

    fused_operators: tuple[FusedOperator, ...]
    inputs: tuple[Node, ...]
    """Values from outside, int8."""
    outputs: tuple[Node, ...]
    """Ends of fused operators that something outside reads."""


@dataclass(frozen=True, eq=False)
class Partition:
    """The regions of a graph and, for every call outside of them, why it runs on the host."""

    regions: tuple[RegionNodes, ...]
    reasons: dict[Node, str]


def partition(
    graph: Graph,
    hw: HardwareConfig,
    refuse: Refuse = lambda fused: None,
) -> Partition:
    """Assign every fused operator that `hw` supports, and that `refuse` gives no reason against, to a maximal region.

    A region never needs a host operator between its fused operators: none of its outputs leads through the host back into it.
    """
    accepted, reasons = runnable_operators(graph, hw, refuse)
    regions, host = _regions_of(graph, _group(graph, accepted))
    return Partition(regions, {node: reasons.get(node, "feeds a host operator") for node in host})


def _group(graph: Graph, fused_operators: dict[Node, FusedOperator]) -> list[list[FusedOperator]]:
    """Group fused operators into regions, in topological order."""
    pieces = {end: Piece(tuple(view_source(source) for source in fused.sources)) for end, fused in fused_operators.items()}
    return [[fused_operators[end] for end in ends] for ends in group_pieces(graph, pieces)]


def _regions_of(graph: Graph, groups: list[list[FusedOperator]]) -> tuple[tuple[RegionNodes, ...], list[Node]]:
    """The regions with what crosses their borders, and the calls that the host must compute.

    Follows what is asked for, from the graph's outputs back: a value inside a fused operator may be asked for by the host too.
    """
    group_of = {fused.result: index for index, fused_operators in enumerate(groups) for fused in fused_operators}
    outputs: dict[Node, None] = {}
    host: dict[Node, None] = {}
    started: set[int] = set()
    pending: list[Node] = list(graph.outputs)
    while pending:
        node = pending.pop()
        if node in group_of:
            outputs[node] = None
            if group_of[node] not in started:
                started.add(group_of[node])
                pending += _inputs_of(groups[group_of[node]])
        elif node.is_call and node not in host:
            host[node] = None
            pending += node.inputs
    regions = tuple(
        RegionNodes(
            tuple(fused_operators),
            tuple(_inputs_of(fused_operators)),
            tuple(fused.result for fused in fused_operators if fused.result in outputs),
        )
        for index, fused_operators in enumerate(groups)
        if index in started
    )
    return regions, list(host)


def _inputs_of(fused_operators: list[FusedOperator]) -> list[Node]:
    """Values that fused operators of one region read from outside of it."""
    ends = {fused.result for fused in fused_operators}
    sources = (view_source(source) for fused in fused_operators for source in fused.sources)
    return list(dict.fromkeys(source for source in sources if source not in ends))
