"""Operators that move values and change none."""

from __future__ import annotations

import math

import numpy as np

from vta.errors import ImportModelError
from vta.frontend._layers import sliced, tiled
from vta.frontend.tflite.converters._fused import activated, same_quantization
from vta.frontend.tflite.operation import Converter, Operation, is_quantized, quantization_of
from vta.frontend.tflite.schema import schema
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _reshape(node: Operation) -> Node:
    """The output's shape is in the file, whatever the second input and the options say."""
    data, shape = node.input(), node.output().shape
    if math.prod(shape) != math.prod(data.shape):
        raise ImportModelError(f"cannot reshape {data.shape} to {shape}")
    return node.from_file_layout(node.apply(ops.RESHAPE, node.in_file_layout(data), newshape=shape))


def _transpose(node: Operation) -> Node:
    data = node.in_file_layout(node.input())
    axes = tuple(axis % max(1, len(data.shape)) for axis in node.numbers(1, "axes"))
    return node.from_file_layout(node.apply(ops.TRANSPOSE, data, axes=axes))


def _pad(node: Operation) -> Node:
    data = node.input()
    widths = node.array(1, "widths")
    if widths.shape != (len(data.shape), 2):
        raise ImportModelError(f"widths have shape {widths.shape}; expected ({len(data.shape)}, 2)")
    pairs = [(int(before), int(after)) for before, after in widths]
    if len(pairs) == 4:
        pairs = [pairs[0], pairs[3], pairs[1], pairs[2]]
    value: float = quantization_of(node.output()).zero_point if same_quantization(node) else 0
    if node.has(2):
        given = node.array(2, "the padding value")
        value = given.reshape(-1)[0].item() - (128 if given.dtype == "uint8" else 0)
    return node.apply(ops.PAD, data, pad_width=tuple(pairs), pad_value=value)


def _concatenation(node: Operation) -> Node:
    rank = len(node.output().shape)
    axis = node.graph_axis(node.option("Axis"), rank)
    parts = [_at_output_scale(node, index) for index in range(node.arity)]
    joined = node.apply(ops.CONCATENATE, *parts, axis=axis)
    return joined if is_quantized(node.output()) else activated(node, joined)


def _at_output_scale(node: Operation, index: int) -> Node:
    data = node.input(index)
    if not is_quantized(node.output()):
        return data
    source, to = quantization_of(node.tensor(index)), quantization_of(node.output())
    if source == to:
        return data
    return node.apply(
        ops.QNN_REQUANTIZE,
        data,
        input_scale=source.scale,
        input_zero_point=source.zero_point,
        output_scale=to.scale,
        output_zero_point=to.zero_point,
        rounding="tflite",
    )


def _pack(node: Operation) -> Node:
    shape = node.output().shape
    axis = node.option("Axis") % max(1, len(shape))
    parts = [node.reshaped(node.input(index), (*shape[:axis], 1, *shape[axis + 1 :])) for index in range(node.arity)]
    return node.apply(ops.CONCATENATE, *parts, axis=node.graph_axis(axis, len(shape)))


def _tile(node: Operation) -> Node:
    data, repeats = node.input(), node.numbers(1, "the repeats")
    if len(repeats) != len(data.shape):
        raise ImportModelError(f"repeats must have {len(data.shape)} values, got {repeats}")
    return tiled(node.apply, data, node.in_graph_order(repeats))


def _broadcast_to(node: Operation) -> Node:
    data, shape = node.in_file_layout(node.input()), node.numbers(1, "the shape")
    return node.from_file_layout(node.apply(ops.BROADCAST_TO, data, shape=shape))


def _mirror_pad(node: Operation) -> Node:
    data, widths = node.input(), node.array(1, "widths")
    if widths.shape != (len(data.shape), 2):
        raise ImportModelError(f"widths have shape {widths.shape}; expected ({len(data.shape)}, 2)")
    mode = "symmetric" if node.option("Mode") == schema("MirrorPadMode").SYMMETRIC else "reflect"
    pairs = node.in_graph_order([(int(before), int(after)) for before, after in widths])
    for axis, pair in enumerate(pairs):
        if pair != (0, 0):
            source = np.pad(np.arange(data.shape[axis]), pair, mode)  # type: ignore[call-overload]
            data = node.apply(ops.TAKE, data, node.constant(source), axis=axis)
    return data


