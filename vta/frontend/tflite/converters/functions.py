"""Functions of one value, and normalisations. Of integers those are tables where the reference kernel has one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import gelu, gelu_by_tanh, like, running_sums
from vta.frontend.tflite.converters._integers import constant_last, levels, rescaled
from vta.frontend.tflite.operation import Converter, Operation, Quantization, is_quantized, quantization_of
from vta.frontend.tflite.tables import absolute_table, function_table, root_table
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.ir.operator import NoAttributes, lookup

__all__ = ["CONVERTERS"]

Array = NDArray[Any]
_Compute = Callable[[Operation, Node], Node]

_EPSILON = 1e-6
"""Least sum of squares that an L2 normalisation divides by."""


def _operator(op: str) -> _Compute:
    return lambda node, data: node.apply(op, data)


def _function(compute: _Compute, table: Callable[[Quantization, Quantization], NDArray[np.int8]] | None = None) -> Converter:
    """Floats by `compute`; integers by `table`, or by floats and a quantisation, at most 1 off."""

    def convert(node: Operation) -> Node:
        if not is_quantized(node.tensor()):
            return compute(node, node.input())
        if table is None:
            return node.quantized(compute(node, node.real(0)))
        return node.apply(ops.QNN_LOOKUP, node.input(), node.constant(table(quantization_of(node.tensor()), _target(node))))

    return convert


def _target(node: Operation) -> Quantization:
    return quantization_of(node.output())


def _tabulated(function: Callable[[Array], Array]) -> Callable[[Quantization, Quantization], NDArray[np.int8]]:
    return lambda source, to: function_table(source, to, function)


def _error_function(values: Array) -> Array:
    return lookup(ops.ERF).reference(NoAttributes(), values)


def _exact_gelu(x: Array) -> Array:
    return np.asarray(np.float32(0.5) * x * (1 + _error_function((x * math.sqrt(0.5)).astype(np.float32))))


def _tanh_gelu(x: Array) -> Array:
    inner = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)
    return np.asarray(np.float32(0.5) * x * (1 + np.tanh(inner)))


def _gelu(node: Operation) -> Node:
    close = node.option("Approximate")
    if not is_quantized(node.tensor()):
        return (gelu_by_tanh if close else gelu)(node.apply, node.input())
    entries = function_table(quantization_of(node.tensor()), _target(node), _tanh_gelu if close else _exact_gelu)
    return node.apply(ops.QNN_LOOKUP, node.input(), node.constant(entries))


def _square(node: Operation, data: Node) -> Node:
    return node.apply(ops.MULTIPLY, data, data)


def _inverse_root(node: Operation, data: Node) -> Node:
    return node.apply(ops.DIVIDE, like(1.0, data), node.apply(ops.SQRT, data))


def _log_softmax(node: Operation, data: Node) -> Node:
    return node.apply(ops.LOG_SOFTMAX, data, axis=1 if len(data.shape) == 4 else -1)


def _unit_length(node: Operation, data: Node) -> Node:
    """Divided by the root of the sum of squares over the channels."""
    if node.option("FusedActivationFunction"):
        raise UnsupportedNodeError("a fused activation")
    axis = 1 if len(data.shape) == 4 else len(data.shape) - 1
    squares = node.apply(ops.SUM, _square(node, data), axis=(axis,), keepdims=True)
    return node.apply(ops.DIVIDE, data, node.apply(ops.SQRT, node.apply(ops.MAXIMUM, squares, like(_EPSILON, data))))


def _local_response(node: Operation) -> Node:
    size = 2 * node.option("Radius") + 1
    alpha = float(node.option("Alpha")) * size
    beta, bias = float(node.option("Beta")), float(node.option("Bias"))
    return node.apply(ops.LRN, node.input(), size=size, alpha=alpha, beta=beta, bias=bias)


def _prelu_of_bytes(node: Operation) -> Node:
    """One ratio of scales for levels from zero on, another for the products of those below with the slope."""
    source, slope, to = (np.float32(quantization_of(tensor).scale) for tensor in (node.tensor(0), node.tensor(1), node.output()))
    data, factors = levels(node, 0), levels(node, 1)
    above = rescaled(node, data, float(source / to), 1.0)
    below = rescaled(node, node.apply(ops.MULTIPLY, *constant_last(data, factors)), float(source * slope / to), 1.0)
    chosen = node.apply(ops.WHERE, node.apply(ops.GREATER_EQUAL, data, like(0, data)), above, below)
    moved = node.apply(ops.ADD, chosen, like(quantization_of(node.output()).zero_point, chosen))
    return node.apply(ops.CAST, node.apply(ops.CLIP, moved, a_min=-128, a_max=127), dtype="int8")


def _prelu(node: Operation) -> Node:
    if is_quantized(node.output()):
        return _prelu_of_bytes(node)
    data, slope = node.real(0), node.real(1)
    rank = len(data.shape)
    vector = slope.value is not None and rank > 1 and slope.value.size == data.shape[node.graph_axis(-1, rank)]
    if vector and rank in (2, 4) and slope.value is not None:
        return node.quantized(node.apply(ops.PRELU, data, node.constant(slope.value.reshape(-1))))
    if len(slope.shape) != rank:
        slope = node.reshaped(slope, (1,) * (rank - len(slope.shape)) + slope.shape)
    below = node.apply(ops.RELU, node.apply(ops.NEGATIVE, data))
    return node.quantized(node.apply(ops.SUBTRACT, node.apply(ops.RELU, data), node.apply(ops.MULTIPLY, below, slope)))


def _cast(node: Operation) -> Node:
    """Numbers as they are stored, whatever their scales."""
    data, wanted = node.input(), node.output().dtype
    if wanted not in ("float32", "int8", "int32", "int64", "bool", "int16"):
        raise UnsupportedNodeError(f"to {wanted}")
    if node.tensor().dtype == "uint8":
        data = node.apply(ops.ADD, node.apply(ops.CAST, data, dtype="int32"), node.constant(np.int32(128)))
    return data if data.dtype == wanted else node.apply(ops.CAST, data, dtype=wanted)


def _cumulative(node: Operation) -> Node:
    data, (axis,) = node.input(), node.numbers(1, "the axis")
    if data.dtype != "float32":
        raise UnsupportedNodeError(f"of {data.dtype}; only of float32")
    if not -len(data.shape) <= axis < len(data.shape):
        raise ImportModelError(f"axis {axis} is outside {len(data.shape)} dimensions")
    rows, exclusive, reverse = node.in_file_layout(data), bool(node.option("Exclusive")), bool(node.option("Reverse"))
    return node.from_file_layout(running_sums(node.apply, rows, axis, exclusive=exclusive, reverse=reverse))


CONVERTERS: dict[str, Converter] = {
    "ABS": _function(_operator(ops.ABS), absolute_table),
    "CAST": _cast,
    "CEIL": _function(_operator(ops.CEIL)),
    "COS": _function(_operator(ops.COS)),
    "CUMSUM": _cumulative,
    "EXP": _function(_operator(ops.EXP), _tabulated(np.exp)),
    "FLOOR": _function(_operator(ops.FLOOR)),
    "GELU": _gelu,
    "L2_NORMALIZATION": _function(_unit_length),
    "LOCAL_RESPONSE_NORMALIZATION": _local_response,
    "LOG": _function(_operator(ops.LOG), _tabulated(np.log)),
    "LOGICAL_NOT": _function(_operator(ops.LOGICAL_NOT)),
    "LOG_SOFTMAX": _function(_log_softmax),
    "NEG": _function(_operator(ops.NEGATIVE)),
    "PRELU": _prelu,
    "ROUND": _function(_operator(ops.ROUND)),
    "RSQRT": _function(_inverse_root),
    "SIGN": _function(_operator(ops.SIGN)),
    "SIN": _function(_operator(ops.SIN)),
    "SQRT": _function(_operator(ops.SQRT), root_table),
    "SQUARE": _function(_square),
}
