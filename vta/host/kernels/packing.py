"""Weights laid out for kernels, and groups of convolutions joined so that they fill vectors."""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["bytes_by_fours", "by_lanes", "by_rows_of_bytes", "channel_rows", "joined_groups"]

Array = NDArray[Any]


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
    return np.ascontiguousarray(parted.transpose(0, 2, 4, 5, 3, 1))


def bytes_by_fours(weight: Array, lanes: int, block: int) -> Array:
    """The same, inputs by fours inside: blocks of outputs, blocks of inputs, kernel, fours of inputs, output, input."""
    packed = by_lanes(weight, lanes, block)
    parted = packed.reshape(*packed.shape[:4], block // 4, 4, lanes)
    return np.ascontiguousarray(parted.swapaxes(-1, -2))


def by_rows_of_bytes(weight: Array, lanes: int) -> Array:
    """Weights (M, K) of a dense layer as blocks of outputs, fours of inputs, output, input."""
    depth = -(-weight.shape[1] // 4) * 4
    return bytes_by_fours(weight[:, :, None, None], lanes, depth)[:, 0, 0, 0]


def channel_rows(values: Array, lanes: int) -> Array:
    """Values (C,) or (C, KH, KW) of channels as blocks, kernel, channel."""
    full = np.zeros((-(-len(values) // lanes) * lanes, *values.shape[1:]), values.dtype)
    full[: len(values)] = values
    return np.ascontiguousarray(np.moveaxis(full.reshape(-1, lanes, *values.shape[1:]), 1, -1))
