"""Quantised operators: integers with explicit scales and zero points. A value x stands for (x - zero_point) * scale.

The arithmetic of each is exact and documented in docs/arithmetic.md. Attribute `rounding` says whose it is: with ``up`` ours,
where halves round towards plus infinity; with ``tflite`` that of TFLite's reference kernels; with ``tflite_once`` that of its
fully connected layers; with ``even`` that of ONNX Runtime: products in single precision, halves to the even neighbour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import TypeVar

import numpy as np

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.arithmetic.even_rounding import even_levels, even_ratio, fused_single
from vta.ir.arithmetic.fixed_point import (
    Array,
    Scale,
    add_multipliers,
    multiplier_and_shift,
    per_channel,
    requantize,
    residual_multiplier,
    round_half_up,
    wrap32,
)
from vta.ir.arithmetic.tflite_rounding import (
    add_rescaled,
    divide_rounded,
    mean_multiplier,
    multiply_quantized,
    multiply_quantized_once,
    quantized_multiplier,
    round_half_away,
)
from vta.ir.operator import Attributes, NoAttributes, TensorType, lookup, operator
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.ir.ops.nn.pool import AvgPool2DAttributes, SumPool2DAttributes, window_counts
from vta.support.dataclass import dataclass

__all__ = [
    "AddAttributes",
    "DequantizeAttributes",
    "MeanAttributes",
    "ProductAttributes",
    "QnnAvgPool2DAttributes",
    "QnnConv2DAttributes",
    "QnnGlobalAvgPool2DAttributes",
    "QuantizeAttributes",
    "RequantizeAttributes",
    "RescaledAttributes",
    "base_attributes",
    "check_scale",
    "even_levels",
    "even_mean_ratio",
    "even_ratio",
    "even_sum",
    "uniform_window",
]

_RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int32": (-(2**31), 2**31 - 1)}


@dataclass(frozen=True)
class QuantizeAttributes(Attributes):
    """Attributes of qnn.quantize."""

    scale: Scale
    zero_point: int = 0
    out_dtype: str = "int8"
    axis: int = 1
    """The channel axis of a scale per channel."""
    rounding: str = "up"


@dataclass(frozen=True)
class DequantizeAttributes(Attributes):
    """Attributes of qnn.dequantize."""

    scale: Scale
    zero_point: int = 0
    axis: int = 1


@dataclass(frozen=True)
class ProductAttributes(Attributes):
    """Those of products with weights, and all that qnn.dense has."""

    input_scale: float
    kernel_scale: Scale
    """One, or one for each output channel."""
    input_zero_point: int = 0


@dataclass(frozen=True)
class QnnConv2DAttributes(ProductAttributes):
    """Attributes of qnn.conv2d: the scales, and those of nn.conv2d. Padding stands for the real number zero."""

    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    taps: int = 0
    copies: int = 0


class RescaledAttributes(Attributes):
    """What operators have that bring sums to the scale of their result. Each has its own order and defaults of these."""

    output_scale: float
    output_zero_point: int
    rounding: str
    a_min: int
    """Smallest int8 result, where the layer has an activation."""
    a_max: int

    @property
    def clips(self) -> bool:
        """Whether not every int8 value may be a result."""
        return (self.a_min, self.a_max) != _RANGES["int8"]


class MeanAttributes(RescaledAttributes):
    """What averages have."""

    input_scale: float
    input_zero_point: int


@dataclass(frozen=True)
class RequantizeAttributes(RescaledAttributes):
    """Attributes of qnn.requantize."""

    input_scale: Scale
    output_scale: float
    input_zero_point: int = 0
    output_zero_point: int = 0
    axis: int = 1
    out_dtype: str = "int8"
    bound: int = 0
    """A magnitude that the input less its zero point never exceeds: it decides how many bits the multiplier may have.
    With 0 (not known) the result is the product of real numbers, rounded."""
    rounding: str = "up"
    a_min: int = -128
    a_max: int = 127


@dataclass(frozen=True)
class AddAttributes(RescaledAttributes):
    """Attributes of qnn.add. An int32 `lhs` is an accumulator, to whose scale `rhs` is brought before the sum is requantised."""

    lhs_scale: Scale
    rhs_scale: float
    output_scale: float
    lhs_zero_point: int = 0
    rhs_zero_point: int = 0
    output_zero_point: int = 0
    out_dtype: str = "int8"
    axis: int = 1
    bound: int = 0
    """As for `RequantizeAttributes`, of the sum at the scale of an int32 `lhs`."""
    rounding: str = "up"
    """With any but ``up`` both operands are int8; ``even_unsigned`` is ``even`` where they stand for unsigned bytes less 128,
    ``even_reals`` rounds a sum of real numbers before the zero point is added."""
    a_min: int = -128
    a_max: int = 127


@dataclass(frozen=True)
class QnnAvgPool2DAttributes(MeanAttributes):
    """Attributes of qnn.avg_pool2d: the scales, and those of nn.avg_pool2d."""

    input_scale: float
    output_scale: float
    pool_size: tuple[int, int]
    input_zero_point: int = 0
    output_zero_point: int = 0
    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    ceil_mode: bool = False
    count_include_pad: bool = False
    rounding: str = "up"
    """With ``tflite`` both scales are the same and the sum is divided exactly, halves away from zero; with
    ``tflite_unsigned`` halves round up, as in a network of uint8 values."""
    a_min: int = -128
    a_max: int = 127


@dataclass(frozen=True)
class QnnGlobalAvgPool2DAttributes(MeanAttributes):
    """Attributes of qnn.global_avg_pool2d."""

    input_scale: float
    output_scale: float
    input_zero_point: int = 0
    output_zero_point: int = 0
    rounding: str = "up"
    """With ``tflite`` it is TFLite's MEAN over height and width."""
    a_min: int = -128
    a_max: int = 127


