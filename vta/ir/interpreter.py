"""Evaluates a graph node by node with the NumPy references. What it computes is right by definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.arithmetic.not_finite import first_where
from vta.ir.graph import Graph, Node, topological
from vta.ir.operator import lookup

__all__ = ["check_inputs", "constant_value", "evaluate", "evaluate_all", "evaluate_node", "quantizes", "walk"]

Array = NDArray[Any]


def check_inputs(graph: Graph, inputs: Mapping[str, Any], numbers: bool = True) -> dict[Node, Array]:
    """Return the array for each graph input; raises `GraphError` naming a missing, unknown or mistyped one.

    With `numbers` one that holds a NaN is refused too, if the graph quantises values.
    """
    nodes = {node.name: node for node in graph.inputs}
    known = ", ".join(nodes) or "none"
    for name in inputs:
        if name not in nodes:
            raise GraphError(f"{name!r} is no input of graph {graph.name!r}; its inputs are: {known}")
    arrays = {}
    for name, node in nodes.items():
        if name not in inputs:
            raise GraphError(f"input {name!r} ({node.type}) of graph {graph.name!r} is missing")
        array = np.asarray(inputs[name])
        if array.shape != node.shape or array.dtype != node.dtype:
            raise GraphError(f"input {name!r} must be {node.type}, got {array.dtype}[{', '.join(map(str, array.shape))}]")
        # The least value is not a number if one is none, and takes less to find than where that is.
        if numbers and array.dtype.kind == "f" and np.isnan(array.min(initial=0)) and quantizes(graph):
            raise GraphError(f"input {name!r} is nan at {list(first_where(np.isnan(array)))}; expected numbers")
        arrays[node] = array
    return arrays


def quantizes(graph: Graph) -> bool:
    """Whether a graph makes integers of floats."""
    return any(node.op == ops.QNN_QUANTIZE for node in graph.calls())


def evaluate_node(node: Node, inputs: list[Array]) -> Array:
    """Return the value of one call for the values of its inputs; raises `GraphError` naming the layer."""
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(lookup(node.op).reference(node.attrs, *inputs))
    except GraphError as error:
        raise GraphError(f"{node.name}: {node.op}: {error}") from None
    if value.shape != node.shape or value.dtype != node.dtype:
        raise GraphError(f"{node.name}: {node.op} gave {value.dtype}{list(value.shape)}, but its type is {node.type}")
    return value


def constant_value(node: Node) -> Array | None:
    """Return the value of a node that depends on constants only; None if it depends on an input. Raises as `evaluate_node`."""
    if node.value is not None or not _is_fixed(node):
        return node.value
    values: dict[Node, Array] = {}
    for part in topological([node]):
        values[part] = part.value if part.value is not None else evaluate_node(part, [values[source] for source in part.inputs])
    return values[node]


def _is_fixed(node: Node) -> bool:
    """Whether no input is found on the way up; the search ends at the first one."""
    seen, stack = {node}, [node]
    while stack:
        part = stack.pop()
        if part.op == ops.INPUT:
            return False
        following = [source for source in part.inputs if source not in seen]
        seen.update(following)
        stack += following
    return True


def walk(graph: Graph, inputs: Mapping[str, Any], numbers: bool = True) -> Iterator[tuple[Node, Array]]:
    """Yield every node with its value, in topological order; values that nothing needs any more are let go."""
    given = check_inputs(graph, inputs, numbers)
    nodes = graph.nodes()
    last_use: dict[Node, int] = {}
    for index, node in enumerate(nodes):
        last_use.update(dict.fromkeys(node.inputs, index))
    last_use.update(dict.fromkeys(graph.outputs, len(nodes)))
    values: dict[Node, Array] = {}
    for index, node in enumerate(nodes):
        values[node] = _value(node, given, values)
        yield node, values[node]
        for source in (node, *dict.fromkeys(node.inputs)):
            if last_use.get(source, index) <= index:
                del values[source]


def _value(node: Node, given: Mapping[Node, Array], values: Mapping[Node, Array]) -> Array:
    if node.op == ops.INPUT:
        if node not in given:
            raise GraphError(f"input {node.name!r} is used but is not among the inputs of the graph")
        return given[node]
    if node.op == ops.CONSTANT:
        if node.value is None:
            raise GraphError(f"constant {node.name!r} has no value")
        return node.value
    return evaluate_node(node, [values[source] for source in node.inputs])


def evaluate(
    graph: Graph, inputs: Mapping[str, Any], observe: Callable[[Node, Array], None] | None = None, numbers: bool = True
) -> list[Array]:
    """Return the values of the graph's outputs.

    `inputs` maps each input's name to an array of its exact shape and data type. `observe` is called with every node
    and its value, in topological order. Raises `GraphError` for wrong inputs; with `numbers` a NaN among
    them is wrong too, if the graph quantises values.
    """
    wanted = set(graph.outputs)
    results: dict[Node, Array] = {}
    for node, value in walk(graph, inputs, numbers):
        if observe is not None:
            observe(node, value)
        if node in wanted:
            results[node] = value
    return [results[output] for output in graph.outputs]


def evaluate_all(graph: Graph, inputs: Mapping[str, Any]) -> dict[Node, Array]:
    """Return the value of every node; like `evaluate`, but keeps all of them."""
    return dict(walk(graph, inputs))
