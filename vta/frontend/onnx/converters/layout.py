"""ONNX's operators that move values: reshape, transpose, concatenate, split, slice, gather, pad, tile."""

from __future__ import annotations

import math

import numpy as np

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import sliced, tiled
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]


def _reshape(node: Operation) -> Node:
    data = node.input()
    wanted = node.numbers(1, "the shape") if node.opset >= 5 else node.integers("shape")
    if wanted is None:
        raise ImportModelError("input 1, the shape, is missing")
    if 0 in wanted and node.integer("allowzero", 0):
        raise UnsupportedNodeError("allowzero with an empty dimension")
    return node.apply(ops.RESHAPE, data, newshape=wanted)


def _flatten(node: Operation) -> Node:
    data, axis = node.input(), node.integer("axis", 1)
    if axis % max(1, len(data.shape)) == 1:
        return node.apply(ops.BATCH_FLATTEN, data)
    lead = data.shape[:axis]
    return node.apply(ops.RESHAPE, data, newshape=(math.prod(lead), math.prod(data.shape[len(lead) :])))


def _transpose(node: Operation) -> Node:
    data = node.input()
    axes = node.integers("perm")
    return node.apply(ops.TRANSPOSE, data, axes=tuple(reversed(range(len(data.shape)))) if axes is None else axes)


def _squeeze(node: Operation) -> Node:
    data = node.input()
    axes = node.axes(len(data.shape), 1, 13)
    return node.apply(ops.SQUEEZE, data, axis=tuple(i for i, dim in enumerate(data.shape) if dim == 1) if axes is None else axes)


def _unsqueeze(node: Operation) -> Node:
    value = node.input()
    count = len((node.numbers(1, "axes") if node.opset >= 13 else node.integers("axes")) or ())
    for axis in sorted(node.axes(len(value.shape) + count, 1, 13) or ()):
        value = node.apply(ops.EXPAND_DIMS, value, axis=axis)
    return value


def _concat(node: Operation) -> Node:
    return node.apply(ops.CONCATENATE, *node.inputs(), axis=node.integer("axis", 1 if node.opset < 4 else None))


