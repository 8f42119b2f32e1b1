"""Which layers with weights lie before or behind others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.quantization.float.plan.quant_groups import WEIGHTED_OPS

__all__ = ["last_layers", "layers_before_logarithms", "weighted_layers"]


def last_layers(output: Node) -> list[str]:
    """The names of the layers with weights that an output is computed from, with none between."""
    return _names(node for node in _before([output], beyond_layers=False) if node.op in WEIGHTED_OPS)


def layers_before_logarithms(graph: Graph) -> list[str]:
    """The names of the layers with weights that logarithms are computed from."""
    logarithms = [node for node in graph.calls() if node.op == ops.LOG]
    return _names(node for node in _before(logarithms, beyond_layers=True) if node.op in WEIGHTED_OPS)


def weighted_layers(graph: Graph) -> list[str]:
    """The names of all layers with weights."""
    return _names(node for node in graph.calls() if node.op in WEIGHTED_OPS)


def _names(nodes: Iterable[Node]) -> list[str]:
    return list(dict.fromkeys(node.name for node in nodes))


def _before(nodes: Sequence[Node], *, beyond_layers: bool) -> Iterator[Node]:
    """Yield nodes and what they are computed from, through layers with weights or up to them."""
    seen: set[Node] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            yield node
            if beyond_layers or node.op not in WEIGHTED_OPS:
                pending += [source for source in node.inputs if source.is_call]
