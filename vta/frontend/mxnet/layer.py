"""What converters see of the nodes of a symbol, and the state of one import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.mxnet.attributes import Attributes
from vta.frontend.mxnet.inputs import assumed_shape
from vta.frontend.mxnet.parameters import ParameterSource, Role
from vta.frontend.mxnet.symbol import VARIABLE, Symbol, SymbolNode
from vta.ir.graph import Node, call, constant, graph_input
from vta.support.dataclass import dataclass

__all__ = ["Converter", "ImportState", "Layer", "Shape"]

Shape = tuple[int, ...]


@dataclass
class ImportState:
    """The state of one import."""

    symbol: Symbol
    parameters: ParameterSource
    shapes: Mapping[str, Shape]
    path: object
    values: dict[int, tuple[Node, ...] | None] = field(default_factory=dict)
    """Outputs of the nodes converted until now; None where that was not possible."""
    inputs: dict[str, Node] = field(default_factory=dict)
    constants: dict[str, Node] = field(default_factory=dict)
    assumed: list[str] = field(default_factory=list)
    """Remarks on input shapes that were not given."""

    def variable(self, name: str) -> Node:
        """Return a variable that a layer reads as data: a stored array, or an input of the network."""
        if name in self.inputs:
            return self.inputs[name]
        stored = self.parameters.find(name)
        if stored is not None:
            return self.constant(name, stored)
        shape = self.shapes.get(name)
        if shape is None:
            shape = assumed_shape(self.symbol, self.parameters, name)
            self.assumed.append(f"input {name!r} was given no shape, {shape} was assumed")
        self.inputs[name] = graph_input(name, shape)
        return self.inputs[name]

    def constant(self, name: str, array: NDArray[Any]) -> Node:
        """Return the constant node of a parameter, one for all its readers."""
        if name not in self.constants:
            wide = array.astype(np.float32, copy=False) if array.dtype.kind == "f" else array
            self.constants[name] = constant(wide, name)
        return self.constants[name]


@dataclass(frozen=True)
class Layer:
    """What a converter sees of one node."""

    node: SymbolNode
    state: ImportState

    @property
    def attrs(self) -> Attributes:
        """Attributes of the node."""
        return self.node.attrs

    @property
    def arity(self) -> int:
        """Number of inputs of the node."""
        return len(self.node.inputs)

    def tensor(self, index: int = 0) -> Node:
        """Return input `index` as data."""
        source, output = self._input(index)
        variable = self.state.symbol.nodes[source]
        if variable.op == VARIABLE:
            return self.state.variable(variable.name)
        outputs = self.state.values[source]
        if outputs is None or output >= len(outputs):
            raise UnsupportedNodeError(f"reads output {output} of {variable.name}, which is not imported")
        return outputs[output]

    def tensors(self) -> list[Node]:
        """Return all inputs as data."""
        return [self.tensor(index) for index in range(self.arity)]

    def parameter(self, index: int, shape: Shape, role: Role, name: str = "") -> Node:
        """Return input `index` as a parameter of the given shape.

        Files from before 2017 leave the statistics out of the inputs: `name` says what such a parameter is called.
        """
        if name and index >= self.arity:
            return self._parameter(name, shape, role)
        source, _ = self._input(index)
        if self.state.symbol.nodes[source].op != VARIABLE:
            return self.tensor(index)
        return self._parameter(self.state.symbol.nodes[source].name, shape, role)

    def stored_shape(self, index: int) -> Shape | None:
        """Return the shape that the file has for the parameter at input `index`, if it has one."""
        stored = self.state.parameters.find(self.state.symbol.nodes[self._input(index)[0]].name)
        return None if stored is None else stored.shape

    def call(self, op: str, *inputs: Node, **attributes: Any) -> Node:
        """Return a node of the graph that belongs to this layer."""
        return call(op, inputs, name=self.node.name, **attributes)

    def _parameter(self, name: str, shape: Shape, role: Role) -> Node:
        return self.state.constant(name, self.state.parameters.get(name, shape, role, self.tensor(0)))

    def _input(self, index: int) -> tuple[int, int]:
        if index >= self.arity:
            raise ImportModelError(f"the node has {self.arity} inputs, input {index} is needed")
        return self.node.inputs[index]


Converter = Callable[[Layer], Node | tuple[Node, ...]]
