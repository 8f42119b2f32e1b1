"""Constants that are written as a dequantisation: their integers and scales, also through operators that move values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import INT32_MAX, Scale, per_channel
from vta.ir.graph import Node, attrs_of
from vta.ir.interpreter import constant_value
from vta.ir.operator import lookup
from vta.ir.ops.nn.conv import Conv2DTransposeAttributes
from vta.ir.ops.quantized.qnn import DequantizeAttributes
from vta.support.dataclass import dataclass

__all__ = ["Levels", "Weights", "bias_levels", "constant_levels", "scaled_weights", "weights_of"]

Array = NDArray[Any]

_MOVES = (ops.RESHAPE, ops.TRANSPOSE, ops.SQUEEZE, ops.EXPAND_DIMS, ops.BATCH_FLATTEN, ops.STRIDED_SLICE)


@dataclass(frozen=True)
class Levels:
    """Integers less their zero points, and what one of them is worth."""

    values: Array
    scales: Array
    """Those of all values: they broadcast to them. Without dimensions where it is one for all."""


@dataclass(frozen=True)
class Weights:
    """Weights of a product, as its operator has them: int8, or int16 where that is too narrow."""

    values: Array
    scale: Scale
    """One, or one for each output channel."""
    reach: Array
    """By how much the sum of an output channel can exceed its data's largest magnitude: sums of magnitudes of weights, int64."""


def constant_levels(node: Node) -> Levels | None:
    """Return the integers behind a dequantised constant; None for other values."""
    if node.op in _MOVES:
        found = constant_levels(node.inputs[0])
        return None if found is None else _moved(node, found)
    if node.op == ops.MULTIPLY:
        return _scaled(node)
    attrs = node.attrs
    if not isinstance(attrs, DequantizeAttributes) or node.inputs[0].value is None:
        return None
    value = node.inputs[0].value
    scales = per_channel(np.asarray(attrs.scale, np.float32), value.ndim, attrs.axis)
    return Levels(value.astype(np.int64 if value.itemsize > 1 else np.int16) - attrs.zero_point, scales)


def _scaled(node: Node) -> Levels | None:
    """Levels times one positive number, as a matrix product may have it."""
    found, factor = constant_levels(node.inputs[0]), node.inputs[1].value
    if found is None or factor is None or factor.size != 1 or not 0 < factor.item() < np.inf or node.shape != found.values.shape:
        return None
    return Levels(found.values, found.scales * np.float32(factor.item()))


def _moved(node: Node, found: Levels) -> Levels:
    move, scales = lookup(node.op).reference, found.scales
    if scales.ndim and node.op != ops.TRANSPOSE:
        scales = np.broadcast_to(scales, found.values.shape)
    return Levels(move(node.attrs, found.values), scales if scales.ndim == 0 else move(node.attrs, scales))


def weights_of(product: Node) -> Weights | None:
    """Return the weights of a convolution or matrix product of real numbers, for its operator of integers.

    None if they are no dequantised constants, need more than 9 bits, or a scale does not belong to an output channel.
    """
    found = constant_levels(product.inputs[1])
    if found is None or not found.values.size:
        return None
    values, scales = found.values, found.scales
    if product.op == ops.MATMUL:
        if values.ndim != 2:
            return None
        values, scales = np.ascontiguousarray(values.T), scales.T
    if values.min() < -255 or values.max() > 255:
        return None
    scale = _channel_scale(product, scales, values.shape)
    if scale is None:
        return None
    narrow = values.min() >= -128 and values.max() <= 127
    reach = np.abs(_by_channel(product, values)).sum(axis=1, dtype=np.int64)
    return Weights(values.astype(np.int8 if narrow else np.int16), scale, reach)


def scaled_weights(product: Node, weights: Weights, factor: Array) -> Weights | None:
    """Return weights of the product times a `factor` for each output channel; None if that is 0 somewhere, or not finite."""
    size = np.abs(factor)
    if not ((size > 0) & (size < np.inf)).all() or (product.op == ops.CONV2D_TRANSPOSE and (factor < 0).any()):
        return None
    values, scales = weights.values, np.asarray(weights.scale, np.float32) * size.astype(np.float32)
    if (factor < 0).any():
        turned = values * np.sign(factor).astype(np.int16).reshape(-1, *(1,) * (values.ndim - 1))
        values = turned.astype(np.int8) if turned.min() >= -128 and turned.max() <= 127 else turned
    return Weights(values, tuple(float(scale) for scale in scales), weights.reach)


def _by_channel(product: Node, weight: Array) -> Array:
    """Weights, or their scales, with a row for each output channel."""
    if product.op != ops.CONV2D_TRANSPOSE:
        return weight.reshape(weight.shape[0], -1)
    groups = attrs_of(product, Conv2DTransposeAttributes).groups
    grouped = weight.reshape(groups, weight.shape[0] // groups, weight.shape[1], -1)
    return grouped.transpose(0, 2, 1, 3).reshape(groups * weight.shape[1], -1)


def _channel_scale(product: Node, scales: Array, shape: tuple[int, ...]) -> Scale | None:
    if scales.ndim == 0:
        return float(scales)
    if product.op != ops.CONV2D_TRANSPOSE and all(dim == 1 for dim in scales.shape[1:]):
        rows = np.broadcast_to(scales.reshape(-1, 1), (shape[0], 1))
    else:
        rows = _by_channel(product, np.broadcast_to(scales, shape))
    return tuple(float(scale) for scale in rows[:, 0]) if (rows == rows[:, :1]).all() else None


def bias_levels(bias: Node, scale: Scale, channels: int, tolerance: float) -> Array | None:
    """Return a constant of one value, or one for each of `channels`, as int32 at the `scale` of products.

    None if it is no constant, does not fit, or is not within `tolerance` (a real number) of whole multiples of the scale.
    """
    scales = np.asarray(scale, np.float64)
    found = constant_levels(bias)
    if found is not None and np.allclose(_vector(found.scales, channels), scales, rtol=1e-5, atol=0):
        levels = _vector(found.values, channels)
    else:
        value = constant_value(bias) if found is None else found.values * found.scales.astype(np.float64)
        if value is None or not np.isfinite(value).all():
            return None
        real = _vector(value.astype(np.float64), channels)
        levels = np.rint(real / scales)
        if (np.abs(levels * scales - real) > tolerance).any():
            return None
    return levels.astype(np.int32) if (np.abs(levels) <= INT32_MAX).all() else None


def _vector(values: Array, channels: int) -> Array:
    return np.broadcast_to(values.reshape(-1), (channels,))
