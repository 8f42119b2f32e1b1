"""Variables: values that live from one run to the next. What a handle stands for is its number among the variables."""

from __future__ import annotations

import numpy as np

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._states import Variable
from vta.frontend.tflite.initial_values import variable_name
from vta.frontend.tflite.operation import Converter, Operation
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _handle(node: Operation) -> Node:
    name = variable_name(node.record)
    if name not in node.initial:
        raise UnsupportedNodeError(f"variable {name!r} gets no value from what is called once; only such variables are imported")
    node.variables.declare(name, node.initial[name])
    return node.constant(np.int32(list(node.variables.found).index(name)))


def _variable(node: Operation) -> Variable:
    number = node.input().value
    known = list(node.variables.found.values())
    if number is None or number.dtype != np.int32 or number.shape or not 0 <= number < len(known):
        raise ImportModelError(f"{node.tensor().name!r} is no handle of a variable")
    return known[int(number)]


def _read(node: Operation) -> Node:
    return _variable(node).now


def _assign(node: Operation) -> tuple[Node, ...]:
    variable, value = _variable(node), node.input(1)
    if value.type != variable.held.type:
        raise UnsupportedNodeError(f"assigns {value.type} to a variable that starts as {variable.held.type}")
    variable.now = value
    return ()


def _call_once(node: Operation) -> tuple[Node, ...]:
    return ()


CONVERTERS: dict[str, Converter] = {
    "ASSIGN_VARIABLE": _assign,
    "CALL_ONCE": _call_once,
    "READ_VARIABLE": _read,
    "VAR_HANDLE": _handle,
}
