"""Pooling over windows of the two spatial dimensions of NCHW values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.operator import Attributes, NoAttributes, TensorType, operator
from vta.ir.ops._checks import (
    FLOATS,
    INTEGERS,
    check_flag,
    check_int,
    check_ints,
    check_padded,
    require,
    require_dtype,
    require_rank,
)
from vta.support.dataclass import dataclass

__all__ = ["AvgPool2DAttributes", "Pool2DAttributes", "pool2d_shape", "window_counts", "window_sums"]

Array = NDArray[Any]

_LARGEST_FACTOR = 127


@dataclass(frozen=True, kw_only=True)
class Pool2DAttributes(Attributes):
    """Geometry of pooling."""

    pool_size: tuple[int, int]
    """Height and width of a window."""
    strides: tuple[int, int] = (1, 1)
    """Vertical, horizontal."""
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Top, left, bottom, right; each less than the window, so that every window meets data."""
    ceil_mode: bool = False
    """Whether a last window that only partly meets the data counts."""

    def __post_init__(self) -> None:
        check_ints(self, "pool_size", 2, 1)
        check_ints(self, "strides", 2, 1)
        check_ints(self, "padding", 4, 0)
        check_flag(self, "ceil_mode")
        for axis in (0, 1):
            require(
                max(self.padding[axis], self.padding[axis + 2]) < self.pool_size[axis],
                f"padding {self.padding} must be less than pool_size {self.pool_size}",
            )


def _extent(attrs: Pool2DAttributes, size: int, axis: int) -> int:
    """Windows along spatial `axis` of a value that measures `size` there."""
    kernel, stride = attrs.pool_size[axis], attrs.strides[axis]
    before, after = attrs.padding[axis], attrs.padding[axis + 2]
    room = size + before + after - kernel
    require(
        room >= 0, f"pool_size {attrs.pool_size} is larger than the padded data, {size + before + after} along axis {axis + 2}"
    )
    if not attrs.ceil_mode:
        return room // stride + 1
    count = -(-room // stride) + 1
    # A window that starts beyond the data would pool nothing.
    return count - 1 if (count - 1) * stride >= size + before else count


def pool2d_shape(attrs: Pool2DAttributes, data: TensorType) -> tuple[int, ...]:
    """Return the output shape of pooling `data` (N, C, H, W); raises `GraphError` if the windows do not fit."""
    require_rank(data, 4)
    check_padded(data, attrs.padding)
    return (*data.shape[:2], _extent(attrs, data.shape[2], 0), _extent(attrs, data.shape[3], 1))


def _bordered(attrs: Pool2DAttributes, data: Array, out: tuple[int, ...], fill: Any) -> Array:
    """`data` with as much border of `fill` as the windows reach."""
    widths = [(0, 0), (0, 0)]
    for axis in (0, 1):
        reach = (out[axis] - 1) * attrs.strides[axis] + attrs.pool_size[axis]
        widths.append((attrs.padding[axis], max(0, reach - attrs.padding[axis] - data.shape[2 + axis])))
    return np.pad(data, widths, constant_values=fill) if any(map(any, widths)) else data


def _pooled(attrs: Pool2DAttributes, data: Array, combine: np.ufunc, fill: Any) -> Array:
    """Reduce every window by `combine`, rows first, then columns."""
    out = pool2d_shape(attrs, TensorType(data.shape, "?"))[2:]
    value = _bordered(attrs, data, out, fill)
    for axis in (0, 1):
        span = (out[axis] - 1) * attrs.strides[axis] + 1
        lead: list[slice] = [slice(None)] * (2 + axis)
        slices = [(*lead, slice(i, i + span, attrs.strides[axis])) for i in range(attrs.pool_size[axis])]
        result = value[slices[0]].copy()
        for part in slices[1:]:
            combine(result, value[part], out=result)
        value = result
    return value


def window_sums(attrs: Pool2DAttributes, data: Array) -> Array:
    """Return the sum of each window, outside the data counting as zero; keeps the data type."""
    return _pooled(attrs, data, np.add, 0)


def window_counts(attrs: Pool2DAttributes, shape: tuple[int, ...], include_pad: bool = False) -> Array:
    """Return how many elements each window of data of `shape` (N, C, H, W) averages, as int32 of shape (OH, OW).

    With `include_pad` the declared padding counts, but not the border that `ceil_mode` adds.
    """
    counts = []
    for axis in (0, 1):
        size, before = shape[2 + axis], attrs.padding[axis]
        starts = np.arange(_extent(attrs, size, axis)) * attrs.strides[axis] - before
        first, last = (-before, size + attrs.padding[axis + 2]) if include_pad else (0, size)
        counts.append(np.minimum(starts + attrs.pool_size[axis], last) - np.maximum(starts, first))
    return np.outer(counts[0], counts[1]).astype(np.int32)


def _infer_max_pool(attrs: Pool2DAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], (*FLOATS, *INTEGERS))
    return TensorType(pool2d_shape(attrs, types[0]), types[0].dtype)


