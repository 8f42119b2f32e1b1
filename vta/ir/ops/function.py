"""Calls of inner graphs: composites, which stand for one operator of a target, and regions, which a target runs as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of
from vta.ir.inner_graph import FunctionAttributes
from vta.ir.interpreter import evaluate
from vta.ir.operator import TensorType, operator
from vta.ir.ops._checks import check_int, require, wanted

__all__ = ["function_of"]


def _infer(attrs: FunctionAttributes, types: Sequence[TensorType]) -> TensorType:
    if not isinstance(attrs.body, Graph):
        raise wanted(attrs, "body", "a graph")
    check_int(attrs, "region", -1)
    check_int(attrs, "output", 0)
    count, name = len(attrs.body.outputs), attrs.body.name
    require(attrs.output < count, f"output must be below {count}, the number of outputs of {name}, got {attrs.output}")
    names = [node.name for node in attrs.body.inputs]
    require(len(set(names)) == len(names), f"the inputs of {name} must have different names, got {', '.join(names)}")
    expected = [node.type for node in attrs.body.inputs]
    wanted_types = ", ".join(map(str, expected)) or "nothing"
    require(list(types) == expected, f"{attrs.body.name} takes {wanted_types}")
    return attrs.body.outputs[attrs.output].type


def function_of(node: Node) -> FunctionAttributes:
    """What a call calls. Raises `GraphError` naming the node if it is no call of an inner graph."""
    return attrs_of(node, FunctionAttributes)


@operator(ops.CALL, (0, None), _infer, FunctionAttributes)
def call_function(attrs: FunctionAttributes, *inputs: NDArray[Any]) -> NDArray[Any]:
    """Evaluate the inner graph, as far as the output needs it."""
    given = {node.name: value for node, value in zip(attrs.body.inputs, inputs, strict=True)}
    return evaluate(attrs.part, given, numbers=False)[0]
