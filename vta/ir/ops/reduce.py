"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.operator import Attributes, TensorType, operator
from vta.ir.ops._checks import FLOATS, INTEGERS, check_flag, check_int, check_ints, normal_axis, require, require_dtype
from vta.support.dataclass import dataclass

__all__ = ["ArgAttributes", "ReduceAttributes"]

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class ReduceAttributes(Attributes):
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


@operator(ops.MEAN, 1, _infer_mean, ReduceAttributes)
def mean(attrs: ReduceAttributes, data: Array) -> Array:
    """Mean over axes."""
    return np.asarray(data.mean(axis=attrs.axes(data.ndim), keepdims=attrs.keepdims))


@operator(ops.SUM, 1, _infer_number, ReduceAttributes)
def reduce_sum(attrs: ReduceAttributes, data: Array) -> Array:
    """Sum over axes; keeps the data type, integers wrap."""
    return np.asarray(data.sum(axis=attrs.axes(data.ndim), keepdims=attrs.keepdims, dtype=data.dtype))


@operator(ops.PROD, 1, _infer_number, ReduceAttributes)
def reduce_prod(attrs: ReduceAttributes, data: Array) -> Array:
    """Product over axes; keeps the data type, integers wrap."""
    return np.asarray(data.prod(axis=attrs.axes(data.ndim), keepdims=attrs.keepdims, dtype=data.dtype))


def _infer_extreme(attrs: ReduceAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], (*FLOATS, *INTEGERS, "bool"))
    return _reduced(attrs, types[0])


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The least and the largest value of a data type."""
    if dtype.kind == "f":
        return -np.inf, np.inf
    return (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


@operator(ops.MAX, 1, _infer_extreme, ReduceAttributes)
def reduce_max(attrs: ReduceAttributes, data: Array) -> Array:
    """Maximum over axes; of nothing, the least value of the data type."""
    least = _limits(data.dtype)[0]
    return np.asarray(data.max(axis=attrs.axes(data.ndim), keepdims=attrs.keepdims, initial=least))


@operator(ops.MIN, 1, _infer_extreme, ReduceAttributes)
def reduce_min(attrs: ReduceAttributes, data: Array) -> Array:
    """Minimum over axes; of nothing, the largest value of the data type."""
    largest = _limits(data.dtype)[1]
    return np.asarray(data.min(axis=attrs.axes(data.ndim), keepdims=attrs.keepdims, initial=largest))


@dataclass(frozen=True, kw_only=True)
class ArgAttributes(Attributes):
    """Where an extreme is looked for."""

    axis: int = 0
    keepdims: bool = True
    select_last: bool = False
    """Whether of equal values the last counts, not the first."""

    def __post_init__(self) -> None:
        check_int(self, "axis")
        check_flag(self, "keepdims")
        check_flag(self, "select_last")


def _infer_arg(attrs: ArgAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], (*FLOATS, *INTEGERS))
    axis = normal_axis(attrs.axis, len(types[0].shape))
    require(types[0].shape[axis] > 0, f"axis {attrs.axis} is empty")
    reduced = _reduced(ReduceAttributes(axis=(axis,), keepdims=attrs.keepdims), types[0])
    return TensorType(reduced.shape, "int64")


def _position(attrs: ArgAttributes, data: Array, find: Any) -> Array:
    if not attrs.select_last:
        return np.asarray(find(data, axis=attrs.axis, keepdims=attrs.keepdims), np.int64)
    found = find(np.flip(data, attrs.axis), axis=attrs.axis, keepdims=attrs.keepdims)
    return np.asarray(data.shape[attrs.axis] - 1 - found, np.int64)


@operator(ops.ARGMAX, 1, _infer_arg, ArgAttributes)
def argmax(attrs: ArgAttributes, data: Array) -> Array:
    """Position of the largest value along an axis."""
    return _position(attrs, data, np.argmax)


@operator(ops.ARGMIN, 1, _infer_arg, ArgAttributes)
def argmin(attrs: ArgAttributes, data: Array) -> Array:
    """Position of the smallest value along an axis."""
    return _position(attrs, data, np.argmin)
