"""Gates of integer recurrent layers: sigmoid, tanh and layer normalisation of int16 values in TFLite's fixed-point arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.arithmetic.tflite_gates import MOST_INTEGER_BITS, inverse_root, sigmoid_table, tanh_table
from vta.ir.arithmetic.tflite_rounding import multiply_quantized, quantized_multiplier
from vta.ir.operator import Attributes, TensorType, operator
from vta.ir.ops._checks import check_float, check_int, require, require_dtype
from vta.support.dataclass import dataclass

__all__ = ["FRACTION_BITS", "OUTPUT_BITS", "GateAttributes", "Normalize16Attributes"]

Array = NDArray[Any]

_GUARD = 10_000
"""Times the scale of the weights: the variance of rows whose own is below one."""
FRACTION_BITS = 10
"""Of the mean and of normalised values."""
OUTPUT_BITS = 12
"""Behind the point of results."""


@dataclass(frozen=True)
class GateAttributes(Attributes):
    """Attributes of qnn.sigmoid16 and qnn.tanh16."""

    integer_bits: int = 3
    """The input stands for value / 2^(15 - integer_bits); the output has none."""

    def __post_init__(self) -> None:
        check_int(self, "integer_bits", 0, MOST_INTEGER_BITS)

    def table(self, op: str) -> Array:
        """The result for each int16, the least first; int16, (65536,)."""
        return (sigmoid_table if op == ops.QNN_SIGMOID16 else tanh_table)(self.integer_bits)


def _infer(attrs: GateAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], ("int16",))
    return types[0]


def _looked_up(table: Array, data: Array) -> Array:
    return np.asarray(table[data.astype(np.int32) + (1 << 15)])


@operator(ops.QNN_SIGMOID16, 1, _infer, GateAttributes)
def _sigmoid(attrs: GateAttributes, data: Array) -> Array:
    return _looked_up(attrs.table(ops.QNN_SIGMOID16), data)


@operator(ops.QNN_TANH16, 1, _infer, GateAttributes)
def _tanh(attrs: GateAttributes, data: Array) -> Array:
    return _looked_up(attrs.table(ops.QNN_TANH16), data)


@dataclass(frozen=True)
class Normalize16Attributes(Attributes):
    """Attributes of qnn.normalize16; the output stands for value / 2^12."""

    scale: float
    """Of the weights."""

    def __post_init__(self) -> None:
        check_float(self, "scale", above=0.0)

    @property
    def least_variance(self) -> int:
        """What stands for the variance of rows whose own is below one."""
        return max(1, int(_GUARD * np.float32(self.scale)))


def _infer_normalize(attrs: Normalize16Attributes, types: Sequence[TensorType]) -> TensorType:
    data, weight, bias = types
    require_dtype(data, ("int16",), "data")
    require_dtype(weight, ("int16",), "the weight")
    require_dtype(bias, ("int32",), "the bias")
    require(len(data.shape) == 2, f"data has shape {data.shape}; expected (samples, values)")
    for what, type_ in (("the weight", weight), ("the bias", bias)):
        require(type_.shape == data.shape[1:], f"{what} has shape {type_.shape} for rows of {data.shape[1]} values")
    return data


@operator(ops.QNN_NORMALIZE16, 3, _infer_normalize, Normalize16Attributes)
def _normalize(attrs: Normalize16Attributes, data: Array, weight: Array, bias: Array) -> Array:
    """Rows less their mean, by their deviation, times weights, plus biases. Quotients are cut towards zero."""
    count, values = data.shape[1], data.astype(np.int64)
    mean = _quotient(values.sum(axis=1, keepdims=True) << FRACTION_BITS, count)
    squares = np.square(values).sum(axis=1, keepdims=True) * ((1 << 2 * FRACTION_BITS) // count)
    variance = _quotient(squares - mean * mean, 1 << 2 * FRACTION_BITS)
    variance = np.where(variance < 1, attrs.least_variance, variance)
    normal = multiply_quantized((values << FRACTION_BITS) - mean, *inverse_root(variance))
    # The product wraps in 32 bits, as it does there.
    product = (normal * weight).astype(np.int32).astype(np.int64) + bias
    half = 1 << (FRACTION_BITS - 1)
    rounded = _quotient(np.where(product > 0, product + half, product - half), 1 << FRACTION_BITS)
    multiplier, exponent = quantized_multiplier(attrs.scale)
    return np.asarray(np.clip(multiply_quantized(rounded, multiplier, exponent + OUTPUT_BITS), -(2**15), 2**15 - 1), np.int16)


def _quotient(value: Array, by: int) -> Array:
    return np.asarray(np.sign(value) * (np.abs(value) // by))
