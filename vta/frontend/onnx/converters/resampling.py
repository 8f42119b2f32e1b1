"""ONNX's Resize and Upsample: to the nearest element by copying, linear and cubic by a matrix for each axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend._resampling import picked, weighed
from vta.frontend.onnx.operation import Converter, Operation
from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["CONVERTERS"]

Array = NDArray[Any]

Float = np.float32
"""Places are computed in single precision, as ONNX Runtime and PyTorch do: it decides what lies at the edge of an element."""

_Coordinates = Callable[[Array, Float, Float, Float], Array]
"""From output positions, scale, input size and output size to positions in the input."""

_HALF = Float(0.5)


def _half_pixel(x: Array, scale: Float, size: Float, out: Float) -> Array:
    return (x + _HALF) / scale - _HALF


def _symmetric(x: Array, scale: Float, size: Float, out: Float) -> Array:
    offset = size / 2 * (1 - out / (scale * size))
    return (offset.astype(np.float64) + (x + 0.5) / np.float64(scale) - 0.5).astype(Float)


_COORDINATES: dict[str, _Coordinates] = {
    "asymmetric": lambda x, scale, size, out: x / scale,
    "half_pixel": _half_pixel,
    "pytorch_half_pixel": lambda x, scale, size, out: _half_pixel(x, scale, size, out) if out > 1 else 0 * x,
    "half_pixel_symmetric": _symmetric,
    "align_corners": lambda x, scale, size, out: x * (size - 1) / (out - 1) if out > 1 else 0 * x,
    "tf_half_pixel_for_nn": lambda x, scale, size, out: (x + _HALF) / scale,
}

_ROUNDING: dict[str, Callable[[Array], Array]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda x: np.ceil(x.astype(np.float64) - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x.astype(np.float64) + 0.5),
}


@dataclass(frozen=True)
class _Axis:
    """How one axis is resized."""

    size: int
    scale: Float
    out: int

    def positions(self, place: str) -> Array:
        """Where in the input each output position lies."""
        if self.out == self.size and self.scale == 1:
            return np.arange(self.out, dtype=Float)
        return _COORDINATES[place](np.arange(self.out, dtype=Float), self.scale, Float(self.size), Float(self.out))


def _axes(node: Operation, shape: tuple[int, ...]) -> list[_Axis]:
    """Scale and output size of every axis."""
    rank = len(shape)
    axes = node.listed_axes(rank) if node.opset >= 18 else None
    axes = tuple(range(rank)) if axes is None else axes
    sizes = node.numbers(3, "sizes") if node.opset >= 11 else None
    wanted: tuple[float, ...] = sizes or _scales(node)
    if len(wanted) != len(axes) or not wanted:
        raise ImportModelError(f"scales or sizes must have {len(axes)} values, got {wanted}")
    if not all(0 < value < math.inf for value in wanted):
        raise ImportModelError(f"scales and sizes must be positive, got {wanted}")
    made = [_Axis(size, Float(1), size) for size in shape]
    declared = node.declared_shape(rank)
    for axis, value in zip(axes, wanted, strict=True):
        size = shape[axis]
        if sizes:
            made[axis] = _Axis(size, Float(value) / Float(size), int(value))
        else:
            made[axis] = _Axis(size, Float(value), _scaled(size, value, declared[axis]))
    return _in_proportion(node, made, axes) if sizes else made


def _scaled(size: int, scale: float, declared: int | None) -> int:
    """The size of a scaled axis. Where precision decides it, it is as the file declares, else as single precision has it."""
    single, double = math.floor(Float(scale) * Float(size)), math.floor(scale * size)
    return double if declared == double else single


def _in_proportion(node: Operation, made: list[_Axis], axes: tuple[int, ...]) -> list[_Axis]:
    """Sizes that do not keep proportions become one scale, if the node says so."""
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if policy not in _POLICIES:
        raise ImportModelError(f"keep_aspect_ratio_policy {policy!r} is not one of {', '.join(_POLICIES)}")
    choose = _POLICIES[policy]
    if choose is None:
        return made
    common = choose(made[axis].scale for axis in axes)
    scaled = [_Axis(axis.size, common, math.floor(float(common * Float(axis.size)) + 0.5)) for axis in made]
    return [scaled[at] if at in axes else axis for at, axis in enumerate(made)]


_POLICIES: dict[str, Callable[[Iterable[Float]], Float] | None] = {"stretch": None, "not_larger": min, "not_smaller": max}
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
    axes = _axes(node, value.shape)
    if all(axis.out == axis.size for axis in axes):
        # Then ONNX Runtime copies, also where a scale that is not 1 would place elements elsewhere.
        return value
    for axis in axes:
        if place == "align_corners" and axis.scale * Float(axis.size) % 1 and _is_scaled(node):
            raise UnsupportedNodeError(
                f"align_corners with scale {axis.scale:g} of {axis.size} elements: "
                "ONNX and its runtime place a broken size differently"
            )
    positions = [axis.positions(place) for axis in axes]
    if mode == "nearest":
        return picked(
            node.apply, value, [_nearest(node, modern, axis, found) for axis, found in zip(axes, positions, strict=True)]
        )
    if mode not in ("linear", "cubic"):
        raise ImportModelError(f"mode {mode!r} is not one of nearest, linear, cubic")
    for at, (axis, position) in enumerate(zip(axes, positions, strict=True)):
        matrix = _interpolation(node, mode, position.astype(np.float64), float(axis.scale), axis.size)
        if matrix.shape[0] != matrix.shape[1] or not np.array_equal(matrix, np.eye(len(matrix))):
            value = _along(node, value, at, matrix)
    return value


def _is_scaled(node: Operation) -> bool:
    return node.opset < 11 or not node.numbers(3, "sizes")


def _nearest(node: Operation, modern: bool, axis: _Axis, positions: Array) -> Array:
    """The element for each output position. Before version 11 it is the one below, where an axis shrinks the one above."""
    rounding = node.text("nearest_mode", "round_prefer_floor") if modern else "ceil" if axis.scale < 1 else "floor"
    if rounding not in _ROUNDING:
        raise ImportModelError(f"nearest_mode {rounding!r} is not one of {', '.join(_ROUNDING)}")
    return np.clip(_ROUNDING[rounding](positions), 0, axis.size - 1).astype(np.int64)


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
    if value.dtype != "float32":
        raise UnsupportedNodeError(f"mode {node.text('mode', 'nearest')} of {value.dtype} (only of float)")
    return weighed(node.apply, value, axis, matrix)


CONVERTERS: dict[str, Converter] = {"Resize": _resize, "Upsample": _resize}
