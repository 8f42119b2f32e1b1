"""The values of a run, layer by layer, under names by which two runs find each other's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.codegen.region_program import OperatorRecord, RegionProgram
from vta.ir.graph import Graph, Node
from vta.ir.interpreter import walk
from vta.ir.transforms.functions import inline_functions
from vta.support.dataclass import dataclass

__all__ = [
    "OUTPUT",
    "Array",
    "LayerValue",
    "Where",
    "is_value_of",
    "layer_node",
    "output_values",
    "reference_values",
    "value_of_node",
]

Array = NDArray[Any]

OUTPUT = "output"
"""Begins the layer of what a graph gives: the value is compared as the model gives it."""


@dataclass(frozen=True, eq=False)
class Where:
    """The operator of a program that computed a value."""

    region: RegionProgram
    operator: OperatorRecord


@dataclass(frozen=True, eq=False)
class LayerValue:
    """One value of a run."""

    layer: str
    tensor: str
    """What computes it, and its type; two values of one layer differ in it."""
    array: Array
    number: int = -1
    """Of its node in the graph; -1 if it has none."""
    where: Where | None = None
    """What computed it on the accelerator; None: the host, or a framework."""
    op: str = ""
    """Operator that the host computed it by; "" for what is only handed over."""


def value_of_node(node: Node, array: Array, number: int, where: Where | None = None) -> LayerValue:
    """The value of a node."""
    return LayerValue(node.name, f"{node.op} {node.type}", array, number, where, node.op)


def reference_values(graph: Graph, inputs: Mapping[str, Array]) -> Iterator[LayerValue]:
    """What the NumPy references compute: every call in topological order, then the outputs."""
    plain = inline_functions(graph, lambda attributes: True)
    results: dict[Node, Array] = {}
    wanted = set(plain.outputs)
    for number, (node, value) in enumerate(walk(plain, inputs)):
        if node in wanted:
            results[node] = value
        if node.is_call:
            yield value_of_node(node, value, number)
    yield from output_values(plain, [results[node] for node in plain.outputs])


def output_values(graph: Graph, arrays: Iterable[Array]) -> Iterator[LayerValue]:
    """The outputs of a graph under the names of the model."""
    names = graph.output_names or tuple(node.name for node in graph.outputs)
    for name, node, array in zip(names, graph.outputs, arrays, strict=True):
        yield LayerValue(f"{OUTPUT} {name}", f"{node.type}", np.asarray(array))


def layer_node(graph: Graph, layer: str, like: Array) -> Node | None:
    """What gives the value of a layer, or of an output: the last call of that name whose type is that of `like`."""
    if layer.startswith(OUTPUT + " "):
        names = graph.output_names or tuple(node.name for node in graph.outputs)
        named = dict(zip(names, graph.outputs, strict=True))
        return named.get(layer.removeprefix(OUTPUT + " "))
    return next((node for node in reversed(graph.nodes()) if node.is_call and is_value_of(node, layer, like)), None)


def is_value_of(node: Node, layer: str, like: Array) -> bool:
    """Whether a node belongs to a layer and has the type of `like`."""
    return node.name == layer and node.shape == like.shape and node.dtype == like.dtype.name
