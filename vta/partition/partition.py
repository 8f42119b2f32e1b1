"""Takes a graph apart: which chains run on VTA, and which of them form one region."""

from __future__ import annotations

from dataclasses import dataclass

from vta.config.hardware import HardwareConfig
from vta.ir.graph import Graph, Node
from vta.partition.fused_operator import Chain, view_source
from vta.partition.grouping import Piece, group_pieces
from vta.partition.runnable import Refuse, runnable_chains

__all__ = ["Partition", "RegionNodes", "partition"]


@dataclass(frozen=True, eq=False)
class RegionNodes:
    """Chains that run as one program, in an order in which each follows those it reads from."""

    chains: tuple[Chain, ...]
    inputs: tuple[Node, ...]
    """Values from outside, int8."""
    outputs: tuple[Node, ...]
    """Ends of chains that something outside reads."""


@dataclass(frozen=True, eq=False)
class Partition:
    """The regions of a graph and, for every call outside of them, why it runs on the host."""

    regions: tuple[RegionNodes, ...]
    reasons: dict[Node, str]


def partition(
    graph: Graph,
    hw: HardwareConfig,
    refuse: Refuse = lambda chain: None,
) -> Partition:
    """Assign every chain that `hw` supports, and that `refuse` gives no reason against, to a maximal region.

    A region never needs a host operator between its chains: none of its outputs leads through the host back into it.
    """
    accepted, reasons = runnable_chains(graph, hw, refuse)
    regions, host = _regions_of(graph, _group(graph, accepted))
    return Partition(regions, {node: reasons.get(node, "feeds a host operator") for node in host})


def _group(graph: Graph, chains: dict[Node, Chain]) -> list[list[Chain]]:
    """Group chains into regions, in topological order."""
    pieces = {end: Piece(tuple(view_source(source) for source in chain.sources)) for end, chain in chains.items()}
    return [[chains[end] for end in ends] for ends in group_pieces(graph, pieces)]


def _regions_of(graph: Graph, groups: list[list[Chain]]) -> tuple[tuple[RegionNodes, ...], list[Node]]:
    """The regions with what crosses their borders, and the calls that the host must compute.

    Follows what is asked for, from the graph's outputs back: a value inside a chain may be asked for by the host too.
    """
    group_of = {chain.end: index for index, chains in enumerate(groups) for chain in chains}
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
        RegionNodes(tuple(chains), tuple(_inputs_of(chains)), tuple(chain.end for chain in chains if chain.end in outputs))
        for index, chains in enumerate(groups)
        if index in started
    )
    return regions, list(host)


def _inputs_of(chains: list[Chain]) -> list[Node]:
    """Values that chains of one region read from outside of it."""
    ends = {chain.end for chain in chains}
    sources = (view_source(source) for chain in chains for source in chain.sources)
    return list(dict.fromkeys(source for source in sources if source not in ends))
