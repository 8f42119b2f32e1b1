"""Activations, softmax, and changes of scale."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import like
from vta.frontend.tflite.converters._fused import limits
from vta.frontend.tflite.operation import Converter, Operation, Quantization, is_quantized, quantization_of
from vta.frontend.tflite.tables import elu_table, hard_swish_table, leaky_relu_table, logistic_table, tanh_table
from vta.ir import names as ops
from vta.ir.arithmetic.tflite_rounding import quantized_multiplier
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]

_SOFTMAX_SCALE, _SOFTMAX_ZERO_POINT = 1 / 256, -128


def _bounded(low: float, high: float) -> Converter:
    def convert(node: Operation) -> Node:
        if is_quantized(node.tensor()):
            return _requantized(node, limits(node, (low, high)), in_single=True)
        if math.isinf(high):
            return node.apply(ops.RELU, node.input())
        return node.apply(ops.CLIP, node.input(), a_min=low, a_max=high)

    return convert


def _requantized(node: Operation, bounds: dict[str, int], in_single: bool = False) -> Node:
    """Bytes at the scale of the output; the ratio of scales may be rounded to single precision, as some kernels have it."""
    source, to = quantization_of(node.tensor()), quantization_of(node.output())
    if source == to and bounds == {"a_min": -128, "a_max": 127}:
        return node.input()
    input_scale, output_scale = source.scale, to.scale
    ratio = float(np.float32(input_scale) / np.float32(output_scale))
    if in_single and quantized_multiplier(ratio) != quantized_multiplier(input_scale / output_scale):
        input_scale, output_scale = ratio, 1.0
    return node.apply(
        ops.QNN_REQUANTIZE,
        node.input(),
        input_scale=input_scale,
        input_zero_point=source.zero_point,
        output_scale=output_scale,
        output_zero_point=to.zero_point,
        rounding="tflite",
        **bounds,
    )


def _softmax(node: Operation) -> Node:
    data, beta = node.input(), float(node.option("Beta"))
    axis = 1 if len(data.shape) == 4 else -1
    if not is_quantized(node.tensor()):
        scaled = data if beta == 1 else node.apply(ops.MULTIPLY, data, like(beta, data))
        return node.apply(ops.SOFTMAX, scaled, axis=axis)
    to = quantization_of(node.output())
    if (to.scale, to.zero_point) != (_SOFTMAX_SCALE, _SOFTMAX_ZERO_POINT):
        raise UnsupportedNodeError(f"its output has scale {to.scale:g} and zero point {to.zero_point}, not 1/256 and the least")
    return node.apply(ops.QNN_SOFTMAX, data, input_scale=quantization_of(node.tensor()).scale * beta, axis=axis)


_Table = Callable[[Quantization, Quantization], NDArray[np.int8]]


def _tabulated(node: Operation, op: str, table: _Table, **attributes: float) -> Node:
    """A function of one value: of integers a table, of floats operator `op`."""
    if not is_quantized(node.tensor()):
        return node.apply(op, node.input(), **attributes)
    entries = table(quantization_of(node.tensor()), quantization_of(node.output()))
    return node.apply(ops.QNN_LOOKUP, node.input(), node.constant(entries))


def _unary(op: str, table: _Table, **attributes: float) -> Converter:
    return lambda node: _tabulated(node, op, table, **attributes)


def _leaky_relu(node: Operation) -> Node:
    alpha = float(node.option("Alpha"))
    return _tabulated(node, ops.LEAKY_RELU, lambda source, to: leaky_relu_table(source, to, alpha), alpha=alpha)


def _quantize(node: Operation) -> Node:
    if is_quantized(node.tensor()):
        return _requantized(node, {"a_min": -128, "a_max": 127})
    if node.input().dtype != "float32":
        raise UnsupportedNodeError(f"from {node.tensor().dtype} to {node.output().dtype}")
    to = quantization_of(node.output())
    return node.apply(ops.QNN_QUANTIZE, node.input(), scale=to.scale, zero_point=to.zero_point, rounding="tflite")


def _dequantize(node: Operation) -> Node:
    return node.real(0)


CONVERTERS: dict[str, Converter] = {
    "RELU": _bounded(0.0, math.inf),
    "RELU6": _bounded(0.0, 6.0),
    "RELU_N1_TO_1": _bounded(-1.0, 1.0),
    "SOFTMAX": _softmax,
    "LOGISTIC": _unary(ops.SIGMOID, logistic_table),
    "TANH": _unary(ops.TANH, tanh_table),
    "HARD_SWISH": _unary(ops.HARD_SWISH, hard_swish_table),
    "ELU": _unary(ops.ELU, elu_table, alpha=1.0),
    "LEAKY_RELU": _leaky_relu,
    "QUANTIZE": _quantize,
    "DEQUANTIZE": _dequantize,
}
