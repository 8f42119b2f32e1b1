"""What the results of a layer lose on average because its weights are rounded: biases make up for it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.graph import Node
from vta.ir.ops.nn.conv import Conv2DAttributes, Conv2DTransposeAttributes
from vta.ir.ops.quantized.qnn import base_attributes
from vta.native import ffi, lib

__all__ = ["mean_loss"]

Array = NDArray[Any]


def mean_loss(product: Node, weight: Array, rounded: Array, scales: Array, means: Array) -> Array:
    """Return what each output channel of a convolution or dense layer loses on average, (C,).

    Its weights, real numbers with the output channel first, became the integers `rounded` at the scale of each channel; `means`
    are those of the channels of its input, real numbers too. Padding is zero.
    """
    outputs, channels = weight.shape[:2]
    kernel = weight[0, 0]
    shares = np.ones(kernel.shape)
    if product.op.endswith("conv2d"):
        shares = _coverage(product)
    elif product.op.endswith("conv2d_transpose"):
        # An output meets the weights of its phase only: this is the mean of the phases.
        shares /= np.prod(base_attributes(Conv2DTransposeAttributes, product.attrs).strides)
    groups = means.size // channels
    met = means.reshape(groups, channels, *(1 for _ in kernel.shape)) * shares
    given = {"weights": weight, "scales": np.broadcast_to(scales, outputs), "means": met}
    values = {name: ffi.from_buffer("double[]", np.ascontiguousarray(array, np.float64)) for name, array in given.items()}
    values["rounded"] = ffi.from_buffer("int8_t[]", np.ascontiguousarray(rounded, np.int8))
    sizes = {"groups": groups, "outputs": outputs // groups, "values": channels * kernel.size}
    lost = np.empty(outputs)
    lib.vta_mean_losses(ffi.new("vta_rounded_weights *", {**values, **sizes}), ffi.from_buffer("double[]", lost))
    return lost


def _coverage(convolution: Node) -> Array:
    """The share of output positions for which each kernel position (KH, KW) meets data, not padding."""
    attrs = base_attributes(Conv2DAttributes, convolution.attrs)
    data, kernel = convolution.inputs[0].shape[2:], convolution.inputs[1].shape[2:]
    steps = zip(convolution.shape[2:], attrs.strides, attrs.padding, attrs.dilation, data, kernel, strict=False)
    down, across = (_shares(*axis) for axis in steps)
    return np.outer(down, across)


@lru_cache(maxsize=256)
def _shares(positions: int, stride: int, before: int, dilation: int, size: int, kernel: int) -> tuple[float, ...]:
    """The same along one axis."""
    places = np.arange(positions)[:, None] * stride - before + np.arange(kernel) * dilation
    return tuple(((places >= 0) & (places < size)).mean(axis=0).tolist())
