"""The graph of a compiled network in the groups that run together, with where each runs and why."""

from __future__ import annotations

from collections.abc import Sequence

from vta.ir.graph import Node
from vta.runtime.compiled_module import CompiledModule
from vta.support.dataclass import dataclass

__all__ = ["HOST", "INPUT", "VTA", "Group", "NetworkGraph", "network_graph"]

INPUT, HOST, VTA = "input", "host", "vta"


@dataclass(frozen=True)
class Group:
    """Operators that run together: those of one VTA operator, or neighbours of one layer on the host; or an input."""

    name: str
    """Of the VTA operator or the layer."""
    where: str
    """`VTA`, `HOST`, or `INPUT` for what the network is given."""
    ops: tuple[str, ...]
    """In the order of the graph."""
    layers: tuple[str, ...]
    reasons: tuple[str, ...]
    """Why they run there, each once."""
    region: str
    """On the accelerator; "" elsewhere."""
    type: str
    """Data type and shape of the last value."""
    after: tuple[int, ...]
    """Positions of the groups whose values it takes."""


@dataclass(frozen=True)
class NetworkGraph:
    """All groups, each behind those that it depends on."""

    groups: tuple[Group, ...]
    outputs: tuple[int, ...]
    """Positions of the groups that give the network's outputs."""


class _Growing:
    """A group that operators are still added to."""

    def __init__(self, key: tuple[str, str]) -> None:
        self.key = key
        self.nodes: list[Node] = []
        self.reasons: list[str] = []
        self.after: set[int] = set()


def network_graph(module: CompiledModule) -> NetworkGraph:
    """Group the operators of a module."""
    found: list[_Growing] = []
    owner: dict[Node, int] = {}
    for node in module.graph.inputs:
        owner[node] = _put(found, node, (INPUT, node.name), set(), "")
    for node, entry in zip(module.graph.calls(), module.placements, strict=True):
        inputs = {owner[source] for source in node.inputs if source in owner}
        name = entry.reason.removeprefix("part of ") if entry.where == VTA else entry.layer
        owner[node] = _put(found, node, (entry.where, name), inputs, entry.reason)
    order = _order(found)
    place = {old: new for new, old in enumerate(order)}
    regions = {record.name: region.name for region in module.regions for record in region.operators}
    groups = tuple(_group(found[old], place, regions) for old in order)
    return NetworkGraph(groups, tuple(dict.fromkeys(place[owner[node]] for node in module.graph.outputs if node in owner)))


def _put(found: list[_Growing], node: Node, key: tuple[str, str], inputs: set[int], reason: str) -> int:
    """Add a node to the group that it belongs to, or to a new one; return the position."""
    index = _home(found, key, inputs)
    if index is None:
        found.append(_Growing(key))
        index = len(found) - 1
    group = found[index]
    group.nodes.append(node)
    group.after |= inputs - {index}
    if reason not in group.reasons:
        group.reasons.append(reason)
    return index


def _home(found: Sequence[_Growing], key: tuple[str, str], inputs: set[int]) -> int | None:
    """The group of a node: that of its VTA operator, or on the host one of its layer that it takes values from."""
    if key[0] == VTA:
        # What runs as one waits for nothing of its own by way of others.
        return next((index for index, group in enumerate(found) if group.key == key), None)
    index = max((index for index in inputs if found[index].key == key), default=None)
    # What comes back to a group by way of others would close a circle.
    if index is None or any(_depends(found, other, index) for other in inputs - {index}):
        return None
    return index


def _depends(found: Sequence[_Growing], one: int, other: int) -> bool:
    """Whether group `one` needs, directly or not, what `other` gives."""
    seen: set[int] = set()
    left = [one]
    while left:
        index = left.pop()
        if index == other:
            return True
        if index not in seen:
            seen.add(index)
            left += found[index].after
    return False


def _order(found: Sequence[_Growing]) -> list[int]:
    """Positions, each behind those that it depends on, else as found."""
    done: dict[int, None] = {}

    def visit(first: int) -> None:
        stack = [(first, iter(sorted(found[first].after)))]
        while stack:
            index, left = stack[-1]
            following = next((other for other in left if other not in done), None)
            if following is None:
                done[index] = None
                stack.pop()
            else:
                stack.append((following, iter(sorted(found[following].after))))

    for index in range(len(found)):
        if index not in done:
            visit(index)
    return list(done)


def _group(group: _Growing, place: dict[int, int], regions: dict[str, str]) -> Group:
    where, name = group.key
    return Group(
        name,
        where,
        tuple(node.op for node in group.nodes) if where != INPUT else (),
        tuple(dict.fromkeys(node.name for node in group.nodes)),
        tuple(reason for reason in group.reasons if reason),
        regions.get(name, "") if where == VTA else "",
        str(group.nodes[-1].type),
        tuple(sorted(place[index] for index in group.after)),
    )