@operator(ops.MAX_POOL2D, 1, _infer_max_pool, Pool2DAttributes)
def max_pool2d(attrs: Pool2DAttributes, data: Array) -> Array:
    """Maximum of each window; padding never wins."""
    lowest = -np.inf if data.dtype.kind == "f" else np.iinfo(data.dtype).min
    return _pooled(attrs, data, np.maximum, lowest)


@dataclass(frozen=True, kw_only=True)
class AvgPool2DAttributes(Pool2DAttributes):
    """Geometry of average pooling."""

    count_include_pad: bool = False
    """Whether padding counts in the divisor."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag(self, "count_include_pad")


def _infer_avg_pool(attrs: AvgPool2DAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], FLOATS)
    return TensorType(pool2d_shape(attrs, types[0]), types[0].dtype)


@operator(ops.AVG_POOL2D, 1, _infer_avg_pool, AvgPool2DAttributes)
def avg_pool2d(attrs: AvgPool2DAttributes, data: Array) -> Array:
    """Mean of each window."""
    counts = window_counts(attrs, data.shape, attrs.count_include_pad)
    return np.asarray(window_sums(attrs, data) / counts.astype(data.dtype))


@dataclass(frozen=True)
class SumPool2DAttributes(Pool2DAttributes):
    """Geometry of sums of windows, and what each value counts."""

    factor: int = 1
    """What values are multiplied by, 1..127."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int(self, "factor", 1, _LARGEST_FACTOR)


def _infer_sum_pool(attrs: SumPool2DAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], ("int8",))
    return TensorType(pool2d_shape(attrs, types[0]), "int32")


@operator(ops.SUM_POOL2D, 1, _infer_sum_pool, SumPool2DAttributes)
def sum_pool2d(attrs: SumPool2DAttributes, data: Array) -> Array:
    """Sum of each window of int8 values times the factor, as int32; padding is zero."""
    return np.asarray(window_sums(attrs, data.astype(np.int32)) * np.int32(attrs.factor))


def _infer_global(attrs: NoAttributes, types: Sequence[TensorType]) -> TensorType:
    require_rank(types[0], 4)
    return TensorType((*types[0].shape[:2], 1, 1), types[0].dtype)


def _infer_global_avg(attrs: NoAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], FLOATS)
    return _infer_global(attrs, types)


@operator(ops.GLOBAL_AVG_POOL2D, 1, _infer_global_avg)
def global_avg_pool2d(attrs: NoAttributes, data: Array) -> Array:
    """Mean over height and width, kept as 1x1."""
    return np.asarray(data.mean(axis=(2, 3), keepdims=True))


@operator(ops.GLOBAL_MAX_POOL2D, 1, _infer_global)
def global_max_pool2d(attrs: NoAttributes, data: Array) -> Array:
    """Maximum over height and width, kept as 1x1."""
    return np.asarray(data.max(axis=(2, 3), keepdims=True))