def _depth_to_space(node: Operation) -> Node:
    """The blocks of the channels, rows before columns before what stays."""
    data, block = node.input(), node.option("BlockSize")
    batch, channels, height, width = data.shape
    depth = channels // (block * block)
    split = node.apply(ops.RESHAPE, data, newshape=(batch, block, block, depth, height, width))
    moved = node.apply(ops.TRANSPOSE, split, axes=(0, 3, 4, 1, 5, 2))
    return node.apply(ops.RESHAPE, moved, newshape=(batch, depth, height * block, width * block))


def _space_to_depth(node: Operation) -> Node:
    data, block = node.input(), node.option("BlockSize")
    batch, channels, height, width = data.shape
    split = node.apply(ops.RESHAPE, data, newshape=(batch, channels, height // block, block, width // block, block))
    moved = node.apply(ops.TRANSPOSE, split, axes=(0, 3, 5, 1, 2, 4))
    return node.apply(ops.RESHAPE, moved, newshape=(batch, channels * block * block, height // block, width // block))


def _space_to_batch(node: Operation) -> Node:
    """Inputs: data, the size of blocks, and the padding before and after each blocked axis."""
    data, blocks, widths = node.in_file_layout(node.input()), node.numbers(1, "the blocks"), node.array(2, "widths")
    rest = len(data.shape) - 1 - len(blocks)
    fill = quantization_of(node.output()).zero_point if is_quantized(node.output()) else 0
    pairs = ((0, 0), *((int(before), int(after)) for before, after in widths), *((0, 0),) * rest)
    padded = node.apply(ops.PAD, data, pad_width=pairs, pad_value=fill)
    batch, *sizes = padded.shape
    spatial, tail = sizes[: len(blocks)], tuple(sizes[len(blocks) :])
    pieces = tuple(n for size, block in zip(spatial, blocks, strict=True) for n in (size // block, block))
    split = node.apply(ops.RESHAPE, padded, newshape=(batch, *pieces, *tail))
    inner, outer = range(2, 2 * len(blocks) + 1, 2), range(1, 2 * len(blocks), 2)
    axes = (*inner, 0, *outer, *range(2 * len(blocks) + 1, len(split.shape)))
    moved = node.apply(ops.TRANSPOSE, split, axes=axes)
    return node.from_file_layout(node.apply(ops.RESHAPE, moved, newshape=node.output().shape))


def _batch_to_space(node: Operation) -> Node:
    """Inputs: data, the size of blocks, and what is cut off before and after each blocked axis."""
    data, blocks, cuts = node.in_file_layout(node.input()), node.numbers(1, "the blocks"), node.array(2, "the cuts")
    count = len(blocks)
    batch, *sizes = data.shape
    spatial, tail = sizes[:count], tuple(sizes[count:])
    split = node.apply(ops.RESHAPE, data, newshape=(*blocks, batch // math.prod(blocks), *sizes))
    pairs = tuple(n for index in range(count) for n in (count + 1 + index, index))
    moved = node.apply(ops.TRANSPOSE, split, axes=(count, *pairs, *range(2 * count + 1, len(split.shape))))
    whole = [size * block for size, block in zip(spatial, blocks, strict=True)]
    joined = node.apply(ops.RESHAPE, moved, newshape=(batch // math.prod(blocks), *whole, *tail))
    ranges = {1 + index: (int(cut[0]), whole[index] - int(cut[1]), 1) for index, cut in enumerate(cuts)}
    return node.from_file_layout(sliced(node.apply, joined, ranges))


def _shape(node: Operation) -> Node:
    return node.constant(np.asarray(node.tensor().shape, node.output().dtype))


def _rank(node: Operation) -> Node:
    return node.constant(np.asarray(len(node.tensor().shape), node.output().dtype))


def _fill(node: Operation) -> Node:
    shape = node.numbers(0, "the shape")
    return node.from_file_layout(node.apply(ops.BROADCAST_TO, node.input(1), shape=shape))


def _zeros_like(node: Operation) -> Node:
    return node.constant(np.zeros(node.input().shape, node.input().dtype))


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _reshape),
    "TRANSPOSE": _transpose,
    "PAD": _pad,
    "PADV2": _pad,
    "CONCATENATION": _concatenation,
    "PACK": _pack,
    "TILE": _tile,
    "BROADCAST_TO": _broadcast_to,
    "MIRROR_PAD": _mirror_pad,
    "DEPTH_TO_SPACE": _depth_to_space,
    "SPACE_TO_DEPTH": _space_to_depth,
    "SPACE_TO_BATCH_ND": _space_to_batch,
    "BATCH_TO_SPACE_ND": _batch_to_space,
    "DENSIFY": lambda node: node.input(),
    "SHAPE": _shape,
    "RANK": _rank,
    "FILL": _fill,
    "ZEROS_LIKE": _zeros_like,
}
