"""The nodes of a model in an order in which they can be computed: functions put in place, names checked, nodes sorted."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence

import onnx

from vta.errors import ImportModelError
from vta.frontend._errors import faults_of

__all__ = ["IndexedNode", "inlined", "kind_of", "layer_name", "names_read", "nodes_in_order", "sorted_nodes"]

IndexedNode = tuple[int, onnx.NodeProto]
"""A node with its position in the file."""

_DEFAULT_DOMAINS = ("", "ai.onnx")

_NODES_SHOWN = 6


def kind_of(node: onnx.NodeProto) -> str:
    """The operator of `node`, with its domain where that is not ONNX's own."""
    return node.op_type if node.domain in _DEFAULT_DOMAINS else f"{node.op_type} ({node.domain})"


def layer_name(index: int, node: onnx.NodeProto) -> str:
    """The name of `node`, or its kind and position where it has none."""
    return node.name or f"{node.op_type}_{index}"


def inlined(model: onnx.ModelProto, path: object) -> onnx.ModelProto:
    """Return the model with the bodies of its own functions in the place of their calls.

    Raises `ImportModelError` for functions that call each other in a circle, that were written for another operator set, or that
    do not fit their calls.
    """
    if not model.functions:
        return model
    from onnx.checker import ValidationError
    from onnx.inliner import inline_local_functions

    _require_unique([(f"{f.domain}:{f.name}:{f.overload}", f"function {f.name!r}") for f in model.functions], path)
    for function in model.functions:
        _check_names(
            list(enumerate(function.node)), dict.fromkeys(function.input, "an input"), f"{path}: function {function.name!r}"
        )
    with faults_of(str(path)):
        try:
            result = inline_local_functions(model)
        except (RuntimeError, ValidationError) as error:
            raise ImportModelError(f"{path}: functions of the model: {str(error).splitlines()[0]}") from None
    _require_inlined(result, path)
    return result


def _require_inlined(model: onnx.ModelProto, path: object) -> None:
    left = {(function.domain, function.name): function for function in model.functions}
    for node in model.graph.node:
        function = left.get((node.domain, node.op_type))
        if function is not None:
            own, others = (_versions(entries.opset_import) for entries in (function, model))
            raise ImportModelError(f"{path}: {kind_of(node)}: a function of operator set {own} in a model of {others}")


def _versions(entries: Sequence[onnx.OperatorSetIdProto]) -> str:
    return ", ".join(str(entry.version) for entry in entries if entry.domain in _DEFAULT_DOMAINS) or "none"


def _require_unique(names: Sequence[tuple[str, str]], path: object) -> None:
    seen: set[str] = set()
    for name, what in names:
        if name in seen:
            raise ImportModelError(f"{path}: {what} is defined twice")
        seen.add(name)


def nodes_in_order(graph: onnx.GraphProto, path: object) -> list[IndexedNode]:
    """Return the nodes so that each comes after what it reads; as they are in the file, where that is such an order.

    Every name must be defined once, whether it is used or not: by an initialiser, an input (which old files also have for
    initialisers), or a node. Raises `ImportModelError` naming a second definition, a name that nothing defines, or nodes that
    wait for each other.
    """
    _require_unique([(tensor.name, f"initialiser {tensor.name!r}") for tensor in graph.initializer], path)
    _require_unique([(info.name, f"input {info.name!r}") for info in graph.input], path)
    given = dict.fromkeys((tensor.name for tensor in graph.initializer), "an initialiser")
    given = dict.fromkeys((info.name for info in graph.input), "an input") | given
    nodes = list(enumerate(graph.node))
    _check_names(nodes, given, path)
    return sorted_nodes(nodes, path)


def _check_names(nodes: Sequence[IndexedNode], given: Mapping[str, str], path: object) -> None:
    makers = dict(given)
    for index, node in nodes:
        for name in filter(None, node.output):
            if name in makers:
                raise ImportModelError(f"{_where(path, index, node)}: its output {name!r} is defined already, by {makers[name]}")
            makers[name] = f"{node.op_type} {layer_name(index, node)!r} (node {index})"
    for index, node in nodes:
        for name in filter(None, node.input):
            if name not in makers:
                raise ImportModelError(f"{_where(path, index, node)}: reads {name!r}, which no node computes")
        for inner in _inner_graphs(node):
            own = dict.fromkeys([*(t.name for t in inner.initializer), *(i.name for i in inner.input)], "the graph inside")
            _check_names(list(enumerate(inner.node)), {**makers, **own}, _where(path, index, node))


def _where(path: object, index: int, node: onnx.NodeProto) -> str:
    return f"{path}: {node.op_type} {layer_name(index, node)!r} (node {index})"


def _inner_graphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def names_read(node: onnx.NodeProto) -> Iterator[str]:
    """The names that a node reads, also in the graphs inside."""
    yield from filter(None, node.input)
    for inner in _inner_graphs(node):
        yield from (output.name for output in inner.output)
        for part in inner.node:
            yield from names_read(part)


def sorted_nodes(nodes: Sequence[IndexedNode], path: object) -> list[IndexedNode]:
    """As `nodes_in_order`, of nodes whose names are known to be right."""
    makers = {name: index for index, node in nodes for name in node.output if name}
    waits = {index: {makers[name] for name in names_read(node) if name in makers} for index, node in nodes}
    readers: dict[int, list[int]] = {index: [] for index, _ in nodes}
    for index, sources in waits.items():
        for source in sources:
            readers[source].append(index)
    ready = [index for index, sources in waits.items() if not sources]
    order: list[IndexedNode] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(nodes[index])
        for reader in readers[index]:
            waits[reader].discard(index)
            if not waits[reader]:
                heapq.heappush(ready, reader)
    if len(order) < len(nodes):
        raise ImportModelError(f"{path}: nodes wait for each other: {_circle(nodes, waits)}")
    return order


def _circle(nodes: Sequence[IndexedNode], waits: Mapping[int, set[int]]) -> str:
    """The shortest that is found by going from a node that waits to one that it waits for."""
    at = next(index for index, sources in waits.items() if sources)
    walk: list[int] = []
    while at not in walk:
        walk.append(at)
        at = min(waits[at])
    circle = walk[walk.index(at) :]
    shown = [f"{layer_name(*nodes[index])} (node {index})" for index in circle[:_NODES_SHOWN]]
    return ", ".join(shown) + (f", and {len(circle) - _NODES_SHOWN} more" if len(circle) > _NODES_SHOWN else "")
