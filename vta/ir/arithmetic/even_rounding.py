"""The arithmetic of ONNX Runtime: products in single precision, halves to the even neighbour."""

from __future__ import annotations

from typing import Any

import numpy as np

from vta.ir.arithmetic.fixed_point import Array, Scale, per_channel

__all__ = ["even_levels", "even_ratio", "fused_single"]

_LARGEST_RATIO = np.float32(2**31)


def even_ratio(scale: Scale, output_scale: float) -> Array:
    """Return ratios of scales in single precision."""
    return np.asarray(np.asarray(scale, np.float32) / np.float32(output_scale))


def even_levels(values: Array, ratio: Array, axis: int) -> Array:
    """Return integer `values` times float32 `ratio`, rounded to the nearest integer, halves to the even one; int64."""
    product = values.astype(np.float32) * per_channel(ratio, values.ndim, axis)
    if not np.max(ratio) < _LARGEST_RATIO:
        # No integer is that large; a zero times an infinite ratio stays zero.
        product = np.clip(np.nan_to_num(product, nan=0.0), -_LARGEST_RATIO, _LARGEST_RATIO)
    return np.rint(product).astype(np.int64)


def fused_single(factor: Array, values: Any, term: Array) -> Array:
    """factor * values + term, rounded to single precision once."""
    return np.asarray(np.float64(factor) * values + np.float64(term), np.float32)
