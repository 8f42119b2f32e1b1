"""What nodes give on calibration data: convolutions of floats by native code, all else by the references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.interpreter import evaluate_node
from vta.ir.ops.nn.conv import Conv2DAttributes
from vta.native import ffi, lib

__all__ = ["convolution_of", "convolved", "floats_of", "value_of"]

Array = NDArray[Any]

_SMALL_PRODUCT = 1_000_000
_LANES, _HALF_OF_THEM = 16, 8


def value_of(node: Node, inputs: list[Array]) -> Array:
    """The value of one call for the values of its inputs, as `vta.ir.interpreter.evaluate_node` gives it.

    A convolution of floats adds its products in an order of its own, whatever the processor: that of the reference where the
    linear algebra library adds them one by one, so that both give the same bits there. Raises `GraphError` naming the layer.
    """
    convolve = convolution_of(node)
    if convolve is None:
        return evaluate_node(node, inputs)
    found = convolved(node, convolve, *inputs)
    assert found is not None, "nothing follows that could be infinite before"
    return found


def convolution_of(node: Node) -> Callable[..., int] | None:
    """The native function that computes a convolution of floats; None where there is none, or its reference gives other bits."""
    attrs = node.attrs
    if node.op != ops.CONV2D or node.dtype != "float32" or not isinstance(attrs, Conv2DAttributes):
        return None
    outputs, channels, *kernel = node.inputs[1].shape
    if channels == 1 and outputs == attrs.groups:
        return cast(Callable[..., int], lib.vta_convolve_channels)
    values, positions = channels * kernel[0] * kernel[1], node.shape[2] * node.shape[3]
    return cast(Callable[..., int], lib.vta_convolve) if _is_one_by_one(outputs // attrs.groups, values, positions) else None


def _is_one_by_one(outputs: int, values: int, positions: int) -> bool:
    """Whether the library adds the products of a matrix (outputs, values) with one (values, positions) one after the other.

    It has ways of its own for vectors, and for what is left of small matrices beside whole vectors of the processor.
    """
    if min(outputs, values, positions) == 1:
        return False
    left = positions % _LANES
    return outputs * values * positions > _SMALL_PRODUCT or left == 0 or left >= _HALF_OF_THEM


def convolved(node: Node, convolve: Callable[..., int], data: Array, weight: Array, epilogue: Any = ffi.NULL) -> Array | None:
    """What a native function gives for a convolution of so many images, and what follows; None if a sum is not finite before.

    Raises `MemoryError` naming the layer.
    """
    attrs = attrs_of(node, Conv2DAttributes)
    found = ffi.new("vta_convolution *", {"groups": attrs.groups})
    found.images, found.height, found.width = len(data), *data.shape[2:]
    found.outputs, found.channels = len(weight) // attrs.groups, weight.shape[1]
    found.kernel_height, found.kernel_width = weight.shape[2:]
    found.stride_height, found.stride_width = attrs.strides
    found.dilation_height, found.dilation_width = attrs.dilation
    found.top, found.left, found.bottom, found.right = attrs.padding
    found.out_height, found.out_width = node.shape[2:]
    out = np.empty(node.shape, np.float32)
    done = convolve(found, floats_of(data), floats_of(weight), epilogue, ffi.from_buffer("float[]", out))
    if done == lib.VTA_FAILED:
        raise MemoryError(f"layer {node.name!r}: no memory to convolve {len(data)} images")
    return out if done == lib.VTA_DONE else None


def floats_of(array: Array) -> Any:
    """The values of an array for native code, which hold the memory that they are in."""
    return ffi.from_buffer("float[]", np.ascontiguousarray(array))
