"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.operator import TensorType, operator
from vta.ir.ops._checks import FLOATS, INTEGERS, check_flag, check_ints, normal_axis, require_dtype

__all__ = ["ReduceAttributes"]

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class ReduceAttributes:
    """What a reduction runs over."""

    axis: tuple[int, ...] = ()
    """Reduced axes; none means all."""
    keepdims: bool = False
    """Whether reduced axes stay, with size 1."""

    def __post_init__(self) -> None:
        check_ints(self, "axis")
        check_flag(self, "keepdims")

    def axes(self, rank: int) -> tuple[int, ...]:
        """Reduced axes of a value with `rank` dimensions, counted from the front."""
        return tuple(sorted({normal_axis(a, rank) for a in self.axis})) if self.axis else tuple(range(rank))


def _reduced(attrs: ReduceAttributes, data: TensorType) -> TensorType:
    axes = attrs.axes(len(data.shape))
    if attrs.keepdims:
        return TensorType(tuple(1 if i in axes else d for i, d in enumerate(data.shape)), data.dtype)
    return TensorType(tuple(d for i, d in enumerate(data.shape) if i not in axes), data.dtype)


def _infer_mean(attrs: ReduceAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], FLOATS)
    return _reduced(attrs, types[0])


def _infer_number(attrs: ReduceAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], (*FLOATS, *INTEGERS))
    return _reduced(attrs, types[0])


@operator("mean", 1, _infer_mean, ReduceAttributes)
def mean(attrs: ReduceAttributes, data: Array) -> Array:
    """Mean over axes."""
    return np.asarray(data.mean(axis=attrs.axes(data.ndim), keepdims=attrs.keepdims))


@operator("sum", 1, _infer_number, ReduceAttributes)
def reduce_sum(attrs: ReduceAttributes, data: Array) -> Array:
    """Sum over axes; keeps the data type, integers wrap."""
    return np.asarray(data.sum(axis=attrs.axes(data.ndim), keepdims=attrs.keepdims, dtype=data.dtype))


@operator("max", 1, _infer_number, ReduceAttributes)
def reduce_max(attrs: ReduceAttributes, data: Array) -> Array:
    """Maximum over axes."""
    return np.asarray(data.max(axis=attrs.axes(data.ndim), keepdims=attrs.keepdims))
