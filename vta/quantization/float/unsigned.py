"""Which values are never negative, so that the lowest level of int8 can stand for zero: they have twice as many then."""

from __future__ import annotations

from vta.ir import names as ops
from vta.ir.graph import Graph, Node, attrs_of
from vta.ir.ops.nn.activation import ClipAttributes
from vta.ir.ops.nn.pool import AvgPool2DAttributes
from vta.ir.ops.shape import PadAttributes
from vta.ir.state import state_nodes
from vta.quantization.float.plan.quant_groups import LAYOUT_OPS, RECTIFIERS, Plan
from vta.quantization.float.scale_groups import alike
from vta.quantization.float.weights.cross_layer_equalization import is_depthwise

__all__ = ["has_zero_points", "unsigned_values"]

_AVERAGES = frozenset({ops.AVG_POOL2D, ops.GLOBAL_AVG_POOL2D})
_KEEPS_SIGN = LAYOUT_OPS | _AVERAGES | {ops.MAX_POOL2D, ops.GLOBAL_MAX_POOL2D, ops.CONCATENATE}
_KEEPS_LEVELS = LAYOUT_OPS | {ops.MAX_POOL2D, ops.GLOBAL_MAX_POOL2D, ops.CONCATENATE, ops.PAD, ops.RELU, ops.CLIP}
"""Operators on int8 values whose results have the zero point of what they read."""


def has_zero_points(graph: Graph, which: str) -> bool:
    """Whether a network gets zero points where its values allow that; `which` is one of `vta.quantization.config.ZERO_POINTS`."""
    return which == "all" or (which != "none" and any(map(is_depthwise, graph.calls())))


def unsigned_values(graph: Graph, plan: Plan, which: str = "all") -> frozenset[Node]:
    """Return the values that are never negative, whatever the input, and whose integer readers take any zero point.

    What shares a scale is all among them, or nothing of it. `which` is one of `vta.quantization.config.ZERO_POINTS`.
    """
    if not has_zero_points(graph, which):
        return frozenset()
    finder = _Finder(graph, plan)
    found = {node for node in graph.calls() if finder.is_positive(node) and finder.is_taken(node)}
    pairs = list(alike(graph, plan))
    while mixed := {node for pair in pairs for node in pair if not found.issuperset(pair)} & found:
        found -= mixed
    return frozenset(found)


class _Finder:
    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.plan = plan
        self.users = graph.users()
        self.anchors = frozenset(group.anchor for group in plan.groups.values())
        self.roots = frozenset(function.root for function in plan.functions.values())
        self.states = frozenset(node for pair in state_nodes(graph) for node in pair)
        self._positive: dict[Node, bool] = {}
        self._taken: dict[Node, bool] = {}
        # In order, and against it, so that no answer asks for more than its neighbours'.
        for node in graph.nodes():
            self._positive[node] = self._is_positive(node)
        for node in reversed(graph.nodes()):
            self._taken[node] = self._is_taken(node)

    def is_positive(self, node: Node) -> bool:
        """Whether no element can be below zero."""
        return self._positive[node]

    def is_taken(self, node: Node) -> bool:
        """Whether all that reads the int8 value can do so with its lowest level for zero."""
        return self._taken[node]

    def _is_positive(self, node: Node) -> bool:
        if node in self.plan.inside or node.dtype != "float32":
            return False
        attrs = node.attrs
        if isinstance(attrs, PadAttributes):
            return attrs.pad_value >= 0 and self._positive[node.inputs[0]]
        if node.op == ops.RELU or (isinstance(attrs, ClipAttributes) and attrs.a_min >= 0):
            return True
        return node.op in _KEEPS_SIGN and all(self._positive[source] for source in node.inputs)

    def _is_taken(self, node: Node) -> bool:
        if node in self.states or node in self.roots:
            return False
        return all(self._takes(user) for user in self.users[node])

    def _takes(self, user: Node) -> bool:
        if user in self.plan.inside or user in self.plan.products or user in self.plan.softmaxes or user.op == ops.NORMALIZE:
            return False
        if user in self.anchors:
            return user.op != ops.MATMUL
        if user in self.plan.members:
            return True
        if user.op == ops.AVG_POOL2D:
            # Means over windows of different sizes are those of zeros around, which are other levels here.
            return not any(attrs_of(user, AvgPool2DAttributes).padding)
        return user.op not in RECTIFIERS and (user.op not in _KEEPS_LEVELS or self._taken[user])
