"""Graphs inside of nodes: branches whose condition is known, or chosen value by value; loops written out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import sliced
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.ir.interpreter import constant_value

__all__ = ["CONVERTERS"]

_MOST_TURNS = 1024
"""Turns of a loop that are written out."""


def _if(node: Operation) -> tuple[Node, ...]:
    """The branch that is taken; where that depends on data, both, as neither does anything but compute."""
    condition = constant_value(node.input())
    branches = node.graph("then_branch"), node.graph("else_branch")
    if condition is not None:
        return _outputs(node, branches[0] if condition.reshape(-1)[0] else branches[1], {}, "")
    chosen, other = (_outputs(node, branch, {}, "") for branch in branches)
    for left, right in zip(chosen, other, strict=True):
        if left.type != right.type:
            raise UnsupportedNodeError(f"the condition depends on data, and its branches give {left.type} and {right.type}")
    one = node.apply(ops.RESHAPE, node.input(), newshape=())
    return tuple(node.apply(ops.WHERE, one, left, right) for left, right in zip(chosen, other, strict=True))


def _loop(node: Operation) -> tuple[Node, ...]:
    """Inputs: the number of turns, the condition, and what is carried from turn to turn. Each may end the loop if it is there."""
    body, turns = node.graph("body"), node.numbers(0, "the number of turns")
    limit = _MOST_TURNS + 1 if turns is None else turns[0]
    carried = [node.input(index) for index in range(2, node.arity)]
    going = node.optional(1)
    rows: list[Sequence[Node]] = []
    while len(rows) < limit and (going is None or _known(going)):
        if len(rows) == _MOST_TURNS:
            raise UnsupportedNodeError(f"more than {_MOST_TURNS} turns")
        place = node.constant(np.asarray(len(rows), np.int64))
        given = [place, node.constant(np.asarray(True)) if going is None else going, *carried]
        found = _outputs(node, body, _named(body, given), f"/{len(rows)}")
        going, carried = found[0], list(found[1 : 1 + len(carried)])
        rows.append(found[1 + len(carried) :])
    gathered = zip(*rows, strict=True) if rows else ()
    if not rows and len(body.output) > 1 + len(carried):
        raise UnsupportedNodeError("no turn is made, so what it gathers has no shape")
    return (*carried, *(_stacked(node, parts, 0) for parts in gathered))


def _known(condition: Node) -> bool:
    value = constant_value(condition)
    if value is None:
        raise UnsupportedNodeError("whether it goes on depends on data; loops with a known number of turns are written out")
    return bool(value.reshape(-1)[0])


def _scan(node: Operation) -> tuple[Node, ...]:
    """Inputs: states, then what is read slice by slice."""
    if node.opset < _SCAN_WITHOUT_BATCH:
        raise UnsupportedNodeError(
            f"its form of operator set {node.opset}, with a batch axis; that since {_SCAN_WITHOUT_BATCH} is taken"
        )
    body, count = node.graph("body"), node.integer("num_scan_inputs")
    states = [node.input(index) for index in range(node.arity - count)]
    data = [node.input(index) for index in range(node.arity - count, node.arity)]
    axes = [axis % len(value.shape) for axis, value in zip(_listed(node, "scan_input_axes", count), data, strict=True)]
    lengths = {value.shape[axis] for axis, value in zip(axes, data, strict=True)}
    if len(lengths) != 1 or max(lengths) > _MOST_TURNS:
        raise UnsupportedNodeError(f"over {sorted(lengths)} slices; at most {_MOST_TURNS} of one count")
    backward = _listed(node, "scan_input_directions", count)
    rows: list[Sequence[Node]] = []
    total = lengths.pop()
    for turn in range(total):
        places = [total - 1 - turn if back else turn for back in backward]
        slices = [_slice(node, value, axis, at) for value, axis, at in zip(data, axes, places, strict=True)]
        found = _outputs(node, body, _named(body, [*states, *slices]), f"/{turn}")
        states = list(found[: len(states)])
        rows.append(found[len(states) :])
    gathered = list(zip(*rows, strict=True))
    back, along = (_listed(node, f"scan_output_{what}", len(gathered)) for what in ("directions", "axes"))
    made = (
        _stacked(node, parts[::-1] if reverse else parts, axis % (len(parts[0].shape) + 1))
        for parts, reverse, axis in zip(gathered, back, along, strict=True)
    )
    return (*states, *made)


_SCAN_WITHOUT_BATCH = 9
"""The operator set since which Scan has no batch axis of its own."""


def _listed(node: Operation, name: str, count: int) -> tuple[int, ...]:
    found = node.integers(name) or (0,) * count
    if len(found) != count:
        raise ImportModelError(f"attribute {name!r} must have {count} values, got {found}")
    return found


def _slice(node: Operation, value: Node, axis: int, at: int) -> Node:
    part = sliced(node.apply, value, {axis: (at, at + 1, 1)})
    return node.apply(ops.RESHAPE, part, newshape=(*value.shape[:axis], *value.shape[axis + 1 :]))


def _stacked(node: Operation, parts: Sequence[Node], axis: int) -> Node:
    shape = parts[0].shape
    wide = [node.apply(ops.RESHAPE, part, newshape=(*shape[:axis], 1, *shape[axis:])) for part in parts]
    return wide[0] if len(wide) == 1 else node.apply(ops.CONCATENATE, *wide, axis=axis)


def _named(body: onnx.GraphProto, values: Sequence[Node]) -> dict[str, Node]:
    if len(body.input) != len(values):
        raise ImportModelError(f"the graph inside takes {len(body.input)} inputs, got {len(values)}")
    return {info.name: value for info, value in zip(body.input, values, strict=True)}


def _outputs(node: Operation, body: onnx.GraphProto, given: dict[str, Node], suffix: str) -> tuple[Node, ...]:
    if node.inside is None:
        raise UnsupportedNodeError("a graph inside of a node, where none can be imported")
    return node.inside(body, given, node.name + suffix)


CONVERTERS: dict[str, Converter] = {"If": _if, "Loop": _loop, "Scan": _scan}
