"""Graphs as text. The numbers of the calls are those by which a region is selected."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from vta.ir import names as ops
from vta.ir.inner_graph import FunctionAttributes
from vta.ir.operator import Attributes

if TYPE_CHECKING:
    from vta.ir.graph import Graph, Node
    from vta.ir.state import State

__all__ = ["call_numbers", "format_attributes", "print_graph"]

_LONGEST_TUPLE = 8
"""Longer tuples (per-channel scales) are cut to their ends and their length."""


def call_numbers(graph: Graph) -> dict[Node, int]:
    """Return the number of each call: its place among the calls in topological order, from 0."""
    return {node: number for number, node in enumerate(graph.calls())}


def print_graph(graph: Graph) -> str:
    """Return one line a call: ``%number = operator(inputs, attributes) : type  # layer``.

    Attributes that have their default value are left out; constants appear by type, scalars by value. A call of an inner graph is
    ``@name(inputs)``; the inner graphs follow, each once, with what they stand for. Lines of ``state`` and ``next`` say what
    an input holds before the first run, and after each.
    """
    texts = [_one_graph(graph, f"graph {graph.name}", "")]
    shown: dict[Graph, None] = {}
    pending = [graph]
    while pending:
        for attrs in _inner(pending.pop(0)):
            if attrs.body not in shown:
                shown[attrs.body] = None
                pending.append(attrs.body)
                notes = [f"{key}={value}" for key, value in (("composite", attrs.composite), ("target", attrs.target)) if value]
                texts.append(_one_graph(attrs.body, f"graph @{attrs.body.name}", " ".join(["", *notes])))
    return "\n".join(texts)


def _inner(graph: Graph) -> list[FunctionAttributes]:
    return [node.attrs for node in graph.calls() if isinstance(node.attrs, FunctionAttributes)]


def _one_graph(graph: Graph, name: str, notes: str) -> str:
    numbers = call_numbers(graph)
    inputs = ", ".join(f"{node.name}: {node.type}" for node in graph.inputs)
    lines = [f"{name}({inputs}){notes} {{"]
    lines += [f"  state {state.name}: {state.type} = {_initial(state)}" for state in graph.states]
    for node, number in numbers.items():
        lines.append(f"  %{number} = {_expression(node, numbers)} : {node.type}  # {node.name}")
    outputs = [_reference(output, numbers) for output in graph.outputs]
    lines += [f"  next {state.name} = {outputs[state.output]}" for state in graph.states]
    lines.append(f"  return {', '.join(outputs[at] for at in graph.result_positions)}".rstrip())
    lines.append("}")
    return "\n".join(lines) + "\n"


def _initial(state: State) -> str:
    values = state.initial.reshape(-1)
    return repr(values[0].item()) if values.size and (values == values[0]).all() else "const"


def _expression(node: Node, numbers: dict[Node, int]) -> str:
    arguments = [_reference(source, numbers) for source in node.inputs]
    attrs = node.attrs
    if not isinstance(attrs, FunctionAttributes):
        arguments += [f"{name}={text}" for name, text in format_attributes(attrs).items()]
        return f"{node.op}({', '.join(arguments)})"
    output = f".{attrs.output}" if len(attrs.body.outputs) > 1 else ""
    return f"@{attrs.body.name}({', '.join(arguments)}){output}"


def format_attributes(attrs: Attributes) -> dict[str, str]:
    """Return the text of each attribute that differs from its default, by name, in declared order."""
    shown = {}
    for field in fields(attrs):
        value = getattr(attrs, field.name)
        if field.default is MISSING or value != field.default:
            shown[field.name] = _text(value)
    return shown


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        if len(value) > _LONGEST_TUPLE:
            return f"({_text(value[0])}, {_text(value[1])}, ... {_text(value[-1])}; {len(value)} values)"
        return f"({', '.join(_text(v) for v in value)}{',' if len(value) == 1 else ''})"
    return repr(value)


def _reference(node: Node, numbers: dict[Node, int]) -> str:
    if node.op != ops.CONSTANT:
        return f"%{numbers[node]}" if node.is_call else node.name
    if node.value is not None and node.value.ndim == 0:
        return f"{node.dtype}({node.value.item()!r})"
    return f"const {node.type}"