_A = TypeVar("_A", bound=Attributes)


def base_attributes(kind: type[_A], attrs: Attributes) -> _A:
    """Return attributes of another kind (e.g. those of ``nn.conv2d``) with the values that `attrs` has for them."""
    return kind(**{field.name: getattr(attrs, field.name) for field in fields(kind) if hasattr(attrs, field.name)})


def uniform_window(attrs: QnnAvgPool2DAttributes, shape: tuple[int, ...]) -> bool:
    """Whether every window over data of `shape` (NCHW) divides by pool_size, so that sums times a constant are averages."""
    if any(attrs.padding) and attrs.input_zero_point != 0:
        return False
    counts = window_counts(base_attributes(SumPool2DAttributes, attrs), shape, attrs.count_include_pad)
    return bool((counts == attrs.pool_size[0] * attrs.pool_size[1]).all())


_positive = (0.0).__lt__
"""Of scales, of which a layer may have thousands; false for what is no number."""


def check_scale(what: str, scale: Scale, channels: int | None) -> None:
    """Raise `GraphError` unless scales are positive and finite, and one or as many as `channels`."""
    values = scale if isinstance(scale, tuple) else (scale,)
    if not all(map(_positive, values)) or math.inf in values:
        raise GraphError(f"{what} = {scale!r}; scales are positive and finite")
    if isinstance(scale, tuple) and channels is not None and len(scale) != channels:
        raise GraphError(f"{what} has {len(scale)} values for {channels} channels")


def _check_dtype(what: str, dtype: str, allowed: tuple[str, ...]) -> None:
    if dtype not in allowed:
        raise GraphError(f"{what} is {dtype}; allowed: {', '.join(allowed)}")


def _check_rounding(rounding: str, allowed: tuple[str, ...]) -> None:
    if rounding not in allowed:
        raise GraphError(f"rounding is {rounding!r}; allowed: {', '.join(allowed)}")


