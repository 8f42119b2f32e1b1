"""TFLite's functions of one int8 value as tables of 256 entries, with the arithmetic of its reference kernels.

Each takes the `Quantisation` of input and output; entry i is the result for the value i - 128.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.tflite.operation import Quantization
from vta.ir.arithmetic.tflite_rounding import divide_by_power_of_two, multiply_quantized, quantized_multiplier, round_half_away

__all__ = [
    "absolute_table",
    "elu_table",
    "function_table",
    "hard_swish_table",
    "leaky_relu_table",
    "logistic_table",
    "root_table",
    "tanh_table",
]

Array = NDArray[Any]
Table = NDArray[np.int8]

_INT16 = (-(2**15), 2**15 - 1)


def _levels(zero_point: int) -> Array:
    return np.arange(-128, 128, dtype=np.int64) - zero_point


def _narrowed(levels: Array) -> Table:
    return np.clip(levels, -128, 127).astype(np.int8)


def logistic_table(source: Quantization, to: Quantization) -> Table:
    """LOGISTIC; its output has scale 1/256 and zero point -128, or it is refused."""
    if (to.scale, to.zero_point) != (1 / 256, -128):
        raise UnsupportedNodeError(f"its output has scale {to.scale:g} and zero point {to.zero_point}, not 1/256 and -128")
    return function_table(source, to, lambda x: np.float32(1) / (np.float32(1) + _in_single(np.exp, -x)))


def tanh_table(source: Quantization, to: Quantization) -> Table:
    """TANH; its output has scale 1/128 and zero point 0, or it is refused."""
    if (to.scale, to.zero_point) != (1 / 128, 0):
        raise UnsupportedNodeError(f"its output has scale {to.scale:g} and zero point {to.zero_point}, not 1/128 and 0")
    return function_table(source, to, lambda x: _in_single(np.tanh, x))


def _in_single(function: Callable[[Array], Array], values: Array) -> Array:
    """A function in single precision, rounded once, as that of the C library is but for rare arguments."""
    return np.asarray(function(values.astype(np.float64)), np.float32)


def leaky_relu_table(source: Quantization, to: Quantization, alpha: float) -> Table:
    """LEAKY_RELU: one multiplier on each side of zero."""
    values = _levels(source.zero_point)
    scale, output_scale = np.float32(source.scale), np.float32(to.scale)
    sides = [
        multiply_quantized(values, *quantized_multiplier(ratio))
        for ratio in (scale / output_scale, scale * np.float32(alpha) / output_scale)
    ]
    return _narrowed(np.where(values >= 0, *sides) + to.zero_point)


def hard_swish_table(source: Quantization, to: Quantization) -> Table:
    """HARD_SWISH, in 16-bit fixed point."""
    fine = np.float32(source.scale) * np.float32(1 / 128)
    multiplier, exponent = _short_multiplier(float(fine / np.float32(to.scale)))
    if exponent > 0:
        raise UnsupportedNodeError(f"its output scale {to.scale:g} is less than 1/128 of its input scale {source.scale:g}")
    slope, slope_exponent = _short_multiplier(float(fine / np.float32(3 / 32768)))
    values = _levels(source.zero_point) << 7
    scaled = _rounded_high_product(values, multiplier)
    share = values
    if slope_exponent > 0:
        share = np.clip(share << (slope_exponent - 1), *_INT16)
    share = _rounded_high_product(share, slope)
    if slope_exponent > 0:
        share = np.clip(share << 1, *_INT16)
    elif slope_exponent < 0:
        share = divide_by_power_of_two(share, -slope_exponent)
    # From -1..1 to 0..1.
    share = (share + (1 << 15)) >> 1
    product = share * scaled
    # Cut towards zero, which undoes the bias of the rounded products.
    product = np.sign(product) * (np.abs(product) >> 15)
    return _narrowed(divide_by_power_of_two(product, -exponent) + to.zero_point)


def _short_multiplier(ratio: float) -> tuple[int, int]:
    """A multiplier of 16 bits and an exponent: ratio = multiplier / 2^15 * 2^exponent."""
    multiplier, exponent = (int(part) for part in quantized_multiplier(ratio))
    return min((multiplier + (1 << 15)) >> 16, _INT16[1]), exponent


def _rounded_high_product(values: Array, factor: int) -> Array:
    """values * factor / 2^15 of 16-bit numbers, rounded, halves up."""
    return (values * factor + (1 << 14)) >> 15


def elu_table(source: Quantization, to: Quantization) -> Table:
    """ELU, in single precision."""
    return function_table(source, to, lambda x: np.where(x < 0, np.expm1(np.minimum(x, np.float32(0))), x))


def root_table(source: Quantization, to: Quantization) -> Table:
    """SQRT, in single precision; what is left of a level is cut off."""
    values = np.maximum(_levels(source.zero_point), 0).astype(np.float32)
    roots = np.sqrt(values * np.float32(source.scale)) / np.float32(to.scale)
    return _narrowed(np.minimum(roots, 512).astype(np.int64) + to.zero_point)


def function_table(source: Quantization, to: Quantization, function: Callable[[Array], Array]) -> Table:
    """A function of real numbers, in single precision."""
    real = _levels(source.zero_point).astype(np.float32) * np.float32(source.scale)
    with np.errstate(all="ignore"):
        result = function(real) * (np.float32(1) / np.float32(to.scale))
    limited = np.clip(np.nan_to_num(result, nan=0.0), -512, 512)
    return _narrowed(round_half_away(limited).astype(np.int64) + to.zero_point)


def absolute_table(source: Quantization, to: Quantization) -> Table:
    """ABS: one multiplier where the scale changes."""
    values = np.abs(_levels(source.zero_point))
    if source.scale != to.scale:
        values = multiply_quantized(values, *quantized_multiplier(np.float32(source.scale) / np.float32(to.scale)))
    return _narrowed(values + to.zero_point)
