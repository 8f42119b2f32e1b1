"""ONNX's Resize and Upsample: to the nearest element by copying, linear and cubic by a matrix for each axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir.graph import Node

__all__ = ["CONVERTERS"]

Array = NDArray[Any]

_Coordinates = Callable[[Array, float, int, int], Array]
"""From output positions, scale, input size and output size to positions in the input."""

_COORDINATES: dict[str, _Coordinates] = {
    "asymmetric": lambda x, scale, size, out: x / scale,
    "half_pixel": lambda x, scale, size, out: (x + 0.5) / scale - 0.5,
    "pytorch_half_pixel": lambda x, scale, size, out: (x + 0.5) / scale - 0.5 if out > 1 else 0 * x,
    "half_pixel_symmetric": lambda x, scale, size, out: size / 2 * (1 - out / (scale * size)) + (x + 0.5) / scale - 0.5,
    "align_corners": lambda x, scale, size, out: x * (size - 1) / (out - 1) if out > 1 else 0 * x,
}

_ROUNDING: dict[str, Callable[[Array], Array]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
}


def _scales_and_sizes(node: Operation, shape: tuple[int, ...]) -> tuple[list[float], list[int]]:
    """Scale and output size of every axis."""
    rank = len(shape)
    axes = tuple(axis % rank for axis in (node.integers("axes") if node.opset >= 18 else None) or range(rank))
    sizes = node.numbers(3, "sizes") if node.opset >= 11 else None
    given = _scales(node)
    scales, out = [1.0] * rank, list(shape)
    wanted = sizes or given
    if not wanted or len(wanted) != len(axes):
        raise ImportModelError(f"scales or sizes must have {len(axes)} values, got {wanted}")
    if min(wanted) <= 0:
        raise ImportModelError(f"scales and sizes must be positive, got {wanted}")
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if policy not in _POLICIES:
        raise ImportModelError(f"keep_aspect_ratio_policy {policy!r} is not one of {', '.join(_POLICIES)}")
    choose = _POLICIES[policy]
    common = choose(value / shape[axis] for axis, value in zip(axes, wanted, strict=True)) if sizes and choose else None
    for axis, value in zip(axes, wanted, strict=True):
        if common is not None:
            scales[axis], out[axis] = common, math.floor(common * shape[axis] + 0.5)
        else:
            out[axis] = int(value) if sizes else math.floor(shape[axis] * value)
            scales[axis] = out[axis] / shape[axis] if sizes else float(value)
    return scales, out


_POLICIES: dict[str, Callable[[Iterable[float]], float] | None] = {"stretch": None, "not_larger": min, "not_smaller": max}
"""How sizes that do not keep proportions become one scale."""


def _scales(node: Operation) -> tuple[float, ...]:
    if node.opset < 9:
        return tuple(node.attribute("scales") or ())
    array = node.array(2 if node.opset >= 11 else 1, "scales")
    return () if array is None else tuple(float(scale) for scale in np.atleast_1d(array))


def _resize(node: Operation) -> Node:
    mode = {"bilinear": "linear"}.get(node.text("mode", "nearest"), node.text("mode", "nearest"))
    modern = node.proto.op_type == "Resize" and node.opset >= 11
    place = node.text("coordinate_transformation_mode", "half_pixel") if modern else "asymmetric"
    if place not in _COORDINATES:
        raise UnsupportedNodeError(f"coordinate_transformation_mode {place} (known are {', '.join(_COORDINATES)})")
    value = node.input()
    scales, out = _scales_and_sizes(node, value.shape)
    for scale, size in zip(scales, value.shape, strict=True):
        if place == "align_corners" and (scale * size) % 1:
            raise UnsupportedNodeError(
                f"align_corners with scale {scale:g} of {size} elements: ONNX and its runtime place a broken size differently"
            )
    positions = [
        _COORDINATES[place](np.arange(count, dtype=np.float64), scale, size, count)
        for scale, size, count in zip(scales, value.shape, out, strict=True)
    ]
    if mode == "nearest":
        rounding = node.text("nearest_mode", "round_prefer_floor") if modern else "floor"
        if rounding not in _ROUNDING:
            raise ImportModelError(f"nearest_mode {rounding!r} is not one of {', '.join(_ROUNDING)}")
        nearest = [_ROUNDING[rounding](position) for position in positions]
        sources = [np.clip(found, 0, size - 1).astype(np.int64) for found, size in zip(nearest, value.shape, strict=True)]
        return _picked(node, value, sources)
    if mode not in ("linear", "cubic"):
        raise ImportModelError(f"mode {mode!r} is not one of nearest, linear, cubic")
    for axis, (position, scale) in enumerate(zip(positions, scales, strict=True)):
        matrix = _interpolation(node, mode, position, scale, value.shape[axis])
        if matrix.shape[0] != matrix.shape[1] or not np.array_equal(matrix, np.eye(len(matrix))):
            value = _along(node, value, axis, matrix)
    return value


def _interpolation(node: Operation, mode: str, positions: Array, scale: float, size: int) -> Array:
    """The matrix (output size, input size) from the elements of an axis to those at `positions` between them."""
    squeezed = min(scale, 1.0) if node.integer("antialias", 0) else 1.0
    radius = (1 if mode == "linear" else 2) / squeezed
    reach = math.ceil(radius)
    taps = np.floor(positions)[:, None] + np.arange(-reach, reach + 1)
    distance = np.abs(taps - positions[:, None]) * squeezed
    weights = np.maximum(1 - distance, 0) if mode == "linear" else _cubic(distance, node.number("cubic_coeff_a", -0.75))
    if node.integer("exclude_outside", 0):
        weights = np.where((taps < 0) | (taps >= size), 0, weights)
    weights = weights / weights.sum(axis=1, keepdims=True)
    matrix = np.zeros((len(positions), size))
    rows = np.broadcast_to(np.arange(len(positions))[:, None], taps.shape)
    np.add.at(matrix, (rows, np.clip(taps, 0, size - 1).astype(np.int64)), weights)
    return matrix


def _cubic(distance: Array, a: float) -> Array:
    """The convolution kernel of cubic interpolation (Keys, 1981) with parameter `a`."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))


