"""Takes an integer graph apart: which regions run on VTA, as a graph of its own, and why the rest runs on the host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vta.config.hardware import HardwareConfig
from vta.files.second_process import SecondProcess
from vta.ir.graph import Graph, Node
from vta.ir.ops.function import function_of
from vta.ir.transforms.functions import calls_of_functions
from vta.partition.composites import cut_out_composites
from vta.partition.fused.fused_operator import FusedOperator, view_source
from vta.partition.fused.reason import Reason
from vta.partition.fused.runnable import Veto, runnable_operators
from vta.partition.vta_patterns import TARGET, composites_of, outlined_for_vta
from vta.support.dataclass import dataclass

__all__ = ["Partition", "Region", "partition"]

_WORTH_SPLITTING = 6
"""Schedules that a veto has to find take as long as a second process takes to begin."""


@dataclass(frozen=True, eq=False)
class Region:
    """What runs as one program: an inner graph of the partitioned graph, and what it is made of."""

    body: Graph
    """Its composites are the fused operators."""
    operators: tuple[FusedOperator, ...]
    """In the nodes of the graph that was partitioned, in an order in which each follows those it reads from."""
    inputs: tuple[Node, ...]
    """Values from outside, int8, of the graph that was partitioned."""
    outputs: tuple[Node, ...]
    """Results of operators that something outside reads."""


@dataclass(frozen=True, eq=False)
class Partition:
    """A graph with its regions as inner graphs, and for every call outside of them why it runs on the host."""

    graph: Graph
    """Each region is an inner graph of target ``vta``; `print_graph` shows it."""
    regions: tuple[Region, ...]
    reasons: Mapping[Node, Reason]
    """By the nodes of the graph that was partitioned."""


def partition(graph: Graph, hw: HardwareConfig, veto: Veto = lambda fused: None) -> Partition:
    """Assign every fused operator that `hw` supports, and that `veto` gives no reason against, to a maximal region.

    A region never needs a host operator between its operators: none of its outputs leads through the host back into it. The
    steps are those of users' own tables (`vta.partition.vta_patterns.partition_for_vta`); the operators are found once.
    """
    with SecondProcess(alone=_WORTH_SPLITTING):
        operators, reasons = runnable_operators(graph, hw, veto)
    merged, became = cut_out_composites(graph, TARGET, composites_of(operators.values()))
    fused_of = {function_of(became[result]).body: fused for result, fused in operators.items()}
    outlined = outlined_for_vta(merged)
    place = {node: index for index, node in enumerate(graph.nodes())}
    groups = {
        body: sorted((fused_of[body] for body in _composites(body)), key=lambda fused: place[fused.result])
        for body in _bodies(outlined)
    }
    ordered = sorted(groups.items(), key=lambda group: place[group[1][0].result])
    asked, host = _asked_for(graph, groups.values())
    regions = tuple(
        Region(body, tuple(group), tuple(_inputs_of(group)), tuple(fused.result for fused in group if fused.result in asked))
        for body, group in ordered
    )
    return Partition(outlined, regions, {node: reasons.get(node) or _before_host(node) for node in host})


def _bodies(outlined: Graph) -> list[Graph]:
    """The regions of a partitioned graph, each once."""
    calls = calls_of_functions(outlined)
    return list(dict.fromkeys(function_of(node).body for node in calls if function_of(node).target == TARGET))


def _composites(body: Graph) -> list[Graph]:
    return [function_of(node).body for node in calls_of_functions(body)]


def _before_host(node: Node) -> Reason:
    return Reason("feeds_the_host", "feeds a host operator", node)


def _asked_for(graph: Graph, groups: Iterable[Sequence[FusedOperator]]) -> tuple[set[Node], list[Node]]:
    """The results that something outside of their region reads, and the calls that the host must compute.

    Follows what is asked for, from the graph's outputs back: a value inside a fused operator may be asked for by the host too.
    """
    group_of = {fused.result: group for group in groups for fused in group}
    outputs: set[Node] = set()
    host: dict[Node, None] = {}
    started: set[Node] = set()
    pending: list[Node] = list(graph.outputs)
    while pending:
        node = pending.pop()
        if node in group_of:
            outputs.add(node)
            group = group_of[node]
            if group[0].result not in started:
                started.add(group[0].result)
                pending += _inputs_of(group)
        elif node.is_call and node not in host:
            host[node] = None
            pending += node.inputs
    return outputs, list(host)


def _inputs_of(operators: Sequence[FusedOperator]) -> list[Node]:
    """Values that operators of one region read from outside of it."""
    results = {fused.result for fused in operators}
    sources = (view_source(source) for fused in operators for source in fused.sources)
    return list(dict.fromkeys(source for source in sources if source not in results))
