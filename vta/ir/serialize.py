"""Graphs as a JSON-able dictionary beside a dictionary of arrays; the round trip is exact."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ArtifactError
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, TensorType
from vta.ir.operator import Attributes, NoAttributes, lookup
from vta.ir.state import State
from vta.support.shorten import shown

__all__ = ["GRAPH_VERSION", "STATE_VERSION", "graph_from_json", "graph_to_json"]

Array = NDArray[Any]

GRAPH_VERSION = 1
"""Counted up whenever a reader of the previous version would misread what is written."""
STATE_VERSION = 2
"""Of a graph with states, which a reader of version 1 would take for inputs and outputs."""

_NODE_KEYS = ("op", "name", "inputs", "attrs", "dtype", "shape")


def graph_to_json(graph: Graph) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return `graph` as a dictionary that JSON holds exactly, and the arrays of its constants by key."""
    writer = _Writer()
    document = {"version": STATE_VERSION if graph.states else GRAPH_VERSION, **writer.graph(graph)}
    if writer.bodies:
        document["functions"] = writer.bodies
    return document, writer.arrays


class _Writer:
    """Collects the constants and the inner graphs, each once; inner graphs come after those that they call."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self.bodies: list[dict[str, Any]] = []
        self._keys: dict[int, str] = {}
        self._numbers: dict[Graph, int] = {}

    def graph(self, graph: Graph) -> dict[str, Any]:
        nodes = graph.nodes()
        number = {node: i for i, node in enumerate(nodes)}
        return {
            "name": graph.name,
            "nodes": [self._node(node, number) for node in nodes],
            "inputs": [number[node] for node in graph.inputs],
            "outputs": [number[node] for node in graph.outputs],
            **({"output_names": list(graph.output_names)} if graph.output_names else {}),
            **({"states": [self._state(state) for state in graph.states]} if graph.states else {}),
        }

    def _state(self, state: State) -> dict[str, Any]:
        return {"name": state.name, "output": state.output, "initial": self._array(state.initial)}

    def _array(self, value: Array) -> str:
        """The key of an array."""
        key = self._keys.setdefault(id(value), f"constant{len(self._keys)}")
        self.arrays[key] = value
        return key

    def _node(self, node: Node, number: Mapping[Node, int]) -> dict[str, Any]:
        entry = {
            "op": node.op,
            "name": node.name,
            "inputs": [number[source] for source in node.inputs],
            "attrs": {f.name: self._attribute(getattr(node.attrs, f.name), f"{node.name}: {f.name}") for f in fields(node.attrs)},
            "dtype": node.dtype,
            "shape": list(node.shape),
        }
        if node.value is not None:
            entry["value"] = self._array(node.value)
        return entry

    def _attribute(self, value: Any, where: str) -> Any:
        if not isinstance(value, Graph):
            return _to_json(value, where)
        if value not in self._numbers:
            body = self.graph(value)
            self._numbers[value] = len(self.bodies)
            self.bodies.append(body)
        return {"function": self._numbers[value]}


def graph_from_json(document: Mapping[str, Any], arrays: Mapping[str, Array]) -> Graph:
    """Rebuild the graph that `graph_to_json` wrote.

    Raises `ArtifactError` for another version or a malformed document, and `GraphError` for an unknown operator, a
    wrong attribute value or types that do not go together.
    """
    version = _field(document, "version", int, "graph")
    if version not in (GRAPH_VERSION, STATE_VERSION):
        raise ArtifactError(
            f"graph: version {version} cannot be read; this vta reads versions {GRAPH_VERSION} and {STATE_VERSION}"
        )
    bodies: list[Graph] = []
    for index, body in enumerate(_field(document, "functions", list, "graph") if "functions" in document else []):
        if not isinstance(body, Mapping):
            raise ArtifactError(f"function {index} must be an object, got {shown(body)}")
        bodies.append(_graph(body, arrays, bodies, f"function {index}"))
    return _graph(document, arrays, bodies, "graph")


def _graph(document: Mapping[str, Any], arrays: Mapping[str, Array], bodies: list[Graph], what: str) -> Graph:
    """One graph; `bodies` are the inner graphs before it."""
    nodes: list[Node] = []
    for index, entry in enumerate(_field(document, "nodes", list, what)):
        where = f"{what} node {index}"
        if not isinstance(entry, Mapping):
            raise ArtifactError(f"{where} must be an object, got {shown(entry)}")
        nodes.append(_node(entry, nodes, arrays, bodies, where))
    inputs = _picked(document, "inputs", nodes, what)
    if any(node.op != ops.INPUT for node in inputs):
        raise ArtifactError(f"{what}: 'inputs' must name input nodes only")
    outputs = _picked(document, "outputs", nodes, what)
    names = _output_names(document, len(outputs), what)
    return Graph(inputs, outputs, _field(document, "name", str, what), names, tuple(_states(document, arrays, what)))


def _states(document: Mapping[str, Any], arrays: Mapping[str, Array], what: str) -> Iterator[State]:
    for index, entry in enumerate(_field(document, "states", list, what) if "states" in document else []):
        where = f"{what} state {index}"
        if not isinstance(entry, Mapping):
            raise ArtifactError(f"{where} must be an object, got {shown(entry)}")
        key = _field(entry, "initial", str, where)
        yield State(_field(entry, "name", str, where), _field(entry, "output", int, where), _stored(key, arrays, where))


def _output_names(document: Mapping[str, Any], count: int, what: str) -> tuple[str, ...]:
    """Files of before names were kept have none."""
    names = _field(document, "output_names", list, what) if "output_names" in document else []
    if names and (len(names) != count or not all(isinstance(name, str) for name in names)):
        raise ArtifactError(f"{what}: 'output_names' must hold a name for each of the {count} outputs, got {names!r:.100}")
    return tuple(names)


def _node(entry: Mapping[str, Any], before: list[Node], arrays: Mapping[str, Array], bodies: list[Graph], where: str) -> Node:
    op, name = _field(entry, "op", str, where), _field(entry, "name", str, where)
    where = f"{where} ({shown(name)}, {op})"
    unknown = [key for key in entry if key not in (*_NODE_KEYS, "value")]
    if unknown:
        raise ArtifactError(f"{where} has unknown keys {', '.join(map(repr, unknown))}")
    shape = _field(entry, "shape", list, where)
    if not all(type(d) is int and d >= 0 for d in shape):
        raise ArtifactError(f"{where}: 'shape' must hold integers of at least 0, got {shape}")
    declared = TensorType(tuple(shape), _field(entry, "dtype", str, where)).check_size()
    inputs = _picked(entry, "inputs", before, where)
    attributes = _field(entry, "attrs", dict, where)
    if op in (ops.INPUT, ops.CONSTANT):
        if inputs or attributes:
            raise ArtifactError(f"{where} must have neither inputs nor attributes")
        return Node(
            op, (), NoAttributes(), declared, name, _value(entry, declared, arrays, where) if op == ops.CONSTANT else None
        )
    attrs = _attributes(op, attributes, bodies, where)
    inferred = lookup(op).check(attrs, inputs, name)
    if inferred != declared:
        raise ArtifactError(f"{where} is stored as {declared}, but its inputs make it {inferred}")
    return Node(op, inputs, attrs, declared, name)


def _attributes(op: str, stored: Mapping[str, Any], bodies: list[Graph], where: str) -> Attributes:
    """The attribute dataclass of `op`; every declared field must be there and no other."""
    operator = lookup(op)
    known = [f.name for f in fields(operator.attributes)]
    if set(stored) != set(known):
        wrong = ", ".join(sorted(set(stored) ^ set(known)))
        raise ArtifactError(f"{where}: attributes must be {', '.join(known) or 'none'}; missing or unknown: {wrong}")
    return operator.made(**{key: _from_json(value, bodies, f"{where}: {key}") for key, value in stored.items()})


def _value(entry: Mapping[str, Any], declared: TensorType, arrays: Mapping[str, Array], where: str) -> Array:
    array = _stored(_field(entry, "value", str, where), arrays, where)
    if array.shape != declared.shape or array.dtype.name != declared.dtype:
        raise ArtifactError(f"{where} is stored as {declared}, but its array is {TensorType(array.shape, array.dtype.name)}")
    return array


def _stored(key: str, arrays: Mapping[str, Array], where: str) -> Array:
    if key not in arrays:
        raise ArtifactError(f"{where}: its array {shown(key)} is missing")
    array = np.asarray(arrays[key])
    if array.flags.writeable:
        array = array.copy()
        array.setflags(write=False)
    return array


def _picked(entry: Mapping[str, Any], key: str, nodes: list[Node], where: str) -> tuple[Node, ...]:
    indices = _field(entry, key, list, where)
    for index in indices:
        if type(index) is not int or not 0 <= index < len(nodes):
            raise ArtifactError(f"{where}: {shown(key)} must hold numbers of earlier nodes, got {shown(index)}")
    return tuple(nodes[index] for index in indices)


def _field(entry: Mapping[str, Any], key: str, kind: type[Any], where: str) -> Any:
    if key not in entry:
        raise ArtifactError(f"{where}: key {shown(key)} is missing")
    value = entry[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ArtifactError(f"{where}: {shown(key)} must be of type {kind.__name__}, got {shown(value)}")
    return value


def _to_json(value: Any, where: str) -> Any:
    """JSON has no tuples and no infinities: tuples become lists, infinities an object naming the float."""
    if isinstance(value, tuple):
        return [_to_json(v, where) for v in value]
    if type(value) is float and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, np.generic):
        return _to_json(value.item(), where)
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise ArtifactError(f"{where}: a {type(value).__name__} cannot be stored as an attribute: {shown(value)}")


def _from_json(value: Any, bodies: list[Graph], where: str) -> Any:
    if isinstance(value, list):
        return tuple(_from_json(v, bodies, where) for v in value)
    if isinstance(value, dict) and set(value) == {"function"}:
        index = value["function"]
        if type(index) is not int or not 0 <= index < len(bodies):
            raise ArtifactError(f"{where}: 'function' must be the number of an inner graph before this one, got {shown(index)}")
        return bodies[index]
    if isinstance(value, dict):
        text = value.get("float")
        if set(value) != {"float"} or text not in ("inf", "-inf", "nan"):
            raise ArtifactError(f"{where}: no attribute value looks like {shown(value)}")
        return float(text)
    return value
