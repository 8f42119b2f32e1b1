"""From an MXNet symbol and its parameters to a graph."""

from __future__ import annotations

from collections.abc import Mapping

from vta.errors import ImportModelError
from vta.frontend._errors import Problem, UnsupportedNodeError, faults_of, unsupported_nodes
from vta.frontend.mxnet.converters import CONVERTERS
from vta.frontend.mxnet.int8 import without_quantization
from vta.frontend.mxnet.layer import Converter, ImportState, Layer, Shape
from vta.frontend.mxnet.parameters import ParameterSource
from vta.frontend.mxnet.symbol import VARIABLE, Symbol, SymbolNode
from vta.ir.graph import Graph, Node

__all__ = ["import_symbol"]


def import_symbol(
    symbol: Symbol,
    parameters: ParameterSource,
    shapes: Mapping[str, Shape] | None = None,
    path: object = "symbol",
    name: str = "main",
) -> Graph:
    """Return the graph of a symbol; its layers are named as the nodes of the symbol.

    `shapes` gives the shapes of the inputs. Without one, it is assumed from the first layer that reads the input and from the
    sizes that Gluon's networks are trained with. Raises `ImportModelError` naming the node, or all that cannot be imported.
    """
    symbol = without_quantization(symbol, path)
    state = ImportState(symbol, parameters, shapes or {}, path)
    problems: list[Problem] = []
    for index in symbol.needed():
        node = symbol.nodes[index]
        if node.op == VARIABLE:
            continue
        state.values[index] = None
        converter = CONVERTERS.get(node.op)
        if converter is None:
            problems.append(Problem(node.op, node.name, index, "not a supported operator"))
        elif all(state.values.get(source, ()) is not None for source, _ in node.inputs):
            _convert(converter, Layer(node, state), index, problems)
    if problems:
        raise unsupported_nodes(path, problems, CONVERTERS)
    outputs = tuple(_output(state, head) for head in symbol.heads)
    variables = {node.name for node in symbol.nodes if node.op == VARIABLE}
    unknown = sorted(set(state.shapes) - variables)
    if unknown:
        raise ImportModelError(f"{path}: no input is called {', '.join(unknown)}; inputs are {', '.join(state.inputs)}")
    return Graph(tuple(state.inputs.values()), outputs, name, tuple(_output_name(state, head) for head in symbol.heads))


def _output_name(state: ImportState, head: tuple[int, int]) -> str:
    """What MXNet's `list_outputs` calls it."""
    index, number = head
    node = state.symbol.nodes[index]
    if node.op == VARIABLE:
        return node.name
    value = state.values[index]
    return f"{node.name}_output{number if isinstance(value, tuple) and len(value) > 1 else ''}"


def _output(state: ImportState, head: tuple[int, int]) -> Node:
    try:
        return Layer(SymbolNode("head", "head", (head,)), state).tensor()
    except (ImportModelError, UnsupportedNodeError) as error:
        raise ImportModelError(f"{state.path}: an output of the symbol: {error}") from None


def _convert(converter: Converter, layer: Layer, index: int, problems: list[Problem]) -> None:
    state, node = layer.state, layer.node
    try:
        with faults_of(f"{state.path}: {node.op} {node.name!r}"):
            outputs = converter(layer)
    except UnsupportedNodeError as error:
        problems.append(Problem(node.op, node.name, index, str(error)))
    except ImportModelError as error:
        where = f"{state.path}: {node.op} {node.name!r}: "
        text = str(error).removeprefix(where)
        raise ImportModelError(where + "; ".join([text, *state.assumed])) from None
    else:
        state.values[index] = outputs if isinstance(outputs, tuple) else (outputs,)
