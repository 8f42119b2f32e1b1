"""ONNX's Einsum of one or two operands, as transpositions and one matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["CONVERTERS"]


@dataclass(frozen=True)
class _Labeled:
    """A value and the letter of each of its axes."""

    node: Node
    labels: str

    def sizes(self) -> dict[str, int]:
        return dict(zip(self.labels, self.node.shape, strict=True))


def _einsum(node: Operation) -> Node:
    terms, result = _equation(node)
    operands = [_Labeled(value, labels) for value, labels in zip(node.inputs(), terms, strict=True)]
    _check_sizes(operands)
    operands = [_summed(node, operand, result, operands) for operand in operands]
    product = operands[0] if len(operands) == 1 else _product(node, operands[0], operands[1], result)
    return _ordered(node, product, result).node


def _equation(node: Operation) -> tuple[list[str], str]:
    """The letters of each operand, and those of the result."""
    equation = node.text("equation", "").replace(" ", "")
    left, arrow, result = equation.partition("->")
    terms = left.split(",")
    if "." in equation:
        raise UnsupportedNodeError(f"equation {equation!r}: axes without letters (...)")
    if any(len(set(term)) < len(term) for term in terms):
        raise UnsupportedNodeError(f"equation {equation!r}: a diagonal (a letter twice in one operand)")
    if len(terms) != node.arity or len(terms) > 2:
        raise UnsupportedNodeError(f"equation {equation!r} of {node.arity} operands (only those of one or two can be imported)")
    if not arrow:
        result = "".join(sorted(letter for letter in set("".join(terms)) if left.count(letter) == 1))
    if not set(result) <= set("".join(terms)) or len(set(result)) < len(result):
        raise ImportModelError(f"equation {equation!r}: the result has letters that no operand has, or one twice")
    for value, term in zip(node.inputs(), terms, strict=True):
        if len(value.shape) != len(term):
            raise ImportModelError(f"equation {equation!r}: an operand of shape {value.shape} for {term!r}")
    return terms, result


def _check_sizes(operands: Sequence[_Labeled]) -> None:
    sizes: dict[str, int] = {}
    for operand in operands:
        for letter, size in operand.sizes().items():
            if sizes.setdefault(letter, size) != size:
                raise ImportModelError(f"letter {letter!r} has the sizes {sizes[letter]} and {size}")


def _summed(node: Operation, operand: _Labeled, result: str, operands: Sequence[_Labeled]) -> _Labeled:
    """The operand summed over the letters that nothing else has."""
    others = "".join(other.labels for other in operands if other is not operand) + result
    axes = tuple(axis for axis, letter in enumerate(operand.labels) if letter not in others)
    if not axes:
        return operand
    kept = "".join(letter for letter in operand.labels if letter in others)
    return _Labeled(node.apply(ops.SUM, operand.node, axis=axes, keepdims=False), kept)


def _product(node: Operation, left: _Labeled, right: _Labeled, result: str) -> _Labeled:
    shared = [letter for letter in left.labels if letter in right.labels]
    batch = [letter for letter in shared if letter in result]
    inner = [letter for letter in shared if letter not in result]
    rows = [letter for letter in left.labels if letter not in shared]
    columns = [letter for letter in right.labels if letter not in shared]
    sizes = {**left.sizes(), **right.sizes()}
    if right.node.value is not None and left.node.value is None:
        made = _layer(node, left, right, (batch, inner, rows, columns), sizes)
        order = [*rows, *batch, *columns]
    else:
        first, second = (
            _arranged(node, operand, (batch, *axes), sizes)
            for operand, axes in ((left, (rows, inner)), (right, (inner, columns)))
        )
        made, order = node.apply(ops.MATMUL, first, second), [*batch, *rows, *columns]
    shaped = node.apply(ops.RESHAPE, made, newshape=tuple(sizes[letter] for letter in order))
    return _Labeled(shaped, "".join(order))


def _arranged(node: Operation, operand: _Labeled, groups: Sequence[list[str]], sizes: dict[str, int]) -> Node:
    """The operand with each of `groups` as one axis."""
    ordered = _ordered(node, operand, "".join(letter for group in groups for letter in group))
    shape = tuple(math.prod(sizes[letter] for letter in group) for group in groups)
    return node.apply(ops.RESHAPE, ordered.node, newshape=shape)


def _layer(
    node: Operation,
    data: _Labeled,
    weight: _Labeled,
    letters: tuple[list[str], list[str], list[str], list[str]],
    sizes: dict[str, int],
) -> Node:
    """A product with constant weights: a dense layer, or for each letter that both and the result have a group of one."""
    batch, inner, rows, columns = letters
    groups, depth, outputs = (math.prod(sizes[letter] for letter in part) for part in (batch, inner, columns))
    values = _arranged(node, weight, (batch, columns, inner), sizes).value
    assert values is not None
    flat = _arranged(node, data, (rows, [*batch, *inner]), sizes)
    if groups == 1:
        return node.apply(ops.DENSE, flat, node.constant(np.ascontiguousarray(values[0])))
    image = node.apply(ops.RESHAPE, flat, newshape=(flat.shape[0], groups * depth, 1, 1))
    kernel = node.constant(np.ascontiguousarray(values.reshape(groups * outputs, depth, 1, 1)))
    return node.apply(ops.CONV2D, image, kernel, groups=groups)


def _ordered(node: Operation, operand: _Labeled, labels: str) -> _Labeled:
    if operand.labels == labels:
        return operand
    axes = tuple(operand.labels.index(letter) for letter in labels)
    return _Labeled(node.apply(ops.TRANSPOSE, operand.node, axes=axes), labels)


CONVERTERS: dict[str, Converter] = {"Einsum": _einsum}
