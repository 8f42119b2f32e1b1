"""Which operators are procedures."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from vta.host.kernels.by_element.checked import is_checked
from vta.host.kernels.by_element.pointwise import is_pointwise
from vta.host.kernels.procedures.order import sorted_top_k
from vta.host.kernels.procedures.procedure import Procedure, ProcedureRule
from vta.host.kernels.procedures.scatter import scatter_elements, scatter_nd
from vta.host.kernels.procedures.suppression import detections, non_max_suppression
from vta.host.loop.buffer import Buffer
from vta.host.loop.nest import Block, Function
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.indexed import TopKAttributes

__all__ = ["is_procedure", "procedure_of"]

_SORTED_FROM = 64
"""Values along an axis; of fewer each counts those before it, in vectors."""

_RULES: dict[str, ProcedureRule] = {
    ops.NON_MAX_SUPPRESSION: non_max_suppression,
    ops.DETECTIONS: detections,
    ops.TOP_K: sorted_top_k,
    ops.SCATTER_ELEMENTS: scatter_elements,
    ops.SCATTER_ND: scatter_nd,
}


def is_procedure(node: Node) -> bool:
    """Whether an operator is computed by a procedure."""
    if not prod(node.shape):
        return node.op != ops.CALL and not is_checked(node)
    if node.op not in _RULES or not all(prod(item.shape) for item in node.inputs):
        return False
    if node.op == ops.TOP_K:
        return node.inputs[0].shape[attrs_of(node, TopKAttributes).axis] >= _SORTED_FROM
    # Scatters to places that are known are gathers.
    return not is_pointwise(node)


def procedure_of(node: Node) -> ProcedureRule:
    """What writes the procedure of an operator for which `is_procedure` holds."""
    return _RULES[node.op] if prod(node.shape) else _nothing


def _nothing(node: Node, inputs: Sequence[Buffer], lanes: int) -> Procedure:
    """The procedure of a value without elements."""
    return Procedure((Function("nothing", Block(()), ()),), (), Buffer("result", node.shape, node.dtype))
