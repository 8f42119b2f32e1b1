"""What the results of a layer lose on average because its weights are rounded: biases make up for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.arithmetic.fixed_point import per_channel
from vta.ir.graph import Node
from vta.ir.ops.nn.conv import Conv2DAttributes, Conv2DTransposeAttributes
from vta.ir.ops.quantized.qnn import base_attributes

__all__ = ["mean_loss"]

Array = NDArray[Any]


def mean_loss(product: Node, weight: Array, rounded: Array, scales: Array, means: Array) -> Array:
    """Return what each output channel of a convolution or dense layer loses on average, (C,).

    Its weights, real numbers with the output channel first, became the integers `rounded` at the scale of each channel; `means`
    are those of the channels of its input, real numbers too. Padding is zero.
    """
    lost = weight - rounded * per_channel(scales, weight.ndim, 0)
    transposed = product.op.endswith("conv2d_transpose")
    if product.op.endswith("conv2d"):
        lost = lost * _coverage(product)
    lost = lost.reshape(*lost.shape[:2], -1).sum(axis=2)
    if transposed:
        # An output meets the weights of its phase only: this is the mean of the phases.
        lost = lost / np.prod(base_attributes(Conv2DTransposeAttributes, product.attrs).strides)
    outputs, inputs = lost.shape
    groups = means.reshape(-1, inputs)
    return np.asarray((lost * np.repeat(groups, outputs // len(groups), axis=0)).sum(axis=1))


def _coverage(convolution: Node) -> Array:
    """The share of output positions for which each kernel position (KH, KW) meets data, not padding."""
    attrs = base_attributes(Conv2DAttributes, convolution.attrs)
    data, kernel = convolution.inputs[0].shape, convolution.inputs[1].shape
    shares = []
    for axis in (0, 1):
        starts = np.arange(convolution.shape[2 + axis]) * attrs.strides[axis] - attrs.padding[axis]
        places = starts[:, None] + np.arange(kernel[2 + axis]) * attrs.dilation[axis]
        shares.append(((places >= 0) & (places < data[2 + axis])).mean(axis=0))
    return np.outer(*shares)
