"""Operators that move values and change none."""

from __future__ import annotations

import math

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.tflite.converters._fused import activated, same_quantisation
from vta.frontend.tflite.operation import Converter, Operation, is_quantised, quantisation_of
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _reshape(node: Operation) -> Node:
    """The output's shape is in the file, whatever the second input and the options say."""
    data, shape = node.input(), node.output().shape
    if math.prod(shape) != math.prod(data.shape):
        raise ImportModelError(f"cannot reshape {data.shape} to {shape}")
    return node.from_file_layout(node.apply("reshape", node.in_file_layout(data), newshape=shape))


def _transpose(node: Operation) -> Node:
    data = node.in_file_layout(node.input())
    axes = tuple(axis % max(1, len(data.shape)) for axis in node.numbers(1, "axes"))
    return node.from_file_layout(node.apply("transpose", data, axes=axes))


def _pad(node: Operation) -> Node:
    data = node.input()
    widths = node.array(1, "widths")
    if widths.shape != (len(data.shape), 2):
        raise ImportModelError(f"widths have shape {widths.shape}; expected ({len(data.shape)}, 2)")
    pairs = [(int(before), int(after)) for before, after in widths]
    if len(pairs) == 4:
        pairs = [pairs[0], pairs[3], pairs[1], pairs[2]]
    value: float = quantisation_of(node.output()).zero_point if same_quantisation(node) else 0
    if node.has(2):
        given = node.array(2, "the padding value")
        value = given.reshape(-1)[0].item() - (128 if given.dtype == "uint8" else 0)
    return node.apply("nn.pad", data, pad_width=tuple(pairs), pad_value=value)


def _concatenation(node: Operation) -> Node:
    rank = len(node.output().shape)
    axis = node.graph_axis(node.option("Axis"), rank)
    parts = [_at_output_scale(node, index) for index in range(node.arity)]
    joined = node.apply("concatenate", *parts, axis=axis)
    return joined if is_quantised(node.output()) else activated(node, joined)


def _at_output_scale(node: Operation, index: int) -> Node:
    data = node.input(index)
    if not is_quantised(node.output()):
        return data
    source, to = quantisation_of(node.tensor(index)), quantisation_of(node.output())
    if source == to:
        return data
    return node.apply(
        "qnn.requantize",
        data,
        input_scale=source.scale,
        input_zero_point=source.zero_point,
        output_scale=to.scale,
        output_zero_point=to.zero_point,
        rounding="tflite",
    )


def _slice(node: Operation) -> Node:
    data = node.in_file_layout(node.input())
    begin, size = node.numbers(1, "begin"), node.numbers(2, "size")
    ends = tuple(dim if count == -1 else at + count for at, count, dim in zip(begin, size, data.shape, strict=True))
    part = node.apply("strided_slice", data, begin=begin, end=ends, strides=(1,) * len(begin))
    return node.from_file_layout(part)


def _resize_nearest(node: Operation) -> Node:
    data, (height, width) = node.input(), node.numbers(1, "the size")
    if node.option("AlignCorners") or node.option("HalfPixelCenters"):
        raise UnsupportedNodeError("aligned corners and half-pixel centres cannot be imported")
    if len(data.shape) != 4 or height % data.shape[2] or width % data.shape[3]:
        raise UnsupportedNodeError(f"from {data.shape[2:]} to {height}x{width}, which is no whole multiple")
    return node.apply("nn.upsampling", data, scale_h=height // data.shape[2], scale_w=width // data.shape[3])


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _reshape),
    "TRANSPOSE": _transpose,
    "PAD": _pad,
    "PADV2": _pad,
    "CONCATENATION": _concatenation,
    "SLICE": _slice,
    "RESIZE_NEAREST_NEIGHBOR": _resize_nearest,
}
