"""States that are only ever read as levels of 8 bits are kept as these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of, graph_input
from vta.ir.interpreter import evaluate_node
from vta.ir.ops.quantized.qnn import DequantizeAttributes, QuantizeAttributes
from vta.ir.state import State

__all__ = ["keep_quantized"]


def keep_quantized(graph: Graph) -> Graph:
    """Make int8 states of float ones where all that reads one quantizes it as its next value was dequantized.

    Exact: a level times its scale is that level again.
    """
    for state in graph.states:
        graph = _kept(graph, state)
    return graph


def _kept(graph: Graph, state: State) -> Graph:
    (held,) = (node for node in graph.inputs if node.name == state.name)
    after, readers = graph.outputs[state.output], graph.users()[held]
    if len(readers) != 1 or readers[0].op != ops.QNN_QUANTIZE or held in graph.outputs or not _undoes(after, readers[0]):
        return graph
    (reader,) = readers
    levels = graph_input(held.name, held.shape, reader.dtype)
    initial = evaluate_node(reader, [np.asarray(state.initial)])
    initial.setflags(write=False)
    done: dict[Node, Node] = {reader: levels}
    for node in graph.nodes():
        if node not in done:
            done[node] = node if node is held else _rebuilt(node, done)
    outputs = [done[output] for output in graph.outputs]
    outputs[state.output] = done[after.inputs[0]]
    inputs = tuple(levels if node is held else node for node in graph.inputs)
    states = tuple(replace(state, initial=initial) if other is state else other for other in graph.states)
    return replace(graph, inputs=inputs, outputs=tuple(outputs), states=states)


def _rebuilt(node: Node, done: dict[Node, Node]) -> Node:
    inputs = tuple(done[source] for source in node.inputs)
    same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
    return node if same else replace(node, inputs=inputs)


def _undoes(after: Node, reader: Node) -> bool:
    """Whether levels that become real numbers by `after` are the same again by `reader`."""
    if after.op != ops.QNN_DEQUANTIZE or after.inputs[0].dtype != reader.dtype:
        return False
    out, back = attrs_of(after, DequantizeAttributes), attrs_of(reader, QuantizeAttributes)
    return (out.scale, out.zero_point, out.axis) == (back.scale, back.zero_point, back.axis)
