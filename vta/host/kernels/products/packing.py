"""Weights laid out for kernels, and groups of convolutions joined so that they fill vectors."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "by_lanes",
    "by_rows_of_bytes",
    "byte_parts",
    "bytes_by_fours",
    "channel_rows",
    "empty_in_lines",
    "in_lines",
    "joined_groups",
]

Array = NDArray[Any]
_MOST_PARTS = 4
_LINE_BYTES = 64
"""Of the caches: a vector that lies in two of them takes two loads."""


def empty_in_lines(shape: Sequence[int], dtype: str) -> Array:
    """A new array, row by row, that begins where a line of the cache does."""
    nbytes = prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(nbytes + _LINE_BYTES, np.uint8)
    start = -int(memory.__array_interface__["data"][0]) % _LINE_BYTES
    return memory[start : start + nbytes].view(dtype).reshape(shape)


def in_lines(values: Array) -> Array:
    """A copy of an array, row by row, that begins where a line of the cache does."""
    copy = empty_in_lines(values.shape, values.dtype.name)
    copy[...] = values
    return copy


def byte_parts(weight: Array) -> list[Array]:
    """int8 arrays of which integer weights are the sum, as few as there can be; none if these are many."""
    if not weight.size:
        return []
    low, high = int(weight.min()), int(weight.max())
    count = max(1, -(-high // 127), -(low // 128))
    wide = weight.astype(np.int32)
    return [((wide + part) // count).astype(np.int8) for part in range(count)] if count <= _MOST_PARTS else []


def joined_groups(weight: Array, groups: int, lanes: int) -> tuple[Array, int]:
    """Weights (O, C/groups, KH, KW) and groups of the same convolution, whose groups have whole vectors of outputs.

    Groups are joined by zeros; in the end there may be one.
    """
    outputs = len(weight) // groups
    join = lanes // gcd(outputs, lanes)
    if groups == 1 or join == 1:
        return weight, groups
    if groups % join:
        join = groups
    inputs = weight.shape[1]
    joined = np.zeros((len(weight), inputs * join, *weight.shape[2:]), weight.dtype)
    for group in range(groups):
        rows = slice(group * outputs, (group + 1) * outputs)
        start = group % join * inputs
        joined[rows, start : start + inputs] = weight[rows]
    return joined, groups // join


def by_lanes(weight: Array, lanes: int, block: int) -> Array:
    """Weights (O, I, KH, KW) as blocks of outputs, blocks of inputs, kernel, input, output."""
    outputs, inputs = -(-len(weight) // lanes), -(-weight.shape[1] // block)
    full = np.zeros((outputs * lanes, inputs * block, *weight.shape[2:]), weight.dtype)
    full[: len(weight), : weight.shape[1]] = weight
    parted = full.reshape(outputs, lanes, inputs, block, *weight.shape[2:])
    return in_lines(parted.transpose(0, 2, 4, 5, 3, 1))


def bytes_by_fours(parts: Sequence[Array], lanes: int, block: int) -> Array:
    """Parts of weights with inputs by fours inside: blocks of outputs, blocks of inputs, kernel, fours, part, output, input."""
    packed = np.stack([by_lanes(part, lanes, block) for part in parts], axis=4)
    outputs, inputs, high, wide, count = packed.shape[:5]
    fours = packed.reshape(outputs, inputs, high, wide, count, block // 4, 4, lanes)
    return in_lines(fours.transpose(0, 1, 2, 3, 5, 4, 7, 6))


def by_rows_of_bytes(parts: Sequence[Array], lanes: int) -> Array:
    """Parts of weights (M, K) of a dense layer as blocks of outputs, fours of inputs, part, output, input."""
    depth = -(-parts[0].shape[1] // 4) * 4
    return bytes_by_fours([part[:, :, None, None] for part in parts], lanes, depth)[:, 0, 0, 0]


def channel_rows(values: Array, lanes: int) -> Array:
    """Values (C,) or (C, KH, KW) of channels as blocks, kernel, channel."""
    full = np.zeros((-(-len(values) // lanes) * lanes, *values.shape[1:]), values.dtype)
    full[: len(values)] = values
    return in_lines(np.moveaxis(full.reshape(-1, lanes, *values.shape[1:]), 1, -1))
