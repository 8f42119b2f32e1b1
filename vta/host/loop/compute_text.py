"""What a kernel computes as text, one stage a line: for people, and to tell kernels from each other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from vta.host.loop.compute import Axis, Kernel, Stage
from vta.host.loop.expression import INDEX, Binary, Cast, Const, Expr, Load, Unary, Var, children, map_expression
from vta.host.loop.text import declared, expression_text, named_parts

__all__ = ["compute_digest", "compute_key", "compute_text"]

_SIGNS = {"add": "+=", "mul": "*=", "min": "min=", "max": "max="}


def compute_text(kernel: Kernel) -> str:
    """The inputs of a kernel, and its stages in order."""
    inputs = [f"input {declared(buffer)}" for buffer in kernel.inputs]
    return "\n".join([*inputs, *(line for stage in kernel.stages for line in _lines(stage))]) + "\n"


def compute_key(kernel: Kernel) -> str:
    """A text that kernels have in common which compute the same in the same stages.

    It takes a third of the time of `compute_text`.
    """
    numbers = _Numbers()
    lines = [declared(buffer) for buffer in kernel.inputs]
    for stage in kernel.stages:
        start = -1 if stage.initial is None else numbers.of(stage.initial)
        ranges = f"[{_ranges(stage.axes)}] [{_ranges(stage.reduce)}]"
        lines.append(f"{declared(stage.output)} {ranges} {stage.combine} {start} {numbers.of(stage.value)}")
    return "\n".join([*lines, *numbers.texts])


class _Numbers:
    """A number for each expression; those that are alike have the same one, whether or not they are one object."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self._known: dict[int, int] = {}
        """By the identity of expressions that are kept elsewhere."""

    def of(self, node: Expr) -> int:
        """The number of an expression."""
        number = self._known.get(id(node))
        if number is None:
            text = f"{_head(node)} {[self.of(child) for child in children(node)]}"
            number = self._known[id(node)] = self.texts.setdefault(text, len(self.texts))
        return number


def _head(node: Expr) -> str:
    """What an expression is beside its operands."""
    match node:
        case Load(buffer=buffer):
            return buffer.name
        case Const(value=value, dtype=dtype):
            return f"{value!r} {dtype}"
        case Var(name=name):
            return f"${name}"
        case Binary(operation=operation) | Unary(operation=operation):
            return operation
        case Cast(dtype=dtype):
            return f"to {dtype}"
        case _:
            return "if"


def compute_digest(kernel: Kernel) -> str:
    """A short name of what a kernel computes: kernels that differ in numbers alone, such as scales, have the same one."""
    inputs = [declared(buffer) for buffer in kernel.inputs]
    lines = [*inputs, *(line for stage in kernel.stages for line in _lines(_without_numbers(stage)))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _without_numbers(stage: Stage) -> Stage:
    def change(node: Expr) -> Expr | None:
        return Const(0, node.dtype) if isinstance(node, Const) and node.dtype != INDEX else None

    initial = None if stage.initial is None else map_expression(stage.initial, change)
    return replace(stage, value=map_expression(stage.value, change), initial=initial)


def _lines(stage: Stage) -> list[str]:
    place = f"{stage.name}[{_ranges(stage.axes)}]: {stage.output.dtype}"
    named, value = named_parts(stage.value, "  ")
    if stage.combine is None or stage.initial is None:
        return [f"{place}", *named, f"  = {expression_text(value)}"]
    start, first = named_parts(stage.initial, "  ")
    return [
        f"{place}",
        *start,
        f"  = {expression_text(first)}",
        f"  over [{_ranges(stage.reduce)}]",
        *named,
        f"  {_SIGNS[stage.combine]} {expression_text(value)}",
    ]


def _ranges(axes: Sequence[Axis]) -> str:
    return ", ".join(f"{axis.name} < {axis.extent}" for axis in axes)
