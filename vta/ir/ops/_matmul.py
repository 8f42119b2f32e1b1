"""Integer matrix products through BLAS, exact, and the data types of products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.operator import TensorType
from vta.ir.ops._checks import require

__all__ = ["exact_dtype", "matmul_integers", "product_dtype", "wrap_int32"]

Array = NDArray[Any]

_FLOAT32_EXACT = 1 << 24
"""Integers up to this magnitude are exact in float32, and so is every partial sum of them."""


def product_dtype(data: TensorType, weight: TensorType) -> str:
    """Data type of a sum of products: float32 of float32, int32 of int8 and int8 or int16; else raises `GraphError`."""
    pair = (data.dtype, weight.dtype)
    require(
        pair in (("float32", "float32"), ("int8", "int8"), ("int8", "int16")),
        f"data and weight must both be float32, or int8 and int8 or int16, got {pair[0]} and {pair[1]}",
    )
    return "float32" if data.dtype == "float32" else "int32"


def exact_dtype(data: Array, rows: Array) -> Any:
    """Return the fastest type in which products of integer `data` with weight `rows` [O, K] are exact, in any order.

    float64 is exact as long as no row's sum of magnitudes times the largest magnitude of `data` reaches 2^53.
    """
    depth = rows.shape[1]
    if (data.dtype == rows.dtype == np.int8 and depth * 128 * 128 < _FLOAT32_EXACT) or not data.size or not rows.size:
        return np.float32
    largest = max(abs(int(data.max())), abs(int(data.min())))
    # Magnitudes below 2^24 add up exactly in float32; sums beyond it may be rounded, but not to below it.
    heaviest = int((np.abs(rows.astype(np.float32)) @ np.ones(depth, np.float32)).max())
    return np.float32 if max(largest, 1) * heaviest < _FLOAT32_EXACT else np.float64


def wrap_int32(values: Array) -> Array:
    """Return integer-valued floats modulo 2^32, as int32."""
    if values.dtype == np.float32:
        return values.astype(np.int32)
    return values.astype(np.int64).astype(np.int32)


def matmul_integers(data: Array, weight: Array) -> Array:
    """Return ``data [N, K] @ weight [M, K].T`` of integers, modulo 2^32, as int32."""
    dtype = exact_dtype(data, weight)
    return wrap_int32(data.astype(dtype) @ weight.astype(dtype).T)
