"""Composites: expressions that a target runs as one operator, found by a table and made calls of inner graphs.

table = [("mine.conv2d", is_op("nn.conv2d")(wildcard(), is_constant()).optional(is_op("nn.relu")), lambda found: True)]
graph = merge_composites(graph, table)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from vta.errors import GraphError
from vta.ir.graph import Graph, Node, with_inputs
from vta.ir.inner_graph import FunctionAttributes
from vta.ir.transforms.functions import call_of, cut_out
from vta.ir.transforms.pattern import Match, Pattern, matches
from vta.support.dataclass import dataclass

__all__ = ["Composite", "Entry", "Found", "cut_out_composites", "merge_composites"]


@dataclass(frozen=True)
class Found:
    """Nodes that make one composite."""

    root: Node
    """The value that it computes."""
    nodes: tuple[Node, ...]
    """In topological order; what something else reads too stays outside as well."""
    name: str = ""
    """Instead of the name of the entry."""


@dataclass(frozen=True)
class Composite:
    """An entry of a pattern table."""

    name: str
    """Of the form ``target.operator``, e.g. ``vta.qnn_conv2d``; the target is the one that can run it."""
    pattern: Pattern | Callable[[Graph], Iterable[Found]]
    """The expression; or a function that finds all there are in a graph, none of which reads itself through others."""
    check: Callable[[Match], bool] = lambda found: True
    """Whether the target can run what the pattern matched."""

    def __post_init__(self) -> None:
        target, dot, operator = self.name.partition(".")
        if not (target and dot and operator):
            raise GraphError(f"composite {self.name!r} must have a name of the form target.operator, such as vta.qnn_conv2d")


Entry = Composite | tuple[str, Pattern] | tuple[str, Pattern, Callable[[Match], bool]]
"""An entry of a pattern table: a composite, or its fields."""


def merge_composites(graph: Graph, table: Sequence[Entry]) -> Graph:
    """Replace what the entries of `table` match by calls of inner graphs, which hold the constants too.

    Entries come first come first served, each from the outputs to the inputs, so that optional parts behind a match belong to it.
    Of several ways to match, the first counts for which `check` holds and whose inner values nothing else reads.
    """
    for entry in table:
        composite = entry if isinstance(entry, Composite) else Composite(*entry)
        pattern = composite.pattern
        found = _matched(graph, pattern, composite.check) if isinstance(pattern, Pattern) else pattern(graph)
        graph, _ = cut_out_composites(graph, composite.name, list(found))
    return graph


def _matched(graph: Graph, pattern: Pattern, check: Callable[[Match], bool]) -> list[Found]:
    users, outputs = graph.users(), set(graph.outputs)
    uses = {node: len(readers) + graph.outputs.count(node) for node, readers in users.items()}
    order = {node: index for index, node in enumerate(graph.nodes())}
    taken: set[Node] = set()
    found = []
    for root in reversed(graph.calls()):
        for way in matches(pattern, root, uses) if root not in taken else ():
            nodes = set(way.calls())
            closed = all(node is root or (node not in outputs and nodes.issuperset(users[node])) for node in nodes)
            if root in nodes and closed and not nodes & taken and check(way):
                taken |= nodes
                found.append(Found(root, tuple(sorted(nodes, key=order.__getitem__))))
                break
    return found[::-1]


def cut_out_composites(graph: Graph, name: str, found: Sequence[Found]) -> tuple[Graph, Mapping[Node, Node]]:
    """Make what was found calls of inner graphs, called `name` unless it has a name of its own; also what became of each node."""
    by_root = {item.root: item for item in found}
    numbers: dict[str, int] = {}
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        if node not in by_root:
            done[node] = with_inputs(node, tuple(done[source] for source in node.inputs))
            continue
        item = by_root[node]
        title = item.name or name
        number = numbers[title] = numbers.get(title, -1) + 1
        body, sources = cut_out(item.nodes, [node], f"{title}_{number}")
        done[node] = call_of(FunctionAttributes(body=body, composite=title), tuple(done[source] for source in sources), node.name)
    return graph.rebuilt(done), done
