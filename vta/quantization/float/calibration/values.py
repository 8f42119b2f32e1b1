"""What nodes give on calibration data: convolutions of floats by native code, all else by the references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Node
from vta.ir.interpreter import evaluate_node
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.native import ffi, lib

__all__ = ["value_of"]

Array = NDArray[Any]

_SMALL_PRODUCT = 1_000_000
_LANES, _HALF_OF_THEM = 16, 8


def value_of(node: Node, inputs: list[Array]) -> Array:
    """The value of one call for the values of its inputs, as `vta.ir.interpreter.evaluate_node` gives it.

    A convolution of floats adds its products in an order of its own, whatever the processor: that of the reference where the
    linear algebra library adds them one by one, so that both give the same bits there. Raises `GraphError` naming the layer.
    """
    attrs = node.attrs
    if node.op != ops.CONV2D or node.dtype != "float32" or not isinstance(attrs, Conv2DAttributes):
        return evaluate_node(node, inputs)
    outputs, channels, *kernel = node.inputs[1].shape
    if channels == 1 and outputs == attrs.groups:
        return _convolved(node, attrs, lib.vta_convolve_channels, *inputs)
    values, positions = channels * kernel[0] * kernel[1], node.shape[2] * node.shape[3]
    if not _is_one_by_one(outputs // attrs.groups, values, positions):
        return evaluate_node(node, inputs)
    return _convolved(node, attrs, lib.vta_convolve, *inputs)


def _is_one_by_one(outputs: int, values: int, positions: int) -> bool:
    """Whether the library adds the products of a matrix (outputs, values) with one (values, positions) one after the other.

    It has ways of its own for vectors, and for what is left of small matrices beside whole vectors of the processor.
    """
    if min(outputs, values, positions) == 1:
        return False
    left = positions % _LANES
    return outputs * values * positions > _SMALL_PRODUCT or left == 0 or left >= _HALF_OF_THEM


def _convolved(node: Node, attrs: Conv2DAttributes, convolve: Callable[..., int], data: Array, weight: Array) -> Array:
    found = ffi.new("vta_convolution *", {"groups": attrs.groups})
    found.images, found.height, found.width = len(data), *data.shape[2:]
    found.outputs, found.channels = len(weight) // attrs.groups, weight.shape[1]
    found.kernel_height, found.kernel_width = weight.shape[2:]
    found.stride_height, found.stride_width = attrs.strides
    found.dilation_height, found.dilation_width = attrs.dilation
    found.top, found.left, found.bottom, found.right = attrs.padding
    found.out_height, found.out_width = node.shape[2:]
    out = np.empty(node.shape, np.float32)
    given = [ffi.from_buffer("float[]", np.ascontiguousarray(array)) for array in (data, weight)]
    if convolve(found, *given, ffi.from_buffer("float[]", out)):
        raise MemoryError(f"layer {node.name!r}: no memory to convolve {len(data)} images")
    return out
