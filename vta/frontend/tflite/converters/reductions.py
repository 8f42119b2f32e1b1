"""Reductions over axes of the file: sums, means, extremes, products, and the places of extremes."""

from __future__ import annotations

import math

from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import mean
from vta.frontend.tflite.operation import Converter, Operation, is_quantized, quantization_of
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _axes(node: Operation) -> tuple[int, ...]:
    """Reduced axes as the graph has them; none given means all."""
    rank = len(node.input().shape)
    return tuple(sorted({node.graph_axis(axis, rank) for axis in node.numbers(1, "axes")})) or tuple(range(rank))


def _shaped(node: Operation, kept: Node) -> Node:
    """A result whose reduced axes are still there, in the shape of the output."""
    shape = node.output().shape
    return kept if node.option("KeepDims") else node.reshaped(kept, shape)


def _over_axes(node: Operation, op: str) -> Node:
    if is_quantized(node.tensor()) and quantization_of(node.tensor()) != quantization_of(node.output()):
        raise UnsupportedNodeError("input and output have different scales or zero points")
    return _shaped(node, node.apply(op, node.input(), axis=_axes(node), keepdims=True))


def _reduced(op: str) -> Converter:
    return lambda node: _over_axes(node, op)


def _product(node: Operation) -> Node:
    if is_quantized(node.tensor()):
        raise UnsupportedNodeError("of integers that stand for real numbers")
    return _over_axes(node, ops.PROD)


def _sum(node: Operation) -> Node:
    data, axes = node.input(), _axes(node)
    if not is_quantized(node.tensor()):
        return _shaped(node, node.apply(ops.SUM, data, axis=axes, keepdims=True))
    source, to = quantization_of(node.tensor()), quantization_of(node.output())
    if source == to:
        raise UnsupportedNodeError("a sum with the scale and zero point of its input, which wraps at 8 bits")
    total = node.apply(ops.SUM, node.apply(ops.CAST, data, dtype="int32"), axis=axes, keepdims=True)
    result = node.apply(
        ops.QNN_REQUANTIZE,
        total,
        input_scale=source.scale,
        input_zero_point=source.zero_point * math.prod(data.shape[axis] for axis in axes),
        output_scale=to.scale,
        output_zero_point=to.zero_point,
        rounding="tflite",
    )
    return _shaped(node, result)


def _mean(node: Operation) -> Node:
    data, axes = node.input(), _axes(node)
    if not is_quantized(node.tensor()):
        return _shaped(node, mean(node.apply, data, axes, True))
    if len(data.shape) == 4 and axes == (2, 3):
        return _shaped(node, _pooled(node, data))
    rows = node.in_file_layout(data)
    rank = len(rows.shape)
    reduced = {axis % rank for axis in node.numbers(1, "axes")} or set(range(rank))
    kept = [axis for axis in range(rank) if axis not in reduced]
    moved = node.apply(ops.TRANSPOSE, rows, axes=(*kept, *sorted(reduced)))
    count = math.prod(rows.shape[axis] for axis in kept)
    pooled = _pooled(node, node.apply(ops.RESHAPE, moved, newshape=(1, count, 1, math.prod(rows.shape) // count)))
    return node.from_file_layout(node.apply(ops.RESHAPE, pooled, newshape=node.output().shape))


def _pooled(node: Operation, data: Node) -> Node:
    source, to = quantization_of(node.tensor()), quantization_of(node.output())
    return node.apply(
        ops.QNN_GLOBAL_AVG_POOL2D,
        data,
        input_scale=source.scale,
        input_zero_point=source.zero_point,
        output_scale=to.scale,
        output_zero_point=to.zero_point,
        rounding="tflite",
    )


def _place(op: str) -> Converter:
    """Where along an axis an extreme is; the axis goes."""

    def convert(node: Operation) -> Node:
        data, (axis,) = node.input(), node.numbers(1, "the axis")
        found = node.apply(op, data, axis=node.graph_axis(axis, len(data.shape)), keepdims=True)
        return node.reshaped(node.apply(ops.CAST, found, dtype=node.output().dtype), node.output().shape)

    return convert


CONVERTERS: dict[str, Converter] = {
    "ARG_MAX": _place(ops.ARGMAX),
    "ARG_MIN": _place(ops.ARGMIN),
    "MEAN": _mean,
    "REDUCE_ALL": _reduced(ops.MIN),
    "REDUCE_ANY": _reduced(ops.MAX),
    "REDUCE_MAX": _reduced(ops.MAX),
    "REDUCE_MIN": _reduced(ops.MIN),
    "REDUCE_PROD": _product,
    "SUM": _sum,
}
