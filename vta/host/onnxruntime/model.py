"""Operators of the host as an ONNX model."""

from __future__ import annotations

from collections.abc import Sequence

from vta.host.groups import is_view
from vta.host.kernels.by_element.checked import is_checked
from vta.host.kernels.by_element.pointwise import is_elementwise
from vta.host.onnxruntime.expressions import elementwise
from vta.host.onnxruntime.moves import MOVES, view
from vta.host.onnxruntime.products import PRODUCTS
from vta.host.onnxruntime.reductions import REDUCTIONS, has_reduction
from vta.host.onnxruntime.writer import ModelWriter, Tensor, refusal
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["onnx_model"]


def onnx_model(calls: Sequence[Node], inputs: Sequence[Node], outputs: Sequence[Node]) -> bytes:
    """Operators, in topological order, as a model whose inputs and outputs are the values given, in order, as x0, x1, ...

    Raises `DeviceError` naming an operator that ONNX, or onnxruntime, has not got.
    """
    writer = ModelWriter()
    given = [(Tensor(f"x{at}", node.dtype), node) for at, node in enumerate(inputs)]
    tensors = {node: tensor for tensor, node in given}
    for node in calls:
        for source in node.inputs:
            if source not in tensors and source.op == ops.CONSTANT and source.value is not None:
                tensors[source] = writer.constant(source.value)
        tensors[node] = _written(writer, node, [tensors[source] for source in node.inputs])
    return writer.model(given, [(tensors[node], node) for node in outputs])


def _written(writer: ModelWriter, node: Node, inputs: Sequence[Tensor]) -> Tensor:
    if is_view(node):
        return view(writer, node, inputs)
    if has_reduction(node):
        return REDUCTIONS[node.op](writer, node, inputs)
    rule = PRODUCTS.get(node.op) or MOVES.get(node.op)
    if rule is not None:
        return rule(writer, node, inputs)
    if is_elementwise(node) and not is_checked(node):
        return elementwise(writer, node, inputs)
    raise refusal(node, "it has no such operator")