def _split(node: Operation) -> tuple[Node, ...]:
    data = node.input()
    axis = node.integer("axis", 0) % len(data.shape)
    size, count = data.shape[axis], len(node.proto.output)
    as_input = node.opset >= 13 or (node.opset < 2 and node.arity > 1)
    sizes = node.numbers(1, "the sizes") if as_input else node.integers("split")
    if sizes is None:
        chunk = -(-size // count)
        sizes = tuple(min(chunk, size - i * chunk) for i in range(count))
    if sum(sizes) != size or len(sizes) != count or min(sizes) < 0:
        raise ImportModelError(f"dimension {size} cannot be split into {count} parts of {sizes}")
    ends = [sum(sizes[: i + 1]) for i in range(count)]
    return tuple(sliced(node.apply, data, {axis: (end - part, end, 1)}) for end, part in zip(ends, sizes, strict=True))


def _slice(node: Operation) -> Node:
    data = node.input()
    if node.opset < 10:
        starts, ends, axes, steps = node.integers("starts"), node.integers("ends"), node.integers("axes"), None
    else:
        starts, ends, axes, steps = (node.numbers(i, "bounds of a slice") for i in (1, 2, 3, 4))
    if starts is None or ends is None:
        raise ImportModelError("starts or ends are missing")
    rank = len(data.shape)
    axes = axes if axes is not None else tuple(range(len(starts)))
    steps = steps if steps is not None else (1,) * len(starts)
    if any(not -rank <= axis < rank for axis in axes):
        raise ImportModelError(f"axes {axes} must be in {-rank}..{rank - 1}")
    bounds = zip(starts, ends, steps, strict=True)
    return sliced(node.apply, data, {axis % rank: bound for axis, bound in zip(axes, bounds, strict=True)})


def _gather(node: Operation) -> Node:
    data, indices = node.input(0), node.input(1)
    axis = node.integer("axis", 0)
    if indices.value is not None:
        size = data.shape[axis]
        if indices.value.size and not (-size <= indices.value.min() and indices.value.max() < size):
            raise ImportModelError(f"indices must be in {-size}..{size - 1}")
        indices = node.constant(indices.value % size)
    return node.apply(ops.TAKE, data, indices, axis=axis)


def _pad_widths(node: Operation, rank: int) -> tuple[tuple[int, int], ...]:
    """Padding before and after each axis: an attribute, since version 11 an input, since 18 of chosen axes."""
    pads = (node.numbers(1, "pads") if node.opset >= 11 else node.integers("pads" if node.opset >= 2 else "paddings")) or ()
    axes = node.axes(rank, 3, 18) if node.opset >= 18 else None
    axes = tuple(range(rank)) if axes is None else axes
    if len(pads) != 2 * len(axes):
        raise ImportModelError(f"pads must have {2 * len(axes)} values, got {pads}")
    widths = dict(zip(axes, zip(pads[: len(axes)], pads[len(axes) :], strict=True), strict=True))
    return tuple(widths.get(axis, (0, 0)) for axis in range(rank))


def _pad(node: Operation) -> Node:
    data = node.input()
    widths = _pad_widths(node, len(data.shape))
    if any(min(pair) < 0 for pair in widths):
        kept = [(max(0, -before), dim + min(0, after), 1) for (before, after), dim in zip(widths, data.shape, strict=True)]
        data = sliced(node.apply, data, dict(enumerate(kept)))
        widths = tuple((max(0, before), max(0, after)) for before, after in widths)
    mode = node.text("mode", "constant")
    if mode == "constant":
        given = node.array(2, "the value") if node.opset >= 11 else None
        value = node.number("value", 0.0) if given is None else given.item()
        return node.apply(ops.PAD, data, pad_width=widths, pad_value=value)
    if mode not in ("edge", "reflect", "wrap"):
        raise ImportModelError(f"mode {mode!r} is not known")
    for axis, pair in enumerate(widths):
        if pair != (0, 0):
            source = np.pad(np.arange(data.shape[axis]), pair, mode)  # type: ignore[call-overload]
            data = node.apply(ops.TAKE, data, node.constant(source), axis=axis)
    return data


def _expand(node: Operation) -> Node:
    data, wanted = node.input(), node.numbers(1, "the shape") or ()
    return node.apply(ops.BROADCAST_TO, data, shape=np.broadcast_shapes(data.shape, wanted))


def _tile(node: Operation) -> Node:
    data, repeats = node.input(), node.numbers(1, "repeats") or ()
    if node.opset < 6:
        along = (node.numbers(2, "the axis") or (0,))[0]
        repeats = tuple(repeats[0] if axis == along else 1 for axis in range(len(data.shape)))
    if len(repeats) != len(data.shape):
        raise ImportModelError(f"repeats must have {len(data.shape)} values, got {repeats}")
    return tiled(node.apply, data, repeats)


def _depth_to_space(node: Operation) -> Node:
    data, block = node.input(), node.integer("blocksize")
    batch, channels, height, width = data.shape
    depth = channels // (block * block)
    if node.text("mode", "DCR") == "DCR":
        split, axes = (batch, block, block, depth, height, width), (0, 3, 4, 1, 5, 2)
    else:
        split, axes = (batch, depth, block, block, height, width), (0, 1, 4, 2, 5, 3)
    moved = node.apply(ops.TRANSPOSE, node.apply(ops.RESHAPE, data, newshape=split), axes=axes)
    return node.apply(ops.RESHAPE, moved, newshape=(batch, depth, height * block, width * block))


def _space_to_depth(node: Operation) -> Node:
    data, block = node.input(), node.integer("blocksize")
    batch, channels, height, width = data.shape
    split = (batch, channels, height // block, block, width // block, block)
    axes = (0, 3, 5, 1, 2, 4) if node.text("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    moved = node.apply(ops.TRANSPOSE, node.apply(ops.RESHAPE, data, newshape=split), axes=axes)
    return node.apply(ops.RESHAPE, moved, newshape=(batch, channels * block * block, height // block, width // block))


CONVERTERS: dict[str, Converter] = {
    "Concat": _concat,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Pad": _pad,
    "Reshape": _reshape,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
