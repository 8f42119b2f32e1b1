"""Products of matrices of which neither is a weight."""

from __future__ import annotations

import numpy as np

from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.tflite.operation import Converter, Operation, is_quantized, quantization_of
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _batch_matmul(node: Operation) -> Node:
    left, right = (node.in_file_layout(node.input(index)) for index in (0, 1))
    left = _turned(node, left) if node.option("AdjX") else left
    right = _turned(node, right) if node.option("AdjY") else right
    if not is_quantized(node.tensor(0)):
        if left.dtype != "float32" or right.dtype != "float32":
            raise UnsupportedNodeError(f"of {node.tensor(0).dtype} and {node.tensor(1).dtype}")
        return node.from_file_layout(node.apply(ops.MATMUL, left, right))
    first, second, to = (quantization_of(record) for record in (node.tensor(0), node.tensor(1), node.output()))
    zero_points = {"lhs_zero_point": first.zero_point, "rhs_zero_point": second.zero_point}
    sums = node.apply(ops.QNN_MATMUL, left, right, **zero_points)
    result = node.apply(
        ops.QNN_REQUANTIZE,
        sums,
        input_scale=float(np.float32(first.scale) * np.float32(second.scale)),
        output_scale=to.scale,
        output_zero_point=to.zero_point,
        rounding="tflite",
    )
    return node.from_file_layout(result)


def _turned(node: Operation, matrix: Node) -> Node:
    rank = len(matrix.shape)
    return node.apply(ops.TRANSPOSE, matrix, axes=(*range(rank - 2), rank - 1, rank - 2))


CONVERTERS: dict[str, Converter] = {"BATCH_MATMUL": _batch_matmul}
