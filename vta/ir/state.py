"""Values that a network keeps from one run to the next.

A graph computes, it assigns nothing: a state is an input, which holds its value before a run, together with an output, which
is its value after it. Passes see an input and an output like others, so no read can change places with an assignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.ir.arithmetic.not_finite import first_where
from vta.ir.operator import TensorType
from vta.support.dataclass import dataclass

if TYPE_CHECKING:
    from vta.ir.graph import Graph, Node

__all__ = ["State", "check_states", "checked_values", "initial_values", "split_outputs", "state_nodes", "with_states"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class State:
    """A value that lives from one run to the next."""

    name: str
    """Of the input that holds it before a run."""
    output: int
    """Position among the graph's outputs of its value after the run."""
    initial: Array
    """Its value before the first run."""

    @property
    def type(self) -> TensorType:
        """Shape and data type."""
        return TensorType(self.initial.shape, self.initial.dtype.name)


def check_states(graph: Graph) -> None:
    """Raise `GraphError` naming a state of `graph` that has no input or output of its type, or shares one with another."""
    nodes = {node.name: node for node in graph.inputs}
    for state in graph.states:
        where = f"state {state.name!r} of graph {graph.name!r}"
        if state.name not in nodes:
            raise GraphError(f"{where}: no input is called so; inputs are {', '.join(nodes) or 'none'}")
        if not 0 <= state.output < len(graph.outputs):
            raise GraphError(f"{where}: output {state.output} is none of the {len(graph.outputs)} outputs")
        for what, node in (("input", nodes[state.name]), ("next value", graph.outputs[state.output])):
            if node.type != state.type:
                raise GraphError(f"{where} starts as {state.type}, but its {what} is {node.type}")
    for what, keys in (("input", [state.name for state in graph.states]), ("output", [state.output for state in graph.states])):
        if len(set(keys)) != len(keys):
            raise GraphError(f"graph {graph.name!r}: two states have one {what}")


def initial_values(graph: Graph) -> dict[str, Array]:
    """What the states of a graph hold before the first run, by name."""
    return {state.name: state.initial for state in graph.states}


def state_nodes(graph: Graph) -> list[tuple[Node, Node]]:
    """For each state the input that holds it, and its next value."""
    nodes = {node.name: node for node in graph.inputs}
    return [(nodes[state.name], graph.outputs[state.output]) for state in graph.states]


def split_outputs(graph: Graph, outputs: Sequence[Array]) -> tuple[list[Array], dict[str, Array]]:
    """From the values of all outputs of a graph: its results in order, and the states after the run, by name."""
    return [outputs[at] for at in graph.result_positions], {state.name: outputs[state.output] for state in graph.states}


def checked_values(graph: Graph, values: Mapping[str, Any]) -> dict[str, Array]:
    """Values of states by name, as arrays.

    Raises `GraphError` naming one that is unknown, of another shape or type, or not a number somewhere.
    """
    types = {state.name: state.type for state in graph.states}
    found = {}
    for name, value in values.items():
        if name not in types:
            raise GraphError(f"{name!r} is no state of graph {graph.name!r}; its states are: {', '.join(types) or 'none'}")
        array = np.array(value)
        if TensorType(array.shape, array.dtype.name) != types[name]:
            raise GraphError(f"state {name!r} must be {types[name]}, got {TensorType(array.shape, array.dtype.name)}")
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise GraphError(f"state {name!r} is nan at {list(first_where(np.isnan(array)))}; expected numbers")
        found[name] = array
    return found


def with_states(graph: Graph, pairs: Mapping[str, str], names: Sequence[str]) -> Graph:
    """The graph with inputs that become states: each gets its next value from the output that `pairs` says; all start as zeros.

    `names` are those of the graph's outputs, in order. Such an output is none of the network any more, unless that leaves none:
    then all of them stay. Raises `GraphError` naming an input or output that there is not, or whose types differ.
    """
    states = (*graph.states, *_declared(graph, pairs, names))
    if {state.output for state in states} < set(range(len(graph.outputs))):
        return replace(graph, states=states)
    count = len(graph.outputs)
    return replace(
        graph,
        outputs=(*graph.outputs, *(graph.outputs[state.output] for state in states)),
        output_names=(*names, *(state.name for state in states)),
        states=tuple(replace(state, output=count + at) for at, state in enumerate(states)),
    )


def _declared(graph: Graph, pairs: Mapping[str, str], names: Sequence[str]) -> Iterator[State]:
    nodes = {node.name: node for node in graph.inputs}
    for name, output in pairs.items():
        node = _found(nodes, name, "input", graph)
        at = _found({found: at for at, found in enumerate(names)}, output, "output", graph)
        after = graph.outputs[at].type
        if after != node.type:
            raise GraphError(f"state {name!r} is {node.type}, but output {output!r}, which is to follow it, is {after}")
        yield State(name, at, _zeros(node))


def _found(known: Mapping[str, Any], name: str, what: str, graph: Graph) -> Any:
    if name not in known:
        raise GraphError(f"{name!r} is no {what} of graph {graph.name!r}; its {what}s are: {_listed(known)}")
    return known[name]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _zeros(node: Node) -> Array:
    value = np.zeros(node.shape, node.dtype)
    value.setflags(write=False)
    return value
