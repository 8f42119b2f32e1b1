"""Calls of inner graphs: composites, which stand for one operator of a target, and regions, which a target runs as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of
from vta.ir.interpreter import evaluate
from vta.ir.operator import TensorType, operator
from vta.ir.ops._checks import check_int, require, wanted
from vta.support.dataclass import dataclass

__all__ = ["FunctionAttributes", "function_of"]


@dataclass(frozen=True, kw_only=True)
class FunctionAttributes:
    """The inner graph, and what it stands for."""

    body: Graph
    """Its inputs take the values of the call's inputs, in order; it holds its constants."""
    composite: str = ""
    """The entry of a pattern table that the body matches, e.g. ``vta.qnn_conv2d``; "" for none."""
    target: str = ""
    """The target that is to run the body; "" for the host, or not decided yet."""
    region: int = -1
    """Calls with one number are to be one region; -1: not decided yet."""
    output: int = 0
    """Which output of the body the call gives."""

    def __post_init__(self) -> None:
        if not isinstance(self.body, Graph):
            raise wanted(self, "body", "a graph")
        check_int(self, "region", -1)
        check_int(self, "output", 0)
        count, name = len(self.body.outputs), self.body.name
        require(self.output < count, f"output must be below {count}, the number of outputs of {name}, got {self.output}")
        names = [node.name for node in self.body.inputs]
        require(len(set(names)) == len(names), f"the inputs of {name} must have different names, got {', '.join(names)}")

    @property
    def part(self) -> Graph:
        """The body as far as the output needs it, with all inputs."""
        return Graph(self.body.inputs, (self.body.outputs[self.output],), self.body.name)


def _infer(attrs: FunctionAttributes, types: Sequence[TensorType]) -> TensorType:
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
