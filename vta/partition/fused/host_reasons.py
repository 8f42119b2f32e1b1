"""Why operators that neither start nor join a fused operator run on the host."""

from __future__ import annotations

from vta.config.hardware import HardwareConfig
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.ir.ops.function import function_of
from vta.partition.fused.operator_support import on_vta_when
from vta.partition.fused.reason import Reason

__all__ = ["reason_on_target", "reason_outside"]

_PRODUCTS = (ops.CONV2D, ops.CONV2D_TRANSPOSE, ops.DENSE)
_OF_CONSTANTS = (ops.MULTIPLY, ops.DIVIDE, ops.SUBTRACT)
"""Operators on two values that become integer steps only where one of them is constant."""
_MASKING = (ops.ADD, ops.SUBTRACT, ops.WHERE)
_RULES = {ops.WINDOWS: "windows", ops.QNN_LOOKUP: "tables", ops.QNN_SOFTMAX: "softmax"}
"""What keeps operators without a template on the host, where there is more to say than that."""
_MULTIPLYING = (ops.QNN_HARD_SWISH, ops.QNN_LEAKY_RELU)
"""Operators that have integer steps with 32-bit accumulators, but for the MUL that a target may lack."""


def reason_outside(node: Node) -> Reason:
    """Why `node` is in no fused operator of an integer graph, on whatever target."""
    if node.op == ops.CALL:
        attrs = function_of(node)
        text = f"given to target {attrs.target} as {attrs.body.name}, for which the host computes it"
        return Reason("another_target", text, node)
    if node.op in (ops.QNN_QUANTIZE, ops.QNN_DEQUANTIZE):
        return Reason("border_of_float", "border between float and integer values", node)
    if node.dtype.startswith("float") and node.op in _PRODUCTS:
        text = "left in float by the quantiser, as the first convolution is where int8 costs much there"
        return Reason("left_in_float", text, node, advice="quantize every convolution, the first too")
    if node.op == ops.SOFTMAX and _adds_a_mask(node.inputs[0], node.shape):
        return Reason("computed_mask", "computes in float: what is added to its scores, or masks them, is no constant", node)
    if node.dtype.startswith("float") or any(source.dtype.startswith("float") for source in node.inputs):
        return Reason("computes_in_float", "computes in float", node, _without_template(node))
    if node.dtype == "int32":
        return Reason("does_not_end", "its int32 result does not lead to one that VTA can store", node)
    cause = "its table is neither one line nor two" if node.op == ops.QNN_LOOKUP else ""
    return Reason(_RULES.get(node.op, "no_template"), f"no VTA template for {node.op} on {node.dtype}", node, cause)


def reason_on_target(reason: Reason, hw: HardwareConfig) -> Reason:
    """`reason`, or that of the target where it is the target that lacks what the operator takes."""
    node = reason.node
    if node is None or node.op not in _MULTIPLYING or reason.rule != "no_template":
        return reason
    if hw.capabilities.multiply or hw.acc_bits != 32:
        return reason
    return Reason("activation_multiplies", f"The target's ALU has no MUL, which {node.op} takes", node)


def _adds_a_mask(node: Node, shape: tuple[int, ...]) -> bool:
    """Whether scores of a shape are made of others and of something that varies, too, and is broadcast to them."""
    varying = [source for source in node.inputs if source.op != ops.CONSTANT]
    return node.op in _MASKING and len(varying) > 1 and any(source.shape != shape for source in varying)


def _without_template(node: Node) -> str:
    """What VTA lacks for an operator that the quantiser left in float; "" where it lacks nothing."""
    if on_vta_when(node.op) is None:
        return f"VTA has no template for {node.op}"
    varying = [source for source in node.inputs if source.op != ops.CONSTANT]
    return f"VTA has no template for {node.op} of two tensors" if node.op in _OF_CONSTANTS and len(varying) > 1 else ""
