"""What an importer notes of the values that a network keeps from one run to the next."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.ir.graph import Graph, Node, constant, graph_input
from vta.ir.state import State
from vta.support.dataclass import dataclass

__all__ = ["Variable", "Variables"]


@dataclass
class Variable:
    """A value that operators read and assign, one after the other."""

    held: Node
    """The input that holds it before a run."""
    initial: NDArray[Any]
    now: Node
    """What it is after the operators until here."""


@dataclass
class Variables:
    """The variables of a network by name, in the order in which they are first used."""

    found: dict[str, Variable] = field(default_factory=dict)
    closed: bool = False
    """Whether there can be none, as in a branch of which nobody knows whether it is taken."""

    def declare(self, name: str, initial: NDArray[Any]) -> Variable:
        """The variable of this name, which starts as `initial` if it is new."""
        if self.closed:
            raise UnsupportedNodeError(f"variable {name!r} in a branch that depends on data")
        if name not in self.found:
            held = graph_input(name, initial.shape, initial.dtype.name)
            value = constant(initial, name).value
            assert value is not None
            self.found[name] = Variable(held, value, held)
        return self.found[name]

    def completed(self, graph: Graph) -> Graph:
        """A graph of what the model gives, with a state for each variable."""
        kept = self.found
        for name in {node.name for node in graph.inputs}.intersection(kept):
            raise ImportModelError(f"variable {name!r} is called like an input")
        first = len(graph.outputs)
        states = tuple(State(name, first + at, variable.initial) for at, (name, variable) in enumerate(kept.items()))
        return Graph(
            (*graph.inputs, *(variable.held for variable in kept.values())),
            (*graph.outputs, *(variable.now for variable in kept.values())),
            graph.name,
            (*graph.output_names, *kept),
            states,
        )
