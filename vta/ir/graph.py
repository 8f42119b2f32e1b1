"""The graph: typed single-assignment nodes in NCHW, each with one output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.operator import Attributes, NoAttributes, TensorType, check_elements, lookup
from vta.ir.state import State, check_states
from vta.support.dataclass import dataclass

__all__ = [
    "Graph",
    "Node",
    "TensorType",
    "attrs_of",
    "call",
    "constant",
    "graph_input",
    "rewrite",
    "topological",
    "with_inputs",
]


@dataclass(frozen=True, eq=False)
class Node:
    """One value of the graph: an input, a constant, or a call of an operator. Compared by identity."""

    op: str
    """`INPUT`, `CONSTANT`, or the name of a declared operator."""
    inputs: tuple[Node, ...]
    attrs: Attributes
    """Those of the operator; `attrs_of` gives them with their type."""
    type: TensorType
    name: str
    """The layer of the source model that this node belongs to; nodes derived from one layer share its name."""
    value: NDArray[Any] | None = None
    """The value of a constant."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self.type.shape

    @property
    def dtype(self) -> str:
        """Data type of the value, e.g. ``int8``."""
        return self.type.dtype

    @property
    def is_call(self) -> bool:
        """Whether an operator computes the node."""
        return self.op not in (ops.INPUT, ops.CONSTANT)

    def __repr__(self) -> str:
        return f"<{self.op} {self.name!r} {self.type}>"


@dataclass(frozen=True, eq=False)
class Graph:
    """A network: its inputs and outputs in order, and which of them are states. Raises `GraphError` for wrong states."""

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    name: str = "main"
    output_names: tuple[str, ...] = ()
    """What the model calls its outputs; empty: they are called by their layers."""
    states: tuple[State, ...] = ()
    """Pairs of an input and an output that are one value, before and after a run."""

    def __post_init__(self) -> None:
        if self.states:
            check_states(self)

    @cached_property
    def arguments(self) -> tuple[Node, ...]:
        """The inputs that whoever runs the network gives: those that hold no state."""
        held = {state.name for state in self.states}
        return tuple(node for node in self.inputs if node.name not in held)

    @property
    def result_positions(self) -> tuple[int, ...]:
        """The places of the outputs that whoever runs the network gets: those that are not the next value of a state."""
        taken = {state.output for state in self.states}
        return tuple(at for at in range(len(self.outputs)) if at not in taken)

    def __str__(self) -> str:
        """One line a call, numbered; see `print_graph`."""
        from vta.ir.printer import print_graph

        return print_graph(self)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(f"{node.name}: {node.type}" for node in nodes) for nodes in (self.inputs, self.outputs))
        return f"Graph {self.name!r}: {len(self.calls())} operators, ({inputs}) -> ({outputs})"

    def nodes(self) -> list[Node]:
        """All nodes that the outputs need, and the inputs, in topological order."""
        return list(self._order)

    @cached_property
    def _order(self) -> tuple[Node, ...]:
        return tuple(topological((*self.inputs, *self.outputs)))

    def rebuilt(self, done: Mapping[Node, Node]) -> Graph:
        """The graph with what a rewrite made of its outputs; inputs are kept."""
        return replace(self, outputs=tuple(done[output] for output in self.outputs))

    def calls(self) -> list[Node]:
        """The nodes that operators compute, in topological order."""
        return list(self._calls)

    @cached_property
    def _calls(self) -> tuple[Node, ...]:
        return tuple(node for node in self._order if node.op not in (ops.INPUT, ops.CONSTANT))

    def users(self) -> dict[Node, list[Node]]:
        """For each node the nodes that read it, once per reading node, in topological order."""
        users: dict[Node, list[Node]] = {node: [] for node in self._order}
        for node in users:
            for source in dict.fromkeys(node.inputs):
                users[source].append(node)
        return users


_A = TypeVar("_A", bound=Attributes)


def attrs_of(node: Node, kind: type[_A]) -> _A:
    """The attributes of a node, which are those of its operator: `kind`. Raises `GraphError` naming the node if they are not."""
    attrs = node.attrs
    if not isinstance(attrs, kind):
        raise GraphError(f"{node.name}: {node.op} has {type(attrs).__name__}, not {kind.__name__}")
    return attrs


def graph_input(name: str, shape: Iterable[int], dtype: str = "float32") -> Node:
    """Return an input node. Raises `GraphError` naming it if it would have more elements than a graph can work with."""
    type_ = TensorType(tuple(int(d) for d in shape), dtype)
    check_elements(type_.shape, f"input {name}: {type_}")
    return Node(ops.INPUT, (), NoAttributes(), type_, name)


def constant(value: Any, name: str = "constant") -> Node:
    """Return a constant node holding the array or scalar `value`; an array that is read-only and no view is not copied."""
    if type(value) is np.ndarray and value.base is None and not value.flags.writeable:
        array = value
    else:
        array = np.array(value)
        array.setflags(write=False)
    return Node(ops.CONSTANT, (), NoAttributes(), TensorType(array.shape, _dtype_name(array.dtype)), name, array)


@cache
def _dtype_name(dtype: np.dtype[Any]) -> str:
    """The name of a data type, which NumPy puts together anew each time."""
    return dtype.name


def call(op: str, inputs: Iterable[Node], name: str = "", **attributes: Any) -> Node:
    """Return a node that applies operator `op`; its type is inferred.

    Raises `GraphError` naming the layer and operator if attributes or input types are wrong.
    """
    sources = tuple(inputs)
    operator = lookup(op)
    label = name or op
    try:
        attrs = operator.made(**attributes)
    except (TypeError, GraphError) as error:
        raise GraphError(f"{label}: {op}: {error}") from None
    return Node(op, sources, attrs, operator.check(attrs, sources, label), label)


def topological(outputs: Iterable[Node]) -> list[Node]:
    """Return `outputs` and everything that they need, each node after its inputs. Needs no recursion."""
    order: dict[Node, None] = {}
    stack = list(outputs)[::-1]
    while stack:
        node = stack[-1]
        if node not in order:
            pending = [source for source in node.inputs if source not in order]
            if pending:
                stack += pending[::-1]
                continue
            order[node] = None
        stack.pop()
    return list(order)


def with_inputs(node: Node, inputs: tuple[Node, ...]) -> Node:
    """Return the same operator on other inputs, its type inferred anew; `node` itself if the inputs are its own."""
    # Nodes are equal if they are the same.
    if inputs == node.inputs:
        return node
    # A type follows from attributes and types alone.
    same = all(new.type == old.type for new, old in zip(inputs, node.inputs, strict=True))
    type_ = node.type if same else lookup(node.op).check(node.attrs, inputs, node.name)
    return Node(node.op, inputs, node.attrs, type_, node.name, node.value)


def rewrite(graph: Graph, change: Callable[[Node], Node]) -> Graph:
    """Rebuild `graph` in topological order; `change` maps each node, its inputs already rewritten, to its replacement.

    `change` returns the node itself to keep it. Graph inputs must be kept.
    """
    done: dict[Node, Node] = {}
    for node in graph.nodes():
        if node.inputs:
            done[node] = change(with_inputs(node, tuple([done[source] for source in node.inputs])))
        else:
            done[node] = change(node)
    return graph.rebuilt(done)
