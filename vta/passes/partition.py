"""Takes a graph apart: which chains run on VTA, and which of them form one region."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vta.config import HardwareConfig
from vta.ir.graph import Graph, Node
from vta.passes.chains import Chain, find_chains, view_source
from vta.passes.support_rules import broken_rule

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
    refuse: Callable[[Chain], str | None] = lambda chain: None,
) -> Partition:
    """Assign every chain that `hw` supports, and that `refuse` gives no reason against, to a maximal region.

    A region never needs a host operator between its chains: none of its outputs leads through the host back into it.
    """
    chains, reasons = find_chains(graph)
    accepted: dict[Node, Chain] = {}
    for end, chain in chains.items():
        reason = broken_rule(chain, hw) or refuse(chain)
        if reason is None:
            accepted[end] = chain
        else:
            reasons.update(dict.fromkeys(chain.nodes, reason))
    regions, host = _regions_of(graph, _group(graph, accepted))
    return Partition(regions, {node: reasons.get(node, "feeds a host operator") for node in host})


class _Regions:
    """Region numbers of chains, joined as the graph is walked, and which other regions each must wait for."""

    def __init__(self) -> None:
        self._parent: list[int] = []
        self._upstream: list[set[int]] = []

    def new(self) -> int:
        self._parent.append(len(self._parent))
        self._upstream.append(set())
        return len(self._parent) - 1

    def find(self, region: int) -> int:
        while self._parent[region] != region:
            self._parent[region] = self._parent[self._parent[region]]
            region = self._parent[region]
        return region

    def upstream(self, region: int) -> set[int]:
        """Regions from which values reach this one, through the host or directly."""
        root = self.find(region)
        found = {self.find(other) for other in self._upstream[root]} - {root}
        self._upstream[root] = found
        return found

    def add_upstream(self, region: int, others: Iterable[int]) -> None:
        root = self.find(region)
        self._upstream[root] |= {self.find(other) for other in others} - {root}

    def join(self, first: int, second: int) -> None:
        a, b = self.find(first), self.find(second)
        if a != b:
            self._parent[b] = a
            self._upstream[a] |= self._upstream[b]


def _group(graph: Graph, chains: dict[Node, Chain]) -> list[list[Chain]]:
    """Group chains into regions, in topological order."""
    regions = _Regions()
    region_of: dict[Node, int] = {}
    # For each value outside of all chains, the regions that it is computed from.
    reach: dict[Node, set[int]] = {}
    for node in graph.nodes():
        chain = chains.get(node)
        if chain is None:
            reach[node] = set().union(*(_seen(source, region_of, reach) for source in node.inputs))
            continue
        sources = [view_source(source) for source in chain.sources]
        beside = {regions.find(region_of[source]) for source in sources if source in region_of}
        outside = set().union(*(reach[source] for source in sources if source not in region_of))
        # What else the chain reads must not come from a region that it joins: that would then wait for itself.
        joined = [other for other in beside if other not in _ancestors(regions, outside | (beside - {other}))]
        mine = regions.new()
        regions.add_upstream(mine, outside | beside)
        for other in joined:
            regions.join(mine, other)
        region_of[node] = mine
        reach[node] = set()
    _join_unrelated(regions, list(dict.fromkeys(regions.find(region) for region in region_of.values())))
    groups: dict[int, list[Chain]] = {}
    for node, region in region_of.items():
        groups.setdefault(regions.find(region), []).append(chains[node])
    return list(groups.values())


def _seen(node: Node, region_of: dict[Node, int], reach: dict[Node, set[int]]) -> set[int]:
    return {region_of[node]} if node in region_of else reach[node]


def _join_unrelated(regions: _Regions, roots: list[int]) -> None:
    """Join regions that do not depend on each other, so that they take one run of the device."""
    for position, root in enumerate(roots):
        for other in roots[:position]:
            a, b = regions.find(root), regions.find(other)
            if a not in _ancestors(regions, {b}) and b not in _ancestors(regions, {a}):
                regions.join(a, b)


def _ancestors(regions: _Regions, of: set[int]) -> set[int]:
    """The regions in `of` and all upstream of them, through any number of others."""
    found: set[int] = set()
    pending = list(of)
    while pending:
        region = regions.find(pending.pop())
        if region not in found:
            found.add(region)
            pending += regions.upstream(region)
    return found


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
