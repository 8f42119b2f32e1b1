"""Branches and loops, whose graphs are others of the file: followed where they are known, else chosen value by value."""

from __future__ import annotations

from collections.abc import Sequence

from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.tflite.operation import Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.ir.interpreter import constant_value

__all__ = ["CONVERTERS"]

_MOST_TURNS = 1024
"""Turns of a loop that are written out."""


def _if(node: Operation) -> tuple[Node, ...]:
    """The branch that is taken; where that depends on data, both, as neither does anything but compute."""
    branches = node.option("ThenSubgraphIndex"), node.option("ElseSubgraphIndex")
    condition, given = node.input(), [node.input(index) for index in range(1, node.arity)]
    known = constant_value(condition)
    if known is not None:
        return node.inside(branches[0] if known.reshape(-1)[0] else branches[1], given, True)
    chosen, other = (node.inside(branch, given, False) for branch in branches)
    for left, right in zip(chosen, other, strict=True):
        if left.type != right.type:
            raise UnsupportedNodeError(f"the condition depends on data, and its branches give {left.type} and {right.type}")
    one = node.apply(ops.RESHAPE, condition, newshape=())
    return tuple(node.apply(ops.WHERE, one, left, right) for left, right in zip(chosen, other, strict=True))


def _while(node: Operation) -> tuple[Node, ...]:
    """What is carried goes through the condition, which must be known at import, and then through the body."""
    condition, body = node.option("CondSubgraphIndex"), node.option("BodySubgraphIndex")
    carried: Sequence[Node] = [node.input(index) for index in range(node.arity)]
    for _ in range(_MOST_TURNS + 1):
        (going,) = node.inside(condition, carried, True)
        known = constant_value(going)
        if known is None:
            raise UnsupportedNodeError("whether it goes on depends on data; loops with a known number of turns are written out")
        if not known.reshape(-1)[0]:
            return tuple(carried)
        carried = node.inside(body, carried, True)
    raise UnsupportedNodeError(f"more than {_MOST_TURNS} turns")


CONVERTERS: dict[str, Converter] = {"IF": _if, "WHILE": _while}
