"""Inner graphs: cutting nodes out of a graph into one, and putting the nodes of one back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, graph_input, with_inputs
from vta.ir.inner_graph import FunctionAttributes
from vta.ir.operator import lookup
from vta.ir.ops.function import function_of

__all__ = ["call_of", "calls_of_functions", "cut_out", "inline_functions"]


def cut_out(nodes: Iterable[Node], outputs: Iterable[Node], name: str) -> tuple[Graph, tuple[Node, ...]]:
    """Return a graph of its own that computes `outputs`, and the values that its inputs ``p0, p1, ...`` stand for.

    `nodes` are those to take along, in topological order; constants that they read go along too.
    """
    done: dict[Node, Node] = {}
    taken = list(nodes)
    inside = set(taken)
    inputs: list[Node] = []
    for node in taken:
        for source in node.inputs:
            if source in inside or source in done:
                continue
            if source.op == ops.CONSTANT:
                done[source] = source
            else:
                done[source] = graph_input(f"p{len(inputs)}", source.shape, source.dtype)
                inputs.append(source)
        done[node] = with_inputs(node, tuple(done[source] for source in node.inputs))
    body = Graph(tuple(done[source] for source in inputs), tuple(done[output] for output in outputs), name)
    return body, tuple(inputs)


def call_of(attrs: FunctionAttributes, inputs: tuple[Node, ...], name: str) -> Node:
    """Return the node that calls an inner graph on `inputs`, in layer `name`."""
    return Node(ops.CALL, inputs, attrs, lookup(ops.CALL).check(attrs, inputs, name), name)


def calls_of_functions(graph: Graph) -> Iterator[Node]:
    """The calls of inner graphs, in topological order; not those inside of inner graphs."""
    return (node for node in graph.calls() if node.op == ops.CALL)


def inline_functions(graph: Graph, chosen: Callable[[FunctionAttributes], bool] = lambda attrs: True) -> Graph:
    """Put the nodes of inner graphs, and of those inside them, in the place of their calls; only of the `chosen`, where given."""
    bodies: dict[tuple[int, tuple[Node, ...]], Mapping[Node, Node]] = {}

    def copied(body: Graph, inputs: tuple[Node, ...]) -> Mapping[Node, Node]:
        key = (id(body), inputs)
        if key not in bodies:
            bodies[key] = rebuilt(body, dict(zip(body.inputs, inputs, strict=True)))
        return bodies[key]

    def rebuilt(inner: Graph, done: dict[Node, Node]) -> dict[Node, Node]:
        for node in inner.nodes():
            if node in done:
                continue
            inputs = tuple(done[source] for source in node.inputs)
            if node.op == ops.CALL and chosen(function_of(node)):
                done[node] = _output(node, copied(function_of(node).body, inputs))
            else:
                done[node] = with_inputs(node, inputs)
        return done

    done = rebuilt(graph, {})
    return graph.rebuilt(done)


def _output(node: Node, done: Mapping[Node, Node]) -> Node:
    """What stands for a call, of what became of the nodes of its body."""
    attrs = function_of(node)
    return done[attrs.body.outputs[attrs.output]]
