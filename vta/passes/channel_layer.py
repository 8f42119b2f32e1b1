"""Products of real numbers together with the arithmetic that follows them, channel by channel: biases, batch normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of, constant
from vta.ir.interpreter import constant_value
from vta.ir.ops.nn.norm import AxisAttributes, BatchNormAttributes
from vta.support.dataclass import dataclass

__all__ = ["PRODUCTS", "ChannelLayer", "channel_axis", "channel_layer"]

Array = NDArray[Any]

PRODUCTS = (ops.CONV2D, ops.CONV2D_TRANSPOSE, ops.DENSE, ops.MATMUL)

_FIRST_IS_DATA = (ops.BIAS_ADD, ops.BATCH_NORM, ops.SUBTRACT, ops.DIVIDE)
_EITHER_IS_DATA = (ops.ADD, ops.MULTIPLY)


@dataclass(frozen=True)
class ChannelLayer:
    """The value ``product * factor + bias``."""

    product: Node
    factor: Array | None
    """For each output channel, float64; None for 1."""
    bias: Node | None
    """A constant, or what depends on constants only, of one value or one for each output channel."""


def channel_axis(product: Node) -> int:
    """Return the axis of the output channels of a product."""
    return 1 if "conv2d" in product.op else len(product.shape) - 1


def channel_layer(value: Node) -> ChannelLayer | None:
    """Return the product below `value` with what follows it; None where that differs between the places of a channel."""
    steps: list[Node] = []
    while value.op not in PRODUCTS:
        inner = _data_of(value)
        if inner is None or inner.shape != value.shape:
            return None
        steps.append(value)
        value = inner
    product, axis = value, channel_axis(value)
    if not steps:
        return ChannelLayer(product, None, None)
    channels = product.shape[axis]
    factor, term = np.ones(channels), np.zeros(channels)
    for step in steps:
        found = _step(step, axis, channels)
        if found is None:
            return None
        factor, term = factor * found[0], term + factor * found[1]
    if len(steps) == 1 and steps[0].op in (ops.BIAS_ADD, ops.ADD):
        # As it is: its integers may be at the scale of the products.
        return ChannelLayer(product, None, _parameter(steps[0]))
    bias = constant(term.astype(np.float32), steps[0].name) if term.any() else None
    return ChannelLayer(product, None if (factor == 1).all() else factor, bias)


def _data_of(node: Node) -> Node | None:
    """The input of a step that is no parameter."""
    if node.op in _FIRST_IS_DATA:
        return node.inputs[0]
    if node.op in _EITHER_IS_DATA:
        return next((node.inputs[1 - at] for at in (1, 0) if constant_value(node.inputs[at]) is not None), None)
    return None


def _parameter(node: Node) -> Node:
    return next(source for source in node.inputs if source is not _data_of(node))


def _step(node: Node, axis: int, channels: int) -> tuple[Array, Array] | None:
    """What a step multiplies each channel by, and what it then adds; float64."""
    one, zero = np.ones(channels), np.zeros(channels)
    if node.op == ops.BATCH_NORM:
        return _normalization(node) if attrs_of(node, BatchNormAttributes).axis % len(node.shape) == axis else None
    value = constant_value(_parameter(node))
    if value is None:
        return None
    if node.op == ops.BIAS_ADD:
        return (one, value.astype(np.float64)) if attrs_of(node, AxisAttributes).axis % len(node.shape) == axis else None
    padded = (1,) * (len(node.shape) - value.ndim) + value.shape
    if any(dim != 1 and at != axis for at, dim in enumerate(padded)):
        return None
    vector = np.broadcast_to(value.reshape(-1).astype(np.float64), (channels,))
    with np.errstate(all="ignore"):
        ways = {
            ops.ADD: (one, vector),
            ops.SUBTRACT: (one, -vector),
            ops.MULTIPLY: (vector, zero),
            ops.DIVIDE: (1 / vector, zero),
        }
    return ways[node.op]


def _normalization(node: Node) -> tuple[Array, Array] | None:
    vectors = [constant_value(source) for source in node.inputs[1:]]
    gamma, beta, mean, variance = (None if vector is None else vector.astype(np.float64) for vector in vectors)
    if gamma is None or beta is None or mean is None or variance is None:
        return None
    with np.errstate(all="ignore"):
        factor = gamma / np.sqrt(variance + attrs_of(node, BatchNormAttributes).epsilon)
    return factor, beta - mean * factor
