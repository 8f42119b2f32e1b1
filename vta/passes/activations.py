"""Activations that a network has written out: hard swish, hard sigmoid and leaky ReLU in whatever form, as one operator each.

Every form of them is made of lines that are cut: `slope * x + offset` between two bounds. These are followed through additions,
factors, bounds and rectifiers, and through the product with x itself, whatever the order; what comes out is compared.
"""

from __future__ import annotations

import math
from dataclasses import replace

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, rewrite
from vta.ir.ops.nn.activation import ClipAttributes, HardSigmoidAttributes
from vta.support.dataclass import dataclass

__all__ = ["name_activations"]

_TOLERANCE = 1e-5
"""Constants are in single precision, and sixths are rounded."""
_LONGEST = 6
"""Operators that an activation is followed through."""


@dataclass(frozen=True)
class _Line:
    """``clip(slope * x + offset, low, high)``, times x if it gates x."""

    slope: float = 1.0
    offset: float = 0.0
    low: float = -math.inf
    high: float = math.inf
    gates: bool = False

    @property
    def is_bare(self) -> bool:
        """Whether it is a multiple of x."""
        return not self.gates and self.offset == 0 and self.low == -math.inf and self.high == math.inf

    def scaled(self, factor: float) -> _Line:
        """The line times a factor."""
        low, high = sorted((_times(self.low, factor), _times(self.high, factor)))
        return replace(self, slope=self.slope * factor, offset=self.offset * factor, low=low, high=high)

    def moved(self, amount: float) -> _Line | None:
        """The line plus an amount."""
        if self.gates:
            return None
        return replace(self, offset=self.offset + amount, low=self.low + amount, high=self.high + amount)

    def cut(self, low: float, high: float) -> _Line | None:
        """The line between two bounds."""
        if self.gates or low > high:
            return None
        return replace(self, low=min(max(self.low, low), high), high=max(min(self.high, high), low))

    def equals(self, other: _Line) -> bool:
        """Whether both are the same function, but for rounding."""
        mine, others = ((line.slope, line.offset, line.low, line.high) for line in (self, other))
        return self.gates == other.gates and all(a == b or abs(a - b) <= _TOLERANCE for a, b in zip(mine, others, strict=True))


_HARD_SWISH = _Line(1 / 6, 0.5, 0.0, 1.0, gates=True)
_Lines = dict[Node, _Line]
"""For values that something is computed from, by which line; the nearest last."""


def name_activations(graph: Graph) -> Graph:
    """Return the graph with operators for activations that it computes step by step; results change by rounding only.

    The maximum or minimum of a value and a constant becomes a clip. Values of quantised networks are left alone.
    """
    known: dict[Node, _Lines] = {}

    def change(node: Node) -> Node:
        tensors = [source for source in node.inputs if source.value is None]
        if node.dtype != "float32" or not tensors or any(_other(source, node) for source in tensors):
            return node
        lines = _lines(node, [{**known.get(source, {}), source: _Line()} for source in tensors])
        named = _named(node, lines)
        known[named] = dict(list(lines.items())[-_LONGEST:])
        return named

    return rewrite(graph, change)


def _other(source: Node, node: Node) -> bool:
    return source.shape != node.shape or source.op.startswith("qnn.")


def _lines(node: Node, found: list[_Lines]) -> _Lines:
    """What `node` is of the values that all its inputs are lines of."""
    if len(found) == 1:
        lines = {x: _of_one(node, line) for x, line in found[0].items()}
    elif len(found) == 2 and node.op == ops.MULTIPLY:
        lines = {x: _product(line, found[1][x]) for x, line in found[0].items() if x in found[1]}
    else:
        return {}
    return {x: line for x, line in lines.items() if line is not None}


def _of_one(node: Node, line: _Line) -> _Line | None:
    attrs, number = node.attrs, _scalar(node)
    if node.op == ops.RELU:
        return line.cut(0.0, math.inf)
    if isinstance(attrs, ClipAttributes):
        return line.cut(float(attrs.a_min), float(attrs.a_max))
    if isinstance(attrs, HardSigmoidAttributes):
        moved = line.scaled(attrs.alpha).moved(attrs.beta)
        return None if moved is None else moved.cut(0.0, 1.0)
    return None if number is None else _with_number(node.op, line, number, first=node.inputs[0].value is None)


def _with_number(op: str, line: _Line, number: float, *, first: bool) -> _Line | None:
    """A line and a number joined by `op`; `first`: the line is the first operand."""
    if op == ops.ADD:
        return line.moved(number)
    if op == ops.SUBTRACT:
        return line.moved(-number) if first else line.scaled(-1.0).moved(number)
    if op == ops.MULTIPLY:
        return line.scaled(number)
    if op == ops.DIVIDE and first and number:
        return line.scaled(1 / number)
    if op == ops.MAXIMUM:
        return line.cut(number, math.inf)
    return line.cut(-math.inf, number) if op == ops.MINIMUM else None


def _product(left: _Line, right: _Line) -> _Line | None:
    """The product of a multiple of x and another line."""
    bare, other = (left, right) if left.is_bare else (right, left)
    return replace(other.scaled(bare.slope), gates=True) if bare.is_bare and not (other.gates or other.is_bare) else None


def _times(bound: float, factor: float) -> float:
    return bound * factor if factor else 0.0


def _scalar(node: Node) -> float | None:
    """The one number of the constant that a node of two inputs has."""
    values = [source.value for source in node.inputs if source.value is not None]
    if len(node.inputs) != 2 or len(values) != 1 or values[0].size != 1:
        return None
    number = float(values[0].reshape(()))
    return number if math.isfinite(number) else None


def _named(node: Node, lines: _Lines) -> Node:
    """The operator for `node`, or `node` itself where there is none or it is one already."""
    for x, line in lines.items():
        if line.equals(_HARD_SWISH):
            return call(ops.HARD_SWISH, [x], node.name)
        if x not in node.inputs and line.equals(_Line(line.slope, line.offset, 0.0, 1.0)) and line.slope:
            return call(ops.HARD_SIGMOID, [x], node.name, alpha=line.slope, beta=line.offset)
    if node.op in (ops.MAXIMUM, ops.MINIMUM):
        return _bounded(node) or _leaky(node) or node
    return node


def _bounded(node: Node) -> Node | None:
    """A clip for the maximum or minimum with a number."""
    number = _scalar(node)
    if number is None:
        return None
    value = next(source for source in node.inputs if source.value is None)
    low, high = (number, math.inf) if node.op == ops.MAXIMUM else (-math.inf, number)
    return call(ops.CLIP, [value], node.name, a_min=low, a_max=high)


def _leaky(node: Node) -> Node | None:
    """A leaky ReLU for the maximum or minimum of a value and a multiple of it."""
    for value, other in (node.inputs, node.inputs[::-1]):
        slope = _scalar(other) if other.op == ops.MULTIPLY and value in other.inputs else None
        if slope is not None and (slope < 1 if node.op == ops.MAXIMUM else slope > 1):
            return call(ops.LEAKY_RELU, [value], node.name, alpha=slope)
    return None
