"""Per-channel factors and terms: recognised in constants, folded into weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.arithmetic.not_finite import is_finite
from vta.ir.graph import Node, attrs_of, call, constant
from vta.ir.ops.nn.conv import Conv2DTransposeAttributes
from vta.ir.ops.nn.norm import AxisAttributes
from vta.ir.transforms.pattern import Match, Pattern, is_constant, is_op, wildcard

__all__ = ["along_axis_1", "channel_vector", "is_foldable", "per_channel", "scaled_layer", "weighted_layer"]

Array = NDArray[Any]


def along_axis_1(node: Node) -> bool:
    """Whether the channel axis of `node` is axis 1."""
    return bool(attrs_of(node, AxisAttributes).axis % len(node.shape) == 1)


def weighted_layer() -> tuple[Pattern, Pattern, Pattern]:
    """Return patterns for a float32 layer with constant weights, a constant bias, and that layer plus that bias."""
    kinds = is_op(ops.CONV2D) | is_op(ops.CONV2D_TRANSPOSE) | is_op(ops.DENSE)
    layer = kinds(wildcard(), is_constant()).has_dtype("float32")
    bias = is_constant()
    return layer, bias, is_op(ops.BIAS_ADD)(layer, bias).where(along_axis_1)


def is_foldable(found: Match, layer: Pattern, biased: Pattern) -> bool:
    """Whether `found` holds the layer and nothing else reads it, so that its weights may change."""
    return layer in found and not found.is_shared(layer) and not (biased in found and found.is_shared(biased))


def channel_vector(node: Node, shape: tuple[int, ...]) -> Array | None:
    """Return the constant `node` as a vector (C,) if it is finite and, as `shape`, depends on axis 1 only; else None."""
    value = np.asarray(node.value)
    if len(shape) < 2 or value.ndim > len(shape) or not is_finite(value):
        return None
    full = value.reshape((1,) * (len(shape) - value.ndim) + value.shape)
    if any(size != 1 for axis, size in enumerate(full.shape) if axis != 1):
        return None
    return np.broadcast_to(full.reshape(-1), (shape[1],))


def per_channel(vector: Array, rank: int, name: str) -> Node:
    """Return the constant that, broadcast, applies `vector` (C,) along axis 1."""
    return constant(vector.astype(np.float32).reshape(1, -1, *(1,) * (rank - 2)), name)


def scaled_layer(layer: Node, bias: Array | None, scale: Array, shift: Array | None, name: str) -> Node:
    """Return ``(layer + bias) * scale + shift`` with the scale folded into the constant weight of `layer`.

    `bias`, `scale` and `shift` are vectors (C,); None is zero. The sum that is added gets the layer name `name`.
    """
    data, weight = layer.inputs
    scale = scale.astype(np.float64)
    scaled = constant(_scale_filters(layer, np.asarray(weight.value), scale), weight.name)
    result = Node(layer.op, (data, scaled), layer.attrs, layer.type, layer.name)
    if bias is None and shift is None:
        return result
    offset = np.zeros(scale.shape) if bias is None else bias * scale
    total = offset if shift is None else offset + shift
    return call(ops.BIAS_ADD, [result, constant(total.astype(np.float32), name)], name)


def _scale_filters(layer: Node, weight: Array, scale: Array) -> Array:
    if layer.op == ops.CONV2D_TRANSPOSE:
        groups = attrs_of(layer, Conv2DTransposeAttributes).groups
        split = weight.reshape(groups, -1, *weight.shape[1:])
        scaled = split * scale.reshape(groups, 1, -1, 1, 1)
        return scaled.reshape(weight.shape).astype(weight.dtype)
    return np.asarray(weight * scale.reshape(-1, *(1,) * (weight.ndim - 1))).astype(weight.dtype)
