"""Resizing of images: to the nearest pixel, or bilinear; of integers in the fixed-point arithmetic of the reference kernel."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._layers import like
from vta.frontend._resampling import picked, weighed
from vta.frontend.tflite.operation import Converter, Operation, is_quantized
from vta.ir import names as ops
from vta.ir.graph import Node
from vta.passes.linear_resizes import SAME_AXIS, Growth, grown_weight, growth_of, with_edges

__all__ = ["CONVERTERS"]

Array = NDArray[Any]

_BITS = 10
"""After the point of a position in an integer image."""
_ONE = 1 << _BITS
_LARGEST_WEIGHT = 127


def _sizes(node: Operation) -> tuple[tuple[int, int], ...]:
    """The old and the new size of rows and columns."""
    data, sizes = node.input(), node.numbers(1, "the size")
    if len(data.shape) != 4 or len(sizes) != 2 or min(sizes) < 1:
        raise ImportModelError(f"an input of shape {data.shape} cannot be resized to {sizes}")
    return (data.shape[2], sizes[0]), (data.shape[3], sizes[1])


def _nearest(node: Operation) -> Node:
    data = node.input()
    sources = [_nearest_elements(node, old, new) for old, new in _sizes(node)]
    return picked(node.apply, data, [*(np.arange(size) for size in data.shape[:2]), *sources])


def _nearest_elements(node: Operation, old: int, new: int) -> Array:
    aligned, centered = node.option("AlignCorners"), node.option("HalfPixelCenters")
    scale = np.float32(old - 1) / np.float32(new - 1) if aligned and new > 1 else np.float32(old) / np.float32(new)
    place = (np.arange(new, dtype=np.float32) + np.float32(0.5 if centered else 0.0)) * scale
    found = np.floor(place + np.float32(0.5)) if aligned else np.floor(place)
    return np.asarray(np.clip(found.astype(np.int64), 0, old - 1))


def _bilinear(node: Operation) -> Node:
    data = node.input()
    if not is_quantized(node.tensor()):
        for axis, (old, new) in enumerate(_sizes(node), start=2):
            data = weighed(node.apply, data, axis, _weights(node, old, new))
        return data
    if node.output().dtype == "uint8":
        return _of_unsigned_bytes(node, data)
    matrices = [_integer_weights(node, old, new) for old, new in _sizes(node)]
    convolved = _convolved(node, data, *matrices)
    if convolved is not None:
        return convolved
    data = node.apply(ops.CAST, data, dtype="float64")
    for axis, matrix in enumerate(matrices, start=2):
        data = weighed(node.apply, data, axis, matrix)
    real = node.apply(ops.MULTIPLY, data, like(2.0 ** (-2 * _BITS), data))
    # Halves go away from zero; a conversion to integers cuts towards it.
    away = node.apply(ops.MULTIPLY, node.apply(ops.SIGN, real), like(0.5, real))
    return node.apply(ops.CAST, node.apply(ops.ADD, real, away), dtype="int8")


def _convolved(node: Operation, data: Node, rows: Array, columns: Array) -> Node | None:
    """A transposed convolution of each channel of an integer image; None if it grows unevenly, or if weights are no bytes."""
    growths = [
        SAME_AXIS if np.array_equal(matrix, np.eye(len(matrix)) * _ONE) else growth_of(matrix) for matrix in (rows, columns)
    ]
    if None in growths or growths == [SAME_AXIS, SAME_AXIS]:
        return None
    down, across = (_in_lowest_terms(growth) for growth in growths if growth is not None)
    weight, geometry = grown_weight(down, across, data.shape[1])
    # Twice the weights: the requantisation of the reference kernels halves first, which then rounds nothing.
    weight, one = 2 * weight, 2 * sum(down.kernel) * sum(across.kernel) / (down.factor * across.factor)
    if weight.max() > _LARGEST_WEIGHT or np.log2(one) % 1:
        return None
    edges, given = with_edges(data, down, across, node.name), node.constant(weight.astype(np.int8))
    product = node.apply(ops.QNN_CONV2D_TRANSPOSE, edges, given, input_scale=1.0, kernel_scale=1.0, **geometry)
    return node.apply(ops.QNN_REQUANTIZE, product, input_scale=1.0, output_scale=float(one), rounding="tflite")


def _in_lowest_terms(growth: Growth) -> Growth:
    common = math.gcd(*(int(weight) for weight in growth.kernel))
    return replace(growth, kernel=tuple(weight / common for weight in growth.kernel))


def _of_unsigned_bytes(node: Operation, data: Node) -> Node:
    """In single precision, in the order of the reference kernel, halves upwards."""
    real = node.apply(ops.CAST, data, dtype="float32")
    real = node.apply(ops.ADD, real, like(128, real))
    rows, columns = (_neighbors(node, old, new) for old, new in _sizes(node))
    total = None
    for (column, column_share), (row, row_share) in itertools.product(columns, rows):
        part = node.apply(ops.TAKE, node.apply(ops.TAKE, real, node.constant(row), axis=2), node.constant(column), axis=3)
        part = node.apply(ops.MULTIPLY, part, node.constant(row_share[:, None]))
        part = node.apply(ops.MULTIPLY, part, node.constant(column_share))
        total = part if total is None else node.apply(ops.ADD, total, part)
    assert total is not None
    levels = node.apply(ops.FLOOR, node.apply(ops.ADD, total, like(0.5, real)))
    return node.apply(ops.CAST, node.apply(ops.SUBTRACT, levels, like(128, real)), dtype="int8")


def _neighbors(node: Operation, old: int, new: int) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Indices of the two old elements that each new one is between, with their shares in single precision."""
    scale = np.float32(old) / np.float32(new)
    if node.option("AlignCorners") and new > 1:
        scale = np.float32(old - 1) / np.float32(new - 1)
    place = np.arange(new, dtype=np.float32)
    place = (place + np.float32(0.5)) * scale - np.float32(0.5) if node.option("HalfPixelCenters") else place * scale
    low = np.maximum(np.floor(place), 0)
    share = place - low
    high = np.minimum(np.ceil(place), old - 1)
    return (low.astype(np.int64), 1 - share), (high.astype(np.int64), share)


def _weights(node: Operation, old: int, new: int) -> Array:
    """The matrix (new, old) of a float image."""
    (low, first), (high, second) = _neighbors(node, old, new)
    return _matrix(low, high, first, second, old)


def _integer_weights(node: Operation, old: int, new: int) -> Array:
    """The matrix (new, old) of an integer image: whole numbers, which sum to 1 << _BITS in each row."""
    one = _ONE
    scale = (one * old + new // 2) // new
    if node.option("AlignCorners") and new > 1:
        scale = (one * (old - 1) + (new - 1) // 2) // (new - 1)
    place = np.arange(new, dtype=np.int64) * scale
    if node.option("HalfPixelCenters"):
        place += scale // 2 - one // 2
    low = np.maximum(np.trunc(place / one), 0)
    high = np.minimum(np.trunc((place + one - 1) / one), old - 1)
    share = place - one * low
    return _matrix(low, high, one - share, share, old)


def _matrix(low: Array, high: Array, first: Array, second: Array, size: int) -> Array:
    matrix = np.zeros((len(low), size))
    rows = np.arange(len(low))
    np.add.at(matrix, (rows, low.astype(np.int64)), first)
    np.add.at(matrix, (rows, high.astype(np.int64)), second)
    return matrix


CONVERTERS: dict[str, Converter] = {"RESIZE_BILINEAR": _bilinear, "RESIZE_NEAREST_NEIGHBOR": _nearest}
