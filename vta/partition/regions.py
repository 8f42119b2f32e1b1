"""Regions: which target runs which part of a graph, from composites to one inner graph for each part.

graph = merge_composites(graph, table)
graph = partition_graph(merge_regions(annotate_target(graph, ["mine", "vta"])))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, rewrite, with_inputs
from vta.ir.inner_graph import FunctionAttributes
from vta.ir.ops.function import function_of
from vta.ir.transforms.functions import call_of, calls_of_functions, cut_out, inline_functions
from vta.partition.grouping import Piece, group_pieces

__all__ = ["annotate_target", "merge_regions", "partition_graph"]

Supports = Callable[[Node], bool]


def annotate_target(graph: Graph, targets: str | Sequence[str], supports: Mapping[str, Supports] | None = None) -> Graph:
    """Say for each composite, and for each operator that a target supports by itself, which target runs it.

    `targets` come in the order of preference. A target takes the composites that are called after it (``vta.qnn_conv2d``), and
    the operators of which `supports[target]` says so; the test sees nodes whose inputs have their targets already. What a target
    has already, it keeps; what none takes is left to the host.
    """
    order = [targets] if isinstance(targets, str) else list(targets)
    tests = supports or {}

    def change(node: Node) -> Node:
        if not node.is_call:
            return node
        if node.op == ops.CALL:
            taker = next((name for name in order if function_of(node).composite.startswith(f"{name}.")), None)
            if function_of(node).target or taker is None:
                return node
            return replace(node, attrs=replace(function_of(node), target=taker))
        taker = next((name for name in order if name in tests and tests[name](node)), None)
        if taker is None:
            return node
        body, sources = cut_out([node], [node], node.op)
        return call_of(FunctionAttributes(body=body, target=taker), sources, node.name)

    return rewrite(graph, change)


def merge_regions(graph: Graph) -> Graph:
    """Number the calls that have a target, so that one number is one region: as large as it can be without waiting for others."""
    annotated = [node for node in calls_of_functions(graph) if function_of(node).target]
    groups = group_pieces(graph, {node: Piece(node.inputs, function_of(node).target) for node in annotated})
    number = {node: index for index, nodes in enumerate(groups) for node in nodes}
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        new = with_inputs(node, tuple(done[source] for source in node.inputs))
        done[node] = replace(new, attrs=replace(function_of(new), region=number[node])) if node in number else new
    return graph.rebuilt(done)


def partition_graph(graph: Graph) -> Graph:
    """Make each region an inner graph with its target, called ``TARGET_NUMBER``; a call that has no number is a region by itself.

    Composites stay inside as calls. A region that several values leave is called once for each.
    Raises `GraphError` if a region needs a value that is computed from its own outputs.
    """
    regions = _regions(graph)
    users, outputs = graph.users(), set(graph.outputs)
    built: dict[Node, Node] = {}
    numbers: dict[str, int] = {}
    for member_nodes in _ordered(graph, regions):
        if len(member_nodes) == 1 and member_nodes[0] not in regions:
            node = member_nodes[0]
            built[node] = with_inputs(node, tuple(built[source] for source in node.inputs))
            continue
        members = set(member_nodes)
        target = function_of(member_nodes[0]).target
        numbers[target] = numbers.get(target, -1) + 1
        leaving = [node for node in member_nodes if node in outputs or not members.issuperset(users[node])]
        body, sources = cut_out(member_nodes, leaving, f"{target}_{numbers[target]}")
        body = inline_functions(_without_targets(body), lambda attrs: not attrs.composite)
        arguments = tuple(built[source] for source in sources)
        for index, node in enumerate(leaving):
            built[node] = call_of(FunctionAttributes(body=body, target=target, output=index), arguments, node.name)
    return graph.rebuilt(built)


def _regions(graph: Graph) -> dict[Node, list[Node]]:
    """For each call with a target the calls of its region, in topological order."""
    by_number: dict[object, list[Node]] = {}
    for node in calls_of_functions(graph):
        if function_of(node).target:
            alone = function_of(node).region < 0
            by_number.setdefault(node if alone else (function_of(node).target, function_of(node).region), []).append(node)
    return {node: nodes for nodes in by_number.values() for node in nodes}


def _ordered(graph: Graph, regions: Mapping[Node, list[Node]]) -> Iterable[list[Node]]:
    """Nodes by themselves and regions, each after what it reads."""
    finished: set[Node] = set()
    entered: set[Node] = set()
    for start in graph.nodes():
        stack = [regions.get(start, [start])]
        while stack:
            members = stack[-1]
            if members[0] in finished:
                stack.pop()
                continue
            entered.add(members[0])
            needed = [source for node in members for source in node.inputs if source not in finished and source not in members]
            if not needed:
                finished.update(members)
                stack.pop()
                yield members
                continue
            following = regions.get(needed[0], [needed[0]])
            if following[0] in entered:
                number = next((function_of(group[0]).region for group in stack if group[0] in regions), None)
                raise GraphError(f"region {number} needs a value that is computed from its own outputs: {members[0].name}")
            stack.append(following)


def _without_targets(body: Graph) -> Graph:
    def change(node: Node) -> Node:
        return replace(node, attrs=replace(function_of(node), target="", region=-1)) if node.op == ops.CALL else node

    return rewrite(body, change)
