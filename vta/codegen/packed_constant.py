"""Constants of a graph that a program holds as blocks of weights: where these lie, and how the constant is made of them again."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.support.dataclass import dataclass
from vta.support.on_cores import on_cores
from vta.tile.packing import weight_blocks

__all__ = ["BOX_FIELDS", "PackedConstant", "Place", "packed_constant", "unpacked"]

BOX_FIELDS = 9
"""Of a box: its first byte in the image; then the first block and the number of blocks along each of CO, CI, KH and KW."""

Place = tuple[NDArray[Any], int]
"""What an image holds from a byte on."""


@dataclass(frozen=True, eq=False)
class PackedConstant:
    """A constant all of whose values an image holds."""

    value: NDArray[np.int8]
    """The constant of the graph."""
    image: NDArray[np.uint8]
    """The very one that holds it: in a copy values may be others."""
    blocks: tuple[int, ...]
    """The constant as blocks: shape (CO, CI, KH, KW, c, c)."""
    boxes: NDArray[np.int64]
    """Shape (n, `BOX_FIELDS`): boxes of blocks that together are the constant; each lies in the image in one piece."""


def packed_constant(
    value: NDArray[np.int8], weights: NDArray[np.int8], places: Iterable[Place], image: NDArray[np.uint8]
) -> PackedConstant | None:
    """Say where an image holds the constant `value`; None if it does not hold all of it, or some of it twice.

    `weights` are the blocks that it became. Those `places` count that are views of these, where these are a view of the constant.
    """
    if weights.ndim != 6 or weights.size != value.size or not value.flags.c_contiguous or not np.may_share_memory(weights, value):
        return None
    start, end = _address(value), _address(value) + value.nbytes
    views = ((data, at) for data, at in places if data.base is weights.base and data.ndim == 6)
    boxes = [_box(data, at, weights) for data, at in views if start <= _address(data) < end]
    held = np.zeros(weights.shape[:4], np.int64)
    for _, *box in boxes:
        held[_slices(box)] += 1
    if (held != 1).any():
        return None
    return PackedConstant(value, image, weights.shape, np.array(boxes, np.int64))


def unpacked(
    image: NDArray[np.uint8], shape: tuple[int, ...], blocks: tuple[int, ...], boxes: NDArray[np.int64]
) -> NDArray[np.int8]:
    """The constant of `shape` that an image holds, read-only. Raises `ValueError` if there cannot be such a constant."""
    if len(blocks) != 6 or blocks[4] != blocks[5] or min(*blocks, *shape) < 1 or not prod(shape) == prod(blocks) <= image.size:
        raise ValueError(f"blocks of shape {blocks} in an image of {image.size} bytes are no constant of shape {shape}")
    firsts, counts = boxes[:, 1::2], boxes[:, 2::2]
    sizes = counts.prod(axis=1) * blocks[4] * blocks[5]
    inside = (firsts >= 0) & (counts >= 1) & (counts <= blocks[:4]) & (firsts <= np.subtract(blocks[:4], counts))
    if not inside.all() or (boxes[:, 0] < 0).any() or (boxes[:, 0] > image.size - sizes).any() or sizes.sum() != prod(blocks):
        raise ValueError(f"{len(boxes)} boxes of an image of {image.size} bytes are no constant of shape {shape}")
    outer, inner, height, width, block, _ = blocks
    value = np.zeros(shape, np.int8)
    target = weight_blocks(value.reshape(outer * block, inner * block, height, width), block)
    source = image.view(np.int8)

    def take(number: int) -> None:
        at, *box = boxes[number].tolist()
        place = target[_slices(box)]
        place[...] = source[at : at + place.size].reshape(place.shape)

    on_cores(take, range(len(boxes)))
    value.setflags(write=False)
    return value


def _box(data: NDArray[Any], at: int, weights: NDArray[np.int8]) -> list[int]:
    """The fields of what lies at byte `at`, a view of `weights`."""
    box, left = [at], _address(data) - _address(weights)
    for axis in range(4):
        first = left // weights.strides[axis] if weights.shape[axis] > 1 else 0
        box += [first, data.shape[axis]]
        left -= first * weights.strides[axis]
    return box


def _slices(box: list[int]) -> tuple[slice, ...]:
    return tuple(slice(first, first + count) for first, count in zip(box[::2], box[1::2], strict=True))


def _address(array: NDArray[Any]) -> int:
    """Of its first value."""
    return int(array.__array_interface__["data"][0])
