"""What callers give a network, as arrays of its inputs' types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vta.errors import GraphError, UsageError
from vta.ir.graph import Graph, Node
from vta.runtime.values.as_type import as_type

__all__ = ["InputTypes", "Inputs", "named_inputs"]

Array = NDArray[Any]
Inputs = Mapping[str, ArrayLike] | ArrayLike
"""Values by input; or those of the only input."""


class InputTypes:
    """What inputs must be, worked out once: most of what is given is so already, and to see that takes little."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._types = {node.name: (np.dtype(node.dtype), node.shape) for node in nodes}

    def fit(self, given: object) -> bool:
        """Whether these are arrays of just these names, types and shapes."""
        if type(given) is not dict or len(given) != len(self._types):
            return False
        for name, (dtype, shape) in self._types.items():
            array = given.get(name)
            if type(array) is not np.ndarray or array.dtype is not dtype or array.shape != shape:
                return False
        return True


def named_inputs(graph: Graph, given: Inputs | None, named: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Arrays by the names of inputs; values of another type become the input's where that keeps their kind.

    Floats become floats of another size, integers become floats, and integers that fit become integers of another size. Names,
    shapes, and what cannot be converted are left to whoever checks them. Raises `GraphError` if `given` has no name and the graph
    has not one input, or a state is given, and `UsageError` if an input is given twice.
    """
    nodes = {node.name: node for node in graph.arguments}
    values: dict[str, ArrayLike] = dict(named)
    for name, value in _by_name(graph, given).items():
        if name in values:
            raise UsageError(f"input {name!r} is given twice")
        values[name] = value
    for state in graph.states:
        if state.name in values:
            raise GraphError(f"{state.name!r} is a state of graph {graph.name!r}, set in the module's `state`, not given")
    return {name: _converted(nodes.get(name), value) for name, value in values.items()}


def _by_name(graph: Graph, given: Inputs | None) -> Mapping[str, ArrayLike]:
    if given is None or isinstance(given, Mapping):
        return given or {}
    arguments = graph.arguments
    if len(arguments) != 1:
        names = ", ".join(node.name for node in arguments) or "none"
        raise GraphError(f"graph {graph.name!r} has {len(arguments)} inputs: {names}; give each by its name")
    return {arguments[0].name: given}


def _converted(node: Node | None, value: ArrayLike) -> Array:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise GraphError(f"input {'' if node is None else repr(node.name)} is no array: {error}") from None
    if node is None or array.dtype == node.dtype:
        return array
    wanted = np.dtype(node.dtype)
    # The integers of a list are signed, whatever they are for.
    if not (np.can_cast(array.dtype, wanted, "same_kind") or (array.dtype.kind in "iu" and wanted.kind in "iu")):
        return array
    if wanted.kind in "iu" and array.size:
        info, least, most = np.iinfo(wanted), int(array.min()), int(array.max())
        if least < info.min or most > info.max:
            raise GraphError(f"input {node.name!r} is {wanted}, {info.min} to {info.max}; got values from {least} to {most}")
    return as_type(array, node.dtype, f"input {node.name!r}")
