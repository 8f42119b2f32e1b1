"""Fully connected layers and matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.operator import NoAttributes, TensorType, operator
from vta.ir.ops._checks import FLOATS, require, require_dtype, require_rank, require_same_dtype
from vta.ir.ops._matmul import matmul_integers, product_dtype

__all__ = ["dense", "dense_shape", "matmul"]

Array = NDArray[Any]


def dense_shape(data: TensorType, weight: TensorType) -> tuple[int, int]:
    """Return the output shape of data (N, K) times weight (M, K); raises `GraphError` if they do not go together."""
    require_rank(data, 2, "data")
    require_rank(weight, 2, "weight")
    require(
        data.shape[1] == weight.shape[1], f"data has {data.shape[1]} features, but weight {weight.shape} needs {weight.shape[1]}"
    )
    return data.shape[0], weight.shape[0]


def _infer_dense(attrs: NoAttributes, types: Sequence[TensorType]) -> TensorType:
    data, weight = types
    return TensorType(dense_shape(data, weight), product_dtype(data, weight))


@operator(ops.DENSE, 2, _infer_dense)
def dense(attrs: NoAttributes, data: Array, weight: Array) -> Array:
    """Return data (N, K) times the transpose of weight (M, K)."""
    if data.dtype == np.int8:
        return matmul_integers(data, weight)
    return np.asarray(data @ weight.T)


def _infer_matmul(attrs: NoAttributes, types: Sequence[TensorType]) -> TensorType:
    require_same_dtype(types)
    left, right = types
    require_dtype(left, FLOATS)
    require(len(left.shape) >= 2 and len(right.shape) >= 2, f"inputs need 2 dimensions, got {left.shape} and {right.shape}")
    require(
        left.shape[-1] == right.shape[-2],
        f"the last dimension of {left.shape} must equal the last but one of {right.shape}",
    )
    try:
        lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        raise GraphError(f"leading dimensions of {left.shape} and {right.shape} do not broadcast") from None
    return TensorType((*lead, left.shape[-2], right.shape[-1]), left.dtype)


@operator(ops.MATMUL, 2, _infer_matmul)
def matmul(attrs: NoAttributes, left: Array, right: Array) -> Array:
    """Matrix product over the last two dimensions; leading ones broadcast."""
    return np.asarray(left @ right)
