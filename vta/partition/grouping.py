"""Joins pieces of a graph into regions, each as large as it can be without waiting for something else in its middle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vta.ir.graph import Graph, Node
from vta.support.dataclass import dataclass

__all__ = ["Piece", "group_pieces"]


@dataclass(frozen=True, eq=False)
class Piece:
    """Something that runs as a whole and gives one value."""

    sources: tuple[Node, ...]
    """The values that it reads."""
    target: str = ""
    """Only pieces of one target are joined."""


def group_pieces(graph: Graph, pieces: Mapping[Node, Piece]) -> list[list[Node]]:
    """Group pieces, given by the value that each computes, into regions, in topological order.

    No value that leaves a region leads back into it through something else: an operator that is in no piece, or another region.
    """
    regions = _Regions()
    region_of: dict[Node, int] = {}
    # For each value outside of all pieces, the regions that it is computed from.
    reach: dict[Node, set[int]] = {}
    for node in graph.nodes():
        piece = pieces.get(node)
        if piece is None:
            reach[node] = set().union(*(_seen(source, region_of, reach) for source in node.inputs))
            continue
        beside = {regions.find(region_of[source]) for source in piece.sources if source in region_of}
        outside = set().union(*(reach[source] for source in piece.sources if source not in region_of))
        mine = regions.new(piece.target)
        # What else the piece reads must not come from a region that it joins: that would then wait for itself.
        joined = [
            other
            for other in beside
            if regions.target(other) == piece.target and other not in _ancestors(regions, outside | (beside - {other}))
        ]
        regions.add_upstream(mine, outside | beside)
        for other in joined:
            regions.join(mine, other)
        region_of[node] = mine
        reach[node] = set()
    _join_unrelated(regions, list(dict.fromkeys(regions.find(region) for region in region_of.values())))
    groups: dict[int, list[Node]] = {}
    for node, region in region_of.items():
        groups.setdefault(regions.find(region), []).append(node)
    return list(groups.values())


class _Regions:
    """Numbers of regions, joined as the graph is walked, and which other regions each must wait for."""

    def __init__(self) -> None:
        self._parent: list[int] = []
        self._upstream: list[set[int]] = []
        self._targets: list[str] = []

    def new(self, target: str) -> int:
        self._parent.append(len(self._parent))
        self._upstream.append(set())
        self._targets.append(target)
        return len(self._parent) - 1

    def target(self, region: int) -> str:
        return self._targets[region]

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


def _seen(node: Node, region_of: dict[Node, int], reach: dict[Node, set[int]]) -> set[int]:
    return {region_of[node]} if node in region_of else reach[node]


def _join_unrelated(regions: _Regions, roots: list[int]) -> None:
    """Join regions that do not depend on each other, so that they take one run of the device."""
    for position, root in enumerate(roots):
        # Many of the others are one region by now; what depends on a region still does when more have joined it.
        dependent: set[int] = set()
        for other in roots[:position]:
            a, b = regions.find(root), regions.find(other)
            if a == b or b in dependent:
                continue
            if regions.target(a) == regions.target(b) and a not in _ancestors(regions, {b}) and b not in _ancestors(regions, {a}):
                regions.join(a, b)
            else:
                dependent.add(b)


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
