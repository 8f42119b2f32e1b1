"""Parts of a tensor: slices, splits, and elements picked by index."""

from __future__ import annotations

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._layers import sliced
from vta.frontend.tflite.operation import Converter, Operation
from vta.ir import names as ops
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]

_Range = tuple[int | None, int | None, int | None]
"""Begin, end and step, with Python's meaning."""


def _part(node: Operation, data: Node, ranges: dict[int, _Range]) -> Node:
    """Slice axes of the file."""
    rank = len(data.shape)
    return sliced(node.apply, data, {node.graph_axis(axis, rank): bounds for axis, bounds in ranges.items()})


def _slice(node: Operation) -> Node:
    data, begin, size = node.input(), node.numbers(1, "begin"), node.numbers(2, "size")
    if not len(begin) == len(size) == len(data.shape):
        raise ImportModelError(f"begin {begin} and size {size} must have {len(data.shape)} values")
    ends = (None if count == -1 else at + count for at, count in zip(begin, size, strict=True))
    return _part(node, data, {axis: (at, end, 1) for axis, (at, end) in enumerate(zip(begin, ends, strict=True))})


def _strided_slice(node: Operation) -> Node:
    """Each place of begin, end and step belongs to an axis, adds one of size 1, or stands for all axes that are left."""
    data = node.input()
    shape = node.tensor().shape
    begin, end, step = (node.numbers(index, what) for index, what in ((1, "begin"), (2, "end"), (3, "steps")))
    masks = {name: node.option(f"{name}Mask") for name in ("Begin", "End", "Ellipsis", "NewAxis", "ShrinkAxis")}
    ranges: dict[int, _Range] = {}
    kept: list[int] = []
    axis = 0
    for place in range(len(begin)):
        has = {name: bool(mask >> place & 1) for name, mask in masks.items()}
        if has["Ellipsis"]:
            added = sum(masks["NewAxis"] >> later & 1 for later in range(place + 1, len(begin)))
            left = len(shape) - axis - (len(begin) - place - 1 - added)
            kept += shape[axis : axis + left]
            axis += left
        elif has["NewAxis"]:
            kept.append(1)
        elif axis >= len(shape):
            raise ImportModelError(f"{len(begin)} ranges for {len(shape)} dimensions")
        else:
            ranges[axis] = bounds = _bounds(begin[place], end[place], step[place], has, node, shape[axis])
            kept += [] if has["ShrinkAxis"] else [len(range(*slice(*bounds).indices(shape[axis])))]
            axis += 1
    part = _part(node, data, ranges)
    wanted = (*kept, *shape[axis:])
    return part if wanted == node.in_file_layout(part).shape else node.reshaped(part, wanted)


def _bounds(begin: int, end: int, step: int, has: dict[str, bool], node: Operation, size: int) -> _Range:
    if step == 0:
        raise ImportModelError("a step is 0")
    if has["ShrinkAxis"]:
        at = begin % size if -size <= begin < size else 0
        return at, at + 1, 1
    if node.option("Offset"):
        end += begin
    return None if has["Begin"] else begin, None if has["End"] else end, step


def _split(node: Operation) -> tuple[Node, ...]:
    """Inputs: the axis, and data."""
    data, (axis,), count = node.input(1), node.numbers(0, "the axis"), len(node.record.outputs)
    size = node.tensor(1).shape[axis]
    if size % count:
        raise ImportModelError(f"dimension {size} cannot be split into {count} parts")
    return _parts(node, data, axis, (size // count,) * count)


def _split_v(node: Operation) -> tuple[Node, ...]:
    """Inputs: data, the sizes of the parts, of which one may be -1, and the axis."""
    data, sizes, (axis,) = node.input(0), node.numbers(1, "the sizes"), node.numbers(2, "the axis")
    whole = node.tensor().shape[axis]
    rest = whole - sum(size for size in sizes if size >= 0)
    sizes = tuple(rest if size == -1 else size for size in sizes)
    if sum(sizes) != whole or min(sizes) < 0:
        raise ImportModelError(f"dimension {whole} cannot be split into parts of {sizes}")
    return _parts(node, data, axis, sizes)


def _parts(node: Operation, data: Node, axis: int, sizes: tuple[int, ...]) -> tuple[Node, ...]:
    ends = [sum(sizes[: index + 1]) for index in range(len(sizes))]
    return tuple(_part(node, data, {axis: (end - size, end, 1)}) for end, size in zip(ends, sizes, strict=True))


def _unpack(node: Operation) -> tuple[Node, ...]:
    data, shape = node.input(), node.tensor().shape
    axis = node.option("Axis") % max(1, len(shape))
    rest = (*shape[:axis], *shape[axis + 1 :])
    return tuple(node.reshaped(part, rest) for part in _parts(node, data, axis, (1,) * shape[axis]))


def _reverse(node: Operation) -> Node:
    return _part(node, node.input(), dict.fromkeys(node.numbers(1, "the axes"), (None, None, -1)))


def _gather(node: Operation) -> Node:
    if node.option("BatchDims"):
        raise UnsupportedNodeError(f"batch_dims {node.option('BatchDims')}")
    return _taken(node, node.input(0), node.input(1), node.option("Axis"))


def _embedding(node: Operation) -> Node:
    """Inputs: indices, and a table."""
    return _taken(node, node.input(1), node.input(0), 0)


def _taken(node: Operation, data: Node, indices: Node, axis: int) -> Node:
    rank = len(data.shape)
    size = data.shape[node.graph_axis(axis, rank)]
    found = indices.value
    if found is not None and found.size and not (found.min() >= 0 and found.max() < size):
        raise ImportModelError(f"indices must be in 0..{size - 1}")
    indices = node.in_file_layout(indices)
    if rank == 4 and len(indices.shape) == 1:
        return node.apply(ops.TAKE, data, indices, axis=node.graph_axis(axis, rank))
    return node.from_file_layout(node.apply(ops.TAKE, node.in_file_layout(data), indices, axis=axis % rank))


CONVERTERS: dict[str, Converter] = {
    "SLICE": _slice,
    "STRIDED_SLICE": _strided_slice,
    "SPLIT": _split,
    "SPLIT_V": _split_v,
    "UNPACK": _unpack,
    "REVERSE_V2": _reverse,
    "GATHER": _gather,
    "EMBEDDING_LOOKUP": _embedding,
}