_ROUNDINGS: dict[type[RescaledAttributes], tuple[str, ...]] = {
    RequantizeAttributes: ("up", "tflite", "tflite_once", "even"),
    AddAttributes: ("up", "tflite", "even", "even_unsigned", "even_reals"),
    QnnGlobalAvgPool2DAttributes: ("up", "tflite", "even"),
    QnnAvgPool2DAttributes: ("up", "tflite", "tflite_unsigned"),
}


def _check_limits(attrs: RescaledAttributes) -> None:
    _check_rounding(attrs.rounding, _ROUNDINGS[type(attrs)])
    if not -128 <= attrs.a_min <= attrs.a_max <= 127:
        raise GraphError(f"a_min = {attrs.a_min} and a_max = {attrs.a_max}; allowed: -128 <= a_min <= a_max <= 127")


def _narrowed(levels: Array, attrs: RescaledAttributes) -> Array:
    """Integer levels clipped to the output type, and to the activation where that is int8."""
    dtype = attrs.out_dtype if isinstance(attrs, RequantizeAttributes | AddAttributes) else "int8"
    low, high = (attrs.a_min, attrs.a_max) if dtype == "int8" else _RANGES[dtype]
    return np.asarray(np.clip(levels, low, high).astype(dtype))


def _channels(type_: TensorType, axis: int, scale: Scale) -> int | None:
    if not isinstance(scale, tuple):
        return None
    if not -len(type_.shape) <= axis < len(type_.shape):
        raise GraphError(f"axis {axis} is outside a value of shape {type_.shape}")
    return type_.shape[axis]


def _infer_quantize(attrs: QuantizeAttributes, types: Sequence[TensorType]) -> TensorType:
    _check_dtype("data", types[0].dtype, ("float32",))
    _check_dtype("out_dtype", attrs.out_dtype, ("int8", "uint8", "int32"))
    check_scale("scale", attrs.scale, _channels(types[0], attrs.axis, attrs.scale))
    _check_rounding(attrs.rounding, ("up", "tflite", "even", "even_shifted"))
    return TensorType(types[0].shape, attrs.out_dtype)


@operator(ops.QNN_QUANTIZE, 1, _infer_quantize, QuantizeAttributes)
def _quantize(attrs: QuantizeAttributes, data: Array) -> Array:
    scale = per_channel(attrs.scale, data.ndim, attrs.axis)
    low, high = _RANGES[attrs.out_dtype]
    if attrs.rounding == "even":
        levels = np.rint(data / np.asarray(scale, np.float32)).astype(np.float64)
    elif attrs.rounding == "even_shifted":
        shifted = data / np.asarray(scale, np.float32) + np.float32(attrs.zero_point)
        levels = np.rint(shifted).astype(np.float64) - attrs.zero_point
    elif attrs.rounding == "tflite":
        levels = round_half_away(data / np.asarray(scale, np.float32)).astype(np.float64)
    else:
        levels = np.array(data, np.float64)
        levels /= scale
        levels = round_half_up(levels)
    # Where samples are many, values that are new each time would take longer than the arithmetic.
    levels = np.asarray(levels)
    np.copyto(levels, 0.0, where=np.isnan(levels))
    levels += attrs.zero_point
    return np.asarray(np.clip(levels, low, high, out=levels).astype(attrs.out_dtype))


def _infer_dequantize(attrs: DequantizeAttributes, types: Sequence[TensorType]) -> TensorType:
    _check_dtype("data", types[0].dtype, ("int8", "uint8", "int32"))
    check_scale("scale", attrs.scale, _channels(types[0], attrs.axis, attrs.scale))
    return TensorType(types[0].shape, "float32")


@operator(ops.QNN_DEQUANTIZE, 1, _infer_dequantize, DequantizeAttributes)
def _dequantize(attrs: DequantizeAttributes, data: Array) -> Array:
    scale = per_channel(attrs.scale, data.ndim, attrs.axis)
    return np.asarray((data.astype(np.int64) - attrs.zero_point) * scale, np.float32)


