"""ONNX's Resize and Upsample to the nearest element."""

from __future__ import annotations

import math
from collections.abc import Callable
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
    axes = (node.integers("axes") if node.opset >= 18 else None) or tuple(range(rank))
    sizes = node.numbers(3, "sizes") if node.opset >= 11 else None
    given = _scales(node)
    scales, out = [1.0] * rank, list(shape)
    wanted = sizes or given
    if not wanted or len(wanted) != len(axes):
        raise ImportModelError(f"scales or sizes must have {len(axes)} values, got {wanted}")
    for axis, value in zip(axes, wanted, strict=True):
        if value <= 0:
            raise ImportModelError(f"scales and sizes must be positive, got {wanted}")
        out[axis] = int(value) if sizes else math.floor(shape[axis] * value)
        scales[axis] = out[axis] / shape[axis] if sizes else float(value)
    return scales, out


def _scales(node: Operation) -> tuple[float, ...]:
    if node.opset < 9:
        return tuple(node.attribute("scales") or ())
    array = node.array(2 if node.opset >= 11 else 1, "scales")
    return () if array is None else tuple(float(scale) for scale in np.atleast_1d(array))


def _resize(node: Operation) -> Node:
    if node.text("mode", "nearest") != "nearest":
        raise UnsupportedNodeError(f"mode {node.text('mode', 'nearest')} (only nearest can be imported)")
    if node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise UnsupportedNodeError("keep_aspect_ratio_policy")
    modern = node.proto.op_type == "Resize" and node.opset >= 11
    place = node.text("coordinate_transformation_mode", "half_pixel") if modern else "asymmetric"
    rounding = node.text("nearest_mode", "round_prefer_floor") if modern else "floor"
    if place not in _COORDINATES or rounding not in _ROUNDING:
        raise UnsupportedNodeError(f"coordinate_transformation_mode {place} with nearest_mode {rounding}")
    value = node.input()
    scales, out = _scales_and_sizes(node, value.shape)
    sources = []
    for scale, size, count in zip(scales, value.shape, out, strict=True):
        position = _COORDINATES[place](np.arange(count, dtype=np.float64), scale, size, count)
        sources.append(np.clip(_ROUNDING[rounding](position), 0, size - 1).astype(np.int64))
    return _picked(node, value, sources)


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
