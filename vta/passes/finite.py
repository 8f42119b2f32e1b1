"""Refuses constants that are not numbers, or infinite where the result could only be garbage."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import CompileError
from vta.ir import names as ops
from vta.ir.arithmetic.not_finite import first_where, is_finite
from vta.ir.graph import Graph, Node, attrs_of
from vta.ir.ops.nn.norm import BatchNormAttributes
from vta.ir.ops.shape import PadAttributes

__all__ = ["require_finite"]

_LEARNED = frozenset({ops.BATCH_NORM, ops.BIAS_ADD, ops.CONV2D, ops.CONV2D_TRANSPOSE, ops.DENSE, ops.MATMUL, ops.PRELU})
"""Operators whose constants are learned; an infinite one is a training that failed. Elsewhere infinities are masks and bounds."""

_CHOOSES = frozenset({ops.EQUAL, ops.GREATER, ops.GREATER_EQUAL, "isnan", ops.LESS, ops.LESS_EQUAL, ops.WHERE})
"""Operators that may well be given a constant that is not a number."""

_BATCH_NORM_NAMES = ("data", "scale", "offset", "mean", "variance")


def require_finite(graph: Graph, known: Collection[Node] = ()) -> None:
    """Raise `CompileError` naming the layer, the constant and the element that make every result of `graph` worthless.

    That is a NaN in any constant but the operands of comparisons and choices, an infinite weight, bias or parameter of a
    normalisation, and a variance that has no square root. Constants among `known` are not looked at.
    """
    for node in graph.calls():
        for index, operand in _float_operands(node):
            if operand in known:
                continue
            value = operand.value
            assert value is not None
            if not is_finite(value):
                _check_operand(node, operand, value)
            if node.op == ops.BATCH_NORM and index == 4:
                _check_variance(node, operand, value)
        if isinstance(node.attrs, PadAttributes) and np.isnan(node.attrs.pad_value):
            raise CompileError(f"layer {node.name!r}: {node.op} pads with nan")


def _float_operands(node: Node) -> Iterator[tuple[int, Node]]:
    for index, operand in enumerate(node.inputs):
        if operand.value is not None and operand.dtype.startswith("float"):
            yield index, operand


def _check_operand(node: Node, operand: Node, value: NDArray[Any]) -> None:
    if node.op in _LEARNED:
        _refuse(node, operand, value, ~np.isfinite(value), "a finite number")
    if node.op not in _CHOOSES and np.isnan(value).any():
        _refuse(node, operand, value, np.isnan(value), "a number")


def _check_variance(node: Node, operand: Node, value: NDArray[Any]) -> None:
    epsilon = attrs_of(node, BatchNormAttributes).epsilon
    bad = ~(value + value.dtype.type(epsilon) > 0)
    if bad.any():
        _refuse(node, operand, value, bad, f"more than -{epsilon:g}, the negated epsilon")


def _refuse(node: Node, operand: Node, value: NDArray[Any], bad: NDArray[Any], wanted: str) -> None:
    names = _BATCH_NORM_NAMES if node.op == ops.BATCH_NORM else ()
    index = node.inputs.index(operand)
    role = f"{names[index]} " if index < len(names) else ""
    where = first_where(bad)
    raise CompileError(
        f"layer {node.name!r}: {node.op} has the constant {role}{operand.name!r}, "
        f"which is {value[where]:g} at {list(where)}; expected {wanted}"
    )