def _infer_conv2d(attrs: QnnConv2DAttributes, types: Sequence[TensorType]) -> TensorType:
    check_scale("input_scale", attrs.input_scale, None)
    check_scale("kernel_scale", attrs.kernel_scale, _channels(types[1], 0, attrs.kernel_scale))
    _check_dtype("data", types[0].dtype, ("int8",))
    _check_dtype("weight", types[1].dtype, ("int8", "int16"))
    return lookup(ops.CONV2D).infer(base_attributes(Conv2DAttributes, attrs), types)


@operator(ops.QNN_CONV2D, 2, _infer_conv2d, QnnConv2DAttributes)
def _conv2d(attrs: QnnConv2DAttributes, data: Array, weight: Array) -> Array:
    conv = lookup(ops.CONV2D).reference
    base = base_attributes(Conv2DAttributes, attrs)
    if attrs.input_zero_point == 0:
        return conv(base, data, weight)
    top, left, bottom, right = attrs.padding
    padded = np.pad(data, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=attrs.input_zero_point)
    unpadded = Conv2DAttributes(strides=attrs.strides, dilation=attrs.dilation, groups=attrs.groups)
    sums = weight.astype(np.int64).sum(axis=(1, 2, 3)).reshape(1, -1, 1, 1)
    return wrap32(conv(unpadded, padded, weight).astype(np.int64) - attrs.input_zero_point * sums)


def _infer_dense(attrs: ProductAttributes, types: Sequence[TensorType]) -> TensorType:
    check_scale("input_scale", attrs.input_scale, None)
    check_scale("kernel_scale", attrs.kernel_scale, _channels(types[1], 0, attrs.kernel_scale))
    _check_dtype("data", types[0].dtype, ("int8",))
    _check_dtype("weight", types[1].dtype, ("int8", "int16"))
    return lookup(ops.DENSE).infer(NoAttributes(), types)


@operator(ops.QNN_DENSE, 2, _infer_dense, ProductAttributes)
def _dense(attrs: ProductAttributes, data: Array, weight: Array) -> Array:
    product = lookup(ops.DENSE).reference(NoAttributes(), data, weight)
    return wrap32(product.astype(np.int64) - attrs.input_zero_point * weight.astype(np.int64).sum(axis=1))


def _infer_requantize(attrs: RequantizeAttributes, types: Sequence[TensorType]) -> TensorType:
    _check_dtype("data", types[0].dtype, ("int8", "uint8", "int32"))
    _check_dtype("out_dtype", attrs.out_dtype, ("int8", "uint8", "int32"))
    _check_limits(attrs)
    check_scale("input_scale", attrs.input_scale, _channels(types[0], attrs.axis, attrs.input_scale))
    check_scale("output_scale", attrs.output_scale, None)
    return TensorType(types[0].shape, attrs.out_dtype)


@operator(ops.QNN_REQUANTIZE, 1, _infer_requantize, RequantizeAttributes)
def _requantize(attrs: RequantizeAttributes, data: Array) -> Array:
    values = data.astype(np.int64) - attrs.input_zero_point
    return _rescale(values, attrs.input_scale, attrs, attrs.axis)


def _rescale(values: Array, scale: Scale, attrs: RequantizeAttributes | AddAttributes, axis: int) -> Array:
    ratio = per_channel(np.asarray(scale, np.float64) / attrs.output_scale, values.ndim, axis)
    if attrs.rounding == "even":
        return _narrowed(even_levels(values, even_ratio(scale, attrs.output_scale), axis) + attrs.output_zero_point, attrs)
    if attrs.rounding != "up":
        multiply = multiply_quantized if attrs.rounding == "tflite" else multiply_quantized_once
        return _narrowed(multiply(values, *quantized_multiplier(ratio)) + attrs.output_zero_point, attrs)
    if attrs.bound == 0:
        return _narrowed(round_half_up(values * ratio) + attrs.output_zero_point, attrs)
    multiplier, shift = multiplier_and_shift(ratio, attrs.bound, abs(attrs.output_zero_point))
    return _narrowed(requantize(values, multiplier, shift, attrs.output_zero_point), attrs)


