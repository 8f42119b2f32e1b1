"""Regions marked by hand: from the operator after START to the operator before STOP."""

from __future__ import annotations

from vta.errors import UsageError
from vta.ir.graph import Graph, Node

__all__ = ["layers_between"]


def layers_between(graph: Graph, start: str | None, stop: str | None) -> frozenset[str]:
    """Return the names of the layers after `start` and before `stop` in topological order.

    Each is ``NAME`` or ``NAME:INDEX``: NAME is an operator (``nn.max_pool2d``) or a layer, INDEX the operator's number in the
    printed graph. Without INDEX the first match counts, for `stop` the first after `start`. None leaves that side open.
    Raises `UsageError` listing the names there are if one is not found.
    """
    calls = graph.calls()
    begin = -1 if start is None else _find(calls, start, 0, "start")
    end = len(calls) if stop is None else _find(calls, stop, begin + 1, "stop")
    inside = {node.name for node in calls[begin + 1 : end]}
    outside = {node.name for node in (*calls[: begin + 1], *calls[end:])}
    return frozenset(inside - outside)


def _find(calls: list[Node], wanted: str, first: int, option: str) -> int:
    name, index = _split(wanted, calls, option)
    for position in range(first, len(calls)):
        node = calls[position]
        if name in (node.op, node.name) and index in (None, position):
            return position
    after = f" after operator {first - 1}" if first else ""
    numbers = ", ".join(str(position) for position, node in enumerate(calls) if name in (node.op, node.name))
    at = "" if index is None else f" with number {index}" + (f" (its numbers are {numbers})" if numbers else "")
    operators = ", ".join(sorted({node.op for node in calls}))
    layers = ", ".join(dict.fromkeys(node.name for node in calls))
    raise UsageError(
        f"{option} {wanted}: no operator or layer is called {name}{at}{after}; operators: {operators}; layers: {layers}"
    )


def _split(wanted: str, calls: list[Node], option: str) -> tuple[str, int | None]:
    names = {node.op for node in calls} | {node.name for node in calls}
    name, colon, index = wanted.rpartition(":")
    if not colon or wanted in names:
        return wanted, None
    if not index.isdigit():
        raise UsageError(f"{option} {wanted}: {index!r} after the colon is not an operator number")
    return name, int(index)
