"""The pattern tables of VTA: of the quantised dialect, as networks are imported, and of the integer dialect that comes of it.

A composite of the first names what a user sees; once lowered, it is one fused operator. What runs on VTA is decided
on these, by the second: a fused operator knows every constant and step, and so the rules of `support_rules`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.graph import Graph, Node
from vta.ir.ops.function import function_of
from vta.ir.transforms.pattern import Match, Pattern, is_constant, is_op, wildcard
from vta.partition.composites import Composite, Entry, Found, merge_composites
from vta.partition.fused.fused_operator import ANCHORS, FusedOperator, view_source
from vta.partition.fused.runnable import Veto, runnable_operators
from vta.partition.fused.template_support import template_support
from vta.partition.regions import annotate_target, merge_regions, partition_graph

__all__ = ["TARGET", "composites_of", "integer_patterns", "outlined_for_vta", "partition_for_vta", "quantized_patterns"]

TARGET = "vta"


def quantized_patterns() -> list[Composite]:
    """The table for graphs in the quantised dialect: one entry for each layer of which VTA makes one operator."""

    def product(op: str) -> Pattern:
        data = wildcard()
        padded = data.optional(is_op(ops.PAD)) if op == ops.QNN_CONV2D else data
        return _ended(is_op(op)(padded, is_constant()).optional(lambda value: is_op(ops.BIAS_ADD)(value, is_constant())))

    def of_int8(found: Match) -> bool:
        return found.root.dtype == "int8" and all(_integer(node) for node in found.calls())

    return [
        Composite("vta.qnn_conv2d", product(ops.QNN_CONV2D), of_int8),
        Composite("vta.qnn_conv2d_transpose", product(ops.QNN_CONV2D_TRANSPOSE), of_int8),
        Composite("vta.qnn_dense", product(ops.QNN_DENSE), of_int8),
        Composite("vta.qnn_add", _clipped(is_op(ops.QNN_ADD)(wildcard(), wildcard())), of_int8),
        Composite("vta.qnn_avg_pool2d", _clipped(is_op(ops.QNN_AVG_POOL2D) | is_op(ops.QNN_GLOBAL_AVG_POOL2D)), of_int8),
        Composite("vta.max_pool2d", is_op(ops.MAX_POOL2D) | is_op(ops.GLOBAL_MAX_POOL2D), of_int8),
        Composite("vta.qnn_requantize", _ended(wildcard()), of_int8),
        Composite("vta.clip", is_op(ops.CLIP) | is_op(ops.RELU), of_int8),
    ]


def integer_patterns(hw: HardwareConfig, veto: Veto = lambda fused: None) -> list[Composite]:
    """The table for graphs in the integer dialect: the fused operators that `hw` can run and `veto` gives no reason against.

    A composite is called after what starts its fused operator: ``vta.conv2d``, ``vta.conv2d_transpose``, ``vta.dense``,
    ``vta.sum_pool2d``, ``vta.max_pool2d``, or ``vta.elementwise``.
    """

    def find(graph: Graph) -> list[Found]:
        return composites_of(runnable_operators(graph, hw, veto)[0].values())

    return [Composite(f"{TARGET}.fused_operator", find)]


def composites_of(operators: Iterable[FusedOperator]) -> list[Found]:
    """Fused operators as what a table finds: composites that are called after what starts them."""
    return [Found(fused.result, fused.nodes, f"{TARGET}.{_kind(fused)}") for fused in operators]


def partition_for_vta(graph: Graph, table: Sequence[Entry]) -> Graph:
    """Partition a graph: what `table` calls after VTA in regions of target ``vta``, with the views between; the rest outside.

    `table` is one of this module's, perhaps with entries before it that take something away, or more behind.
    """
    return outlined_for_vta(merge_composites(graph, table))


def outlined_for_vta(graph: Graph) -> Graph:
    """Make inner graphs of target ``vta`` of the composites that are called after VTA, with the views between."""
    return partition_graph(merge_regions(annotate_target(graph, TARGET, {TARGET: _is_view_of_region})))


def _is_view_of_region(node: Node) -> bool:
    """A view of what VTA computes; it costs nothing there."""
    source = view_source(node)
    return source is not node and source.op == ops.CALL and function_of(source).target == TARGET


def _kind(fused: FusedOperator) -> str:
    named = fused.anchor.op in ANCHORS or template_support(fused.anchor.op) is not None
    return fused.anchor.op.removeprefix("nn.") if named else "elementwise"


def _ended(value: Pattern) -> Pattern:
    return _clipped(is_op(ops.QNN_REQUANTIZE)(value))


def _clipped(value: Pattern) -> Pattern:
    return value.optional(is_op(ops.CLIP) | is_op(ops.RELU))


def _integer(node: Node) -> bool:
    return node.dtype in ("int8", "int32") and all(source.dtype in ("int8", "int16", "int32") for source in node.inputs)