def _along(node: Operation, value: Node, axis: int, matrix: Array) -> Node:
    """`matrix` (M, K) times the values along an axis of size K."""
    rank = len(value.shape)
    if value.dtype != "float32":
        raise UnsupportedNodeError(f"mode {node.text('mode', 'nearest')} of {value.dtype} (only of float)")
    factor = matrix.astype(np.float32)
    if axis == rank - 1 and rank > 1:
        return node.apply("nn.matmul", value, node.constant(np.ascontiguousarray(factor.T)))
    if axis == rank - 2:
        return node.apply("nn.matmul", node.constant(factor), value)
    order = [*(other for other in range(rank) if other != axis), axis]
    rows = node.apply("reshape", node.apply("transpose", value, axes=tuple(order)), newshape=(-1, value.shape[axis]))
    product = node.apply("nn.matmul", rows, node.constant(np.ascontiguousarray(factor.T)))
    shape = [*(value.shape[other] for other in order[:-1]), len(matrix)]
    back = tuple(int(at) for at in np.argsort(order))
    return node.apply("transpose", node.apply("reshape", product, newshape=tuple(shape)), axes=back)


def _picked(node: Operation, value: Node, sources: list[Array]) -> Node:
    """Pick along every axis; whole repetitions of rows and columns are an upsampling."""
    factors = [len(source) // size for source, size in zip(sources, value.shape, strict=True)]
    whole = all(
        factor > 0 and np.array_equal(source, np.arange(size).repeat(factor))
        for factor, source, size in zip(factors, sources, value.shape, strict=True)
    )
    if len(sources) == 4 and whole and factors[:2] == [1, 1]:
        return node.apply("nn.upsampling", value, scale_h=factors[2], scale_w=factors[3])
    for axis, source in enumerate(sources):
        if not np.array_equal(source, np.arange(value.shape[axis])):
            value = node.apply("take", value, node.constant(source), axis=axis)
    return value


CONVERTERS: dict[str, Converter] = {"Resize": _resize, "Upsample": _resize}
