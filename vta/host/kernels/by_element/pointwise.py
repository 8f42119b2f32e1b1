"""Operators each of whose results is an expression of elements of the operands: where they are declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal

from vta.host.kernels.values import Value
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["ConstantMaker", "Kind", "PointwiseRule", "is_elementwise", "is_pointwise", "kind_of", "pointwise", "pointwise_value"]

ConstantMaker = Callable[[Any], Value]
"""Makes a constant array an input of the kernel: a tensor over channels."""
PointwiseRule = Callable[[Node, Sequence[Value], ConstantMaker], Value]
"""The value of a call, at any point, from those of its inputs."""
Kind = Literal["elementwise", "move", "gather"]
"""Which elements of its operands a result is made of: those at its own place, one at another place, or any number of others.

What gathers does not join the kernel that computes its operand, as elements would be computed again and again.
"""


@dataclass(frozen=True)
class _Declared:
    """One way to compute an operator."""

    kind: Kind
    rule: PointwiseRule
    when: Callable[[Node], bool]


_RULES: dict[str, _Declared] = {}


def pointwise(
    *names: str, kind: Kind = "elementwise", when: Callable[[Node], bool] = lambda node: True
) -> Callable[[PointwiseRule], PointwiseRule]:
    """Declare the rule of operators, for those calls of them for which `when` holds."""

    def declare(rule: PointwiseRule) -> PointwiseRule:
        _RULES.update(dict.fromkeys(names, _Declared(kind, rule, when)))
        return rule

    return declare


def is_pointwise(node: Node) -> bool:
    """Whether there is a rule for a call, with its types and attributes; there is none for values without elements.

    Parts without elements that something is put together from do not count.
    """
    operands = node.inputs if node.op != ops.CONCATENATE else ()
    return node.op in _RULES and all(prod(item.shape) for item in (node, *operands)) and _RULES[node.op].when(node)


def is_elementwise(node: Node) -> bool:
    """Whether there is a rule for a call, and it computes each element from those at the same place."""
    return is_pointwise(node) and _RULES[node.op].kind == "elementwise"


def kind_of(node: Node) -> Kind:
    """Which elements of the operands a result of a call with a rule is made of."""
    return _RULES[node.op].kind


def pointwise_value(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    """The value of a call that has a rule, from those of its inputs."""
    return _RULES[node.op].rule(node, inputs, make_constant)
