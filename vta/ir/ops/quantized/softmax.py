"""Softmax of int8 values in TFLite's fixed-point arithmetic: no floating point, the same bytes everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.arithmetic.tflite_fixed_point import exp_of_negative, newton_reciprocal, raised
from vta.ir.arithmetic.tflite_rounding import (
    divide_by_power_of_two,
    doubling_high_product,
    multiply_quantized,
    quantized_multiplier,
)
from vta.ir.operator import Attributes, TensorType, operator
from vta.ir.ops._checks import check_float, normal_axis, require_dtype
from vta.support.dataclass import dataclass

__all__ = ["SoftmaxAttributes", "exponentials"]

Array = NDArray[Any]

_DIFFERENCE_BITS = 5
"""Integer bits of a scaled difference."""
_SUM_BITS = 12
"""Integer bits of the sum of exponentials."""


@dataclass(frozen=True)
class SoftmaxAttributes(Attributes):
    """Attributes of qnn.softmax; the output has scale 1/256 and zero point -128."""

    input_scale: float
    """Times beta, where the layer has one."""
    axis: int = -1

    def __post_init__(self) -> None:
        check_float(self, "input_scale", above=0.0)


def _infer(attrs: SoftmaxAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], ("int8",))
    axis = normal_axis(attrs.axis, len(types[0].shape))
    if types[0].shape[axis] > 2**_SUM_BITS:
        raise GraphError(f"softmax over {types[0].shape[axis]} values; {2**_SUM_BITS} is the most")
    return types[0]


@operator(ops.QNN_SOFTMAX, 1, _infer, SoftmaxAttributes)
def _softmax(attrs: SoftmaxAttributes, data: Array) -> Array:
    values = np.moveaxis(data, attrs.axis, -1).astype(np.int64)
    terms = exponentials(attrs, values - values.max(axis=-1, keepdims=True))
    total = divide_by_power_of_two(terms, _SUM_BITS).sum(axis=-1, keepdims=True)
    scale, over = _reciprocal(total)
    shares = divide_by_power_of_two(doubling_high_product(scale, terms), over + 31 - 8) - 128
    return np.ascontiguousarray(np.moveaxis(np.clip(shares, -128, 127).astype(np.int8), -1, attrs.axis))


def exponentials(attrs: SoftmaxAttributes, differences: Array) -> Array:
    """What values so far from the largest one of their row (int64, none above 0) add to its sum: powers, with no integer bits.

    Those that lie too far below it add nothing, and get the least output.
    """
    multiplier, exponent = quantized_multiplier(min(attrs.input_scale * 2.0 ** (31 - _DIFFERENCE_BITS), 2.0**31 - 1))
    radius = ((1 << _DIFFERENCE_BITS) - 1) * 2.0 ** (31 - _DIFFERENCE_BITS) / 2.0 ** int(exponent)
    counts = differences >= -int(np.floor(radius))
    scaled = multiply_quantized(np.where(counts, differences, 0), multiplier, exponent)
    return np.where(counts, exp_of_negative(scaled, _DIFFERENCE_BITS), 0)


def _reciprocal(total: Array) -> tuple[Array, Array]:
    """1 / total as a number from 1/2 to 1 with no integer bits, and by how many bits total exceeds one."""
    headroom = 32 - np.ceil(np.log2(total.astype(np.float64) + 1)).astype(np.int64)
    denominator = np.left_shift(total, headroom) - (1 << 31)
    return raised(newton_reciprocal(denominator), 1), _SUM_BITS - headroom