def even_mean_ratio(attrs: MeanAttributes, count: int) -> Array:
    """Return the ratio, in single precision, of the mean of `count` values to their sum at the output scale."""
    return np.asarray(np.float32(attrs.input_scale) / (np.float32(attrs.output_scale) * np.float32(count)))


def even_sum(lhs: Array, rhs: Array, attrs: AddAttributes) -> Array:
    """Return the levels of a sum of two int8 tensors as ONNX Runtime computes them: in single precision, zero points first.

    With ``even_reals`` as it does where the tensors are dequantised, added and quantised again: the zero point last.
    """
    if attrs.rounding == "even_reals":
        first, second = (
            np.asarray((values.astype(np.int64) - zero_point) * scale, np.float32)
            for values, zero_point, scale in (
                (lhs, attrs.lhs_zero_point, attrs.lhs_scale),
                (rhs, attrs.rhs_zero_point, attrs.rhs_scale),
            )
        )
        levels = np.rint((first + second) / np.float32(attrs.output_scale)).astype(np.int64)
        return np.asarray(levels + attrs.output_zero_point)
    offset = 128 if attrs.rounding == "even_unsigned" else 0
    left, right = (even_ratio(scale, attrs.output_scale) for scale in (attrs.lhs_scale, attrs.rhs_scale))
    zeros = fused_single(left, attrs.lhs_zero_point + offset, right * np.float32(attrs.rhs_zero_point + offset))
    fixed = np.float32(attrs.output_zero_point + offset) - zeros
    first = fused_single(left, lhs.astype(np.int64) + offset, fixed)
    total = fused_single(right, rhs.astype(np.int64) + offset, first)
    return np.rint(total).astype(np.int64) - offset


def _infer_add(attrs: AddAttributes, types: Sequence[TensorType]) -> TensorType:
    lhs, rhs = types
    _check_dtype("lhs", lhs.dtype, ("int8", "int32"))
    _check_dtype("rhs", rhs.dtype, ("int8",))
    _check_dtype("out_dtype", attrs.out_dtype, ("int8", "int32"))
    if lhs.shape != rhs.shape:
        raise GraphError(f"lhs and rhs differ in shape: {lhs.shape} and {rhs.shape}")
    if lhs.dtype == "int8" and isinstance(attrs.lhs_scale, tuple):
        raise GraphError("an int8 lhs has one lhs_scale")
    _check_limits(attrs)
    if attrs.rounding != "up" and lhs.dtype != "int8":
        raise GraphError(f"with rounding {attrs.rounding!r} lhs is int8")
    check_scale("lhs_scale", attrs.lhs_scale, _channels(lhs, attrs.axis, attrs.lhs_scale))
    check_scale("rhs_scale", attrs.rhs_scale, None)
    check_scale("output_scale", attrs.output_scale, None)
    return TensorType(lhs.shape, attrs.out_dtype)


@operator(ops.QNN_ADD, 2, _infer_add, AddAttributes)
def _add(attrs: AddAttributes, lhs: Array, rhs: Array) -> Array:
    left = lhs.astype(np.int64) - attrs.lhs_zero_point
    right = rhs.astype(np.int64) - attrs.rhs_zero_point
    if lhs.dtype == np.int32:
        multiplier = per_channel(residual_multiplier(attrs.rhs_scale, attrs.lhs_scale), lhs.ndim, attrs.axis)
        return _rescale(wrap32(left + right * multiplier).astype(np.int64), attrs.lhs_scale, attrs, attrs.axis)
    assert not isinstance(attrs.lhs_scale, tuple)
    if attrs.rounding.startswith("even"):
        return _narrowed(even_sum(lhs, rhs, attrs), attrs)
    if attrs.rounding == "tflite":
        total = add_rescaled(left, right, (attrs.lhs_scale, attrs.rhs_scale, attrs.output_scale))
        return _narrowed(total + attrs.output_zero_point, attrs)
    ml, mr, shift = add_multipliers(attrs.lhs_scale / attrs.output_scale, attrs.rhs_scale / attrs.output_scale)
    return _narrowed(requantize(left * ml + right * mr, 1, shift, attrs.output_zero_point), attrs)


