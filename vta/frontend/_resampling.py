"""Resizing one axis after the other: by picking elements, or by a matrix that weighs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.frontend._layers import Apply
from vta.ir import names as ops
from vta.ir.graph import Node, constant

__all__ = ["picked", "weighed"]

Array = NDArray[Any]


def weighed(apply: Apply, value: Node, axis: int, matrix: Array) -> Node:
    """Return `matrix` (M, K) times the values along an axis of size K, in the type of `value`."""
    rank, factor = len(value.shape), matrix.astype(value.dtype)
    if axis == rank - 1 and rank > 1:
        return apply(ops.MATMUL, value, constant(np.ascontiguousarray(factor.T)))
    if axis == rank - 2:
        return apply(ops.MATMUL, constant(factor), value)
    order = [*(other for other in range(rank) if other != axis), axis]
    rows = apply(ops.RESHAPE, apply(ops.TRANSPOSE, value, axes=tuple(order)), newshape=(-1, value.shape[axis]))
    product = apply(ops.MATMUL, rows, constant(np.ascontiguousarray(factor.T)))
    shape = [*(value.shape[other] for other in order[:-1]), len(matrix)]
    back = tuple(int(at) for at in np.argsort(order))
    return apply(ops.TRANSPOSE, apply(ops.RESHAPE, product, newshape=tuple(shape)), axes=back)


def picked(apply: Apply, value: Node, sources: Sequence[Array]) -> Node:
    """Return the elements at `sources` along every axis; whole repetitions of rows and columns are an upsampling."""
    factors = [len(source) // size for source, size in zip(sources, value.shape, strict=True)]
    whole = all(
        factor > 0 and np.array_equal(source, np.arange(size).repeat(factor))
        for factor, source, size in zip(factors, sources, value.shape, strict=True)
    )
    if len(sources) == 4 and whole and factors[:2] == [1, 1]:
        return apply(ops.UPSAMPLING, value, scale_h=factors[2], scale_w=factors[3])
    for axis, source in enumerate(sources):
        if not np.array_equal(source, np.arange(value.shape[axis])):
            value = apply(ops.TAKE, value, constant(source), axis=axis)
    return value
