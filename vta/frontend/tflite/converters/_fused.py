"""Activations that TFLite fuses into other operators, and the padding that operators share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.tflite.operation import Operation, Quantization, is_quantized, quantization_of
from vta.frontend.tflite.schema import schema
from vta.ir import names as ops
from vta.ir.arithmetic.tflite_rounding import round_half_away
from vta.ir.graph import Node

__all__ = ["activated", "limits", "same_quantization", "window_padding"]

_KINDS = schema("ActivationFunctionType")
_PADDING = schema("Padding")
_BOUNDS: dict[int, tuple[float, float]] = {
    _KINDS.NONE: (-math.inf, math.inf),
    _KINDS.RELU: (0.0, math.inf),
    _KINDS.RELU_N1_TO_1: (-1.0, 1.0),
    _KINDS.RELU6: (0.0, 6.0),
}


def _bounds(node: Operation) -> tuple[float, float]:
    kind = node.option("FusedActivationFunction")
    if kind not in _BOUNDS:
        raise UnsupportedNodeError(f"fused activation {kind} cannot be imported")
    return _BOUNDS[kind]


def limits(node: Operation, real: tuple[float, float] | None = None) -> dict[str, int]:
    """Return the attributes a_min and a_max of an int8 result, from the fused activation or from the bounds `real`."""
    to = quantization_of(node.output())
    low, high = real or _bounds(node)
    return {"a_min": max(-128, _level(low, to, -128)), "a_max": min(127, _level(high, to, 127))}


def _level(value: float, to: Quantization, unbounded: int) -> int:
    if math.isinf(value):
        return unbounded
    return to.zero_point + int(round_half_away(np.float32(value) / np.float32(to.scale)))


def activated(node: Operation, result: Node) -> Node:
    """Return a float `result` after the fused activation."""
    low, high = _bounds(node)
    if (low, high) == (0.0, math.inf):
        return node.apply(ops.RELU, result)
    return result if math.isinf(high) else node.apply(ops.CLIP, result, a_min=low, a_max=high)


def same_quantization(node: Operation, index: int = 0) -> bool:
    """Whether input `index` is quantised, and the output in the same way; raises where one is and the other is not."""
    source, target = node.tensor(index), node.output()
    if not is_quantized(source) and not is_quantized(target):
        return False
    if quantization_of(source) != quantization_of(target):
        raise UnsupportedNodeError("input and output have different scales or zero points")
    return True


def window_padding(
    node: Operation, image: tuple[int, ...], span: tuple[int, int], strides: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Return padding (top, left, bottom, right) of windows that span `span` over `image` (N, C, H, W)."""
    scheme: Any = node.option("Padding")
    if scheme == _PADDING.VALID:
        return 0, 0, 0, 0
    if scheme != _PADDING.SAME:
        raise ImportModelError(f"padding scheme {scheme} is unknown")
    if min(strides) < 1:
        raise ImportModelError(f"strides {strides} must be positive")
    total = [
        max(0, (-(-size // step) - 1) * step + reach - size) for size, reach, step in zip(image[2:], span, strides, strict=True)
    ]
    top, left = total[0] // 2, total[1] // 2
    return top, left, total[0] - top, total[1] - left