def _infer_avg_pool2d(attrs: QnnAvgPool2DAttributes, types: Sequence[TensorType]) -> TensorType:
    _check_dtype("data", types[0].dtype, ("int8",))
    check_scale("input_scale", attrs.input_scale, None)
    check_scale("output_scale", attrs.output_scale, None)
    _check_limits(attrs)
    pooled = lookup(ops.SUM_POOL2D).infer(base_attributes(SumPool2DAttributes, attrs), types)
    return TensorType(pooled.shape, "int8")


@operator(ops.QNN_AVG_POOL2D, 1, _infer_avg_pool2d, QnnAvgPool2DAttributes)
def _avg_pool2d(attrs: QnnAvgPool2DAttributes, data: Array) -> Array:
    if attrs.rounding != "up":
        base = base_attributes(SumPool2DAttributes, attrs)
        sums = lookup(ops.SUM_POOL2D).reference(base, data).astype(np.int64)
        counts = window_counts(base, data.shape, attrs.count_include_pad)
        return _narrowed(divide_rounded(sums, counts, unsigned=attrs.rounding == "tflite_unsigned"), attrs)
    if not uniform_window(attrs, data.shape):
        real = _dequantize(DequantizeAttributes(attrs.input_scale, attrs.input_zero_point), data)
        pooled = lookup(ops.AVG_POOL2D).reference(base_attributes(AvgPool2DAttributes, attrs), real)
        return _quantize(QuantizeAttributes(attrs.output_scale, attrs.output_zero_point), pooled)
    count = attrs.pool_size[0] * attrs.pool_size[1]
    sums = lookup(ops.SUM_POOL2D).reference(base_attributes(SumPool2DAttributes, attrs), data)
    return _average(sums, count, attrs)


def _average(sums: Array, count: int, attrs: MeanAttributes) -> Array:
    values = sums.astype(np.int64) - count * attrs.input_zero_point
    if attrs.rounding == "even":
        mean = even_levels(values, even_mean_ratio(attrs, count), 1)
        return _narrowed(mean + attrs.output_zero_point, attrs)
    if attrs.rounding == "tflite":
        mean = multiply_quantized(values, *mean_multiplier(attrs.input_scale / attrs.output_scale, count))
        return _narrowed(mean + attrs.output_zero_point, attrs)
    bound = count * (128 + abs(attrs.input_zero_point))
    ratio = np.float64(attrs.input_scale / (attrs.output_scale * count))
    multiplier, shift = multiplier_and_shift(ratio, bound, abs(attrs.output_zero_point))
    levels = requantize(values, multiplier, shift, attrs.output_zero_point)
    return _narrowed(levels, attrs)


def _infer_global(attrs: QnnGlobalAvgPool2DAttributes, types: Sequence[TensorType]) -> TensorType:
    _check_dtype("data", types[0].dtype, ("int8",))
    _check_limits(attrs)
    if len(types[0].shape) != 4:
        raise GraphError(f"data has shape {types[0].shape}; expected NCHW")
    check_scale("input_scale", attrs.input_scale, None)
    check_scale("output_scale", attrs.output_scale, None)
    return TensorType((*types[0].shape[:2], 1, 1), "int8")


@operator(ops.QNN_GLOBAL_AVG_POOL2D, 1, _infer_global, QnnGlobalAvgPool2DAttributes)
def _global_avg_pool2d(attrs: QnnGlobalAvgPool2DAttributes, data: Array) -> Array:
    sums = data.astype(np.int64).sum(axis=(2, 3), keepdims=True)
    return _average(sums, data.shape[2] * data.shape[3], attrs)
