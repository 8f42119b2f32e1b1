"""Operators that move or copy values without arithmetic."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.operator import Attributes, NoAttributes, TensorType, operator
from vta.ir.ops._checks import (
    check_int,
    check_ints,
    normal_axis,
    require,
    require_dtype,
    require_rank,
    require_same_dtype,
    wanted,
)
from vta.support.dataclass import dataclass

__all__ = [
    "BroadcastToAttributes",
    "ConcatenateAttributes",
    "ExpandDimsAttributes",
    "PadAttributes",
    "ReshapeAttributes",
    "SqueezeAttributes",
    "StridedSliceAttributes",
    "TakeAttributes",
    "TransposeAttributes",
    "UpsamplingAttributes",
]

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class ReshapeAttributes(Attributes):
    """The wanted shape."""

    newshape: tuple[int, ...]
    """Dimensions; 0 copies the input's dimension there, one -1 takes what is left."""

    def __post_init__(self) -> None:
        check_ints(self, "newshape", None, -1)
        require(self.newshape.count(-1) <= 1, f"newshape may hold one -1, got {self.newshape}")

    def resolve(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the output shape for an input of `shape`; raises `GraphError` if the elements do not fit."""
        require(
            all(d != 0 or i < len(shape) for i, d in enumerate(self.newshape)),
            f"newshape {self.newshape} copies a dimension that shape {shape} does not have",
        )
        wanted_shape = [shape[i] if d == 0 else d for i, d in enumerate(self.newshape)]
        size, known = math.prod(shape), math.prod(d for d in wanted_shape if d != -1)
        if -1 in wanted_shape:
            require(known > 0 and size % known == 0, f"shape {shape} cannot become {self.newshape}")
            wanted_shape[wanted_shape.index(-1)] = size // known
        require(math.prod(wanted_shape) == size, f"shape {shape} has {size} elements, newshape {self.newshape} has {known}")
        return tuple(wanted_shape)


def _infer_reshape(attrs: ReshapeAttributes, types: Sequence[TensorType]) -> TensorType:
    return TensorType(attrs.resolve(types[0].shape), types[0].dtype)


@operator(ops.RESHAPE, 1, _infer_reshape, ReshapeAttributes)
def reshape(attrs: ReshapeAttributes, data: Array) -> Array:
    """The same elements, in row-major order, with another shape."""
    return data.reshape(attrs.resolve(data.shape))


def _infer_batch_flatten(attrs: NoAttributes, types: Sequence[TensorType]) -> TensorType:
    shape = types[0].shape
    require(len(shape) >= 1, "the input must have at least 1 dimension, got a scalar")
    return TensorType((shape[0], math.prod(shape[1:])), types[0].dtype)


@operator(ops.BATCH_FLATTEN, 1, _infer_batch_flatten)
def batch_flatten(attrs: NoAttributes, data: Array) -> Array:
    """All dimensions but the first become one."""
    return data.reshape(data.shape[0], math.prod(data.shape[1:]))


@dataclass(frozen=True, kw_only=True)
class TransposeAttributes(Attributes):
    """The input axis for each output axis."""

    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        check_ints(self, "axes")


def _infer_transpose(attrs: TransposeAttributes, types: Sequence[TensorType]) -> TensorType:
    shape = types[0].shape
    require(
        len(attrs.axes) == len(shape) and {normal_axis(a, len(shape), "an axis") for a in attrs.axes} == set(range(len(shape))),
        f"axes must name each of the {len(shape)} dimensions once, got {attrs.axes}",
    )
    return TensorType(tuple(shape[a] for a in attrs.axes), types[0].dtype)


@operator(ops.TRANSPOSE, 1, _infer_transpose, TransposeAttributes)
def transpose(attrs: TransposeAttributes, data: Array) -> Array:
    """Permute the dimensions."""
    return np.ascontiguousarray(data.transpose(attrs.axes)).reshape([data.shape[a] for a in attrs.axes])


@dataclass(frozen=True, kw_only=True)
class SqueezeAttributes(Attributes):
    """Axes to remove."""

    axis: tuple[int, ...]

    def __post_init__(self) -> None:
        check_ints(self, "axis")


def _infer_squeeze(attrs: SqueezeAttributes, types: Sequence[TensorType]) -> TensorType:
    shape = types[0].shape
    gone = {normal_axis(a, len(shape)) for a in attrs.axis}
    require(all(shape[a] == 1 for a in gone), f"squeezed dimensions must be 1, got shape {shape} with axis {attrs.axis}")
    return TensorType(tuple(d for i, d in enumerate(shape) if i not in gone), types[0].dtype)


@operator(ops.SQUEEZE, 1, _infer_squeeze, SqueezeAttributes)
def squeeze(attrs: SqueezeAttributes, data: Array) -> Array:
    """Remove dimensions of size 1."""
    return data.squeeze(attrs.axis)


@dataclass(frozen=True, kw_only=True)
class ExpandDimsAttributes(Attributes):
    """Where the new dimension goes, as an axis of the output."""

    axis: int

    def __post_init__(self) -> None:
        check_int(self, "axis")


def _infer_expand_dims(attrs: ExpandDimsAttributes, types: Sequence[TensorType]) -> TensorType:
    shape = list(types[0].shape)
    shape.insert(normal_axis(attrs.axis, len(shape) + 1), 1)
    return TensorType(tuple(shape), types[0].dtype)


@operator(ops.EXPAND_DIMS, 1, _infer_expand_dims, ExpandDimsAttributes)
def expand_dims(attrs: ExpandDimsAttributes, data: Array) -> Array:
    """Insert a dimension of size 1."""
    return np.expand_dims(data, attrs.axis)


@dataclass(frozen=True, kw_only=True)
class ConcatenateAttributes(Attributes):
    """The axis to join along."""

    axis: int = 1

    def __post_init__(self) -> None:
        check_int(self, "axis")


def _infer_concatenate(attrs: ConcatenateAttributes, types: Sequence[TensorType]) -> TensorType:
    require_same_dtype(types)
    first = types[0].shape
    axis = normal_axis(attrs.axis, len(first))
    for type_ in types[1:]:
        require(
            len(type_.shape) == len(first) and all(i == axis or d == first[i] for i, d in enumerate(type_.shape)),
            f"shapes {first} and {type_.shape} differ beyond axis {axis}",
        )
    total = sum(t.shape[axis] for t in types)
    return TensorType((*first[:axis], total, *first[axis + 1 :]), types[0].dtype)


@operator(ops.CONCATENATE, (1, None), _infer_concatenate, ConcatenateAttributes)
def concatenate(attrs: ConcatenateAttributes, *parts: Array) -> Array:
    """Join along one axis."""
    return np.concatenate(parts, axis=attrs.axis)


@dataclass(frozen=True, kw_only=True)
class StridedSliceAttributes(Attributes):
    """Begin, end and step for every axis, with the meaning of Python slices."""

    begin: tuple[int, ...]
    end: tuple[int, ...]
    strides: tuple[int, ...]

    def __post_init__(self) -> None:
        for field in ("begin", "end", "strides"):
            check_ints(self, field)
        require(0 not in self.strides, f"strides must not be 0, got {self.strides}")

    def slices(self) -> tuple[slice, ...]:
        """One slice an axis."""
        return tuple(slice(b, e, s) for b, e, s in zip(self.begin, self.end, self.strides, strict=True))


def _infer_strided_slice(attrs: StridedSliceAttributes, types: Sequence[TensorType]) -> TensorType:
    shape = types[0].shape
    for field in ("begin", "end", "strides"):
        require(len(getattr(attrs, field)) == len(shape), f"{field} must have {len(shape)} entries, got {getattr(attrs, field)}")
    sizes = tuple(len(range(*s.indices(d))) for s, d in zip(attrs.slices(), shape, strict=True))
    return TensorType(sizes, types[0].dtype)


@operator(ops.STRIDED_SLICE, 1, _infer_strided_slice, StridedSliceAttributes)
def strided_slice(attrs: StridedSliceAttributes, data: Array) -> Array:
    """Every step-th element between begin and end along each axis."""
    return data[attrs.slices()].copy()


@dataclass(frozen=True, kw_only=True)
class BroadcastToAttributes(Attributes):
    """The wanted shape."""

    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        check_ints(self, "shape", None, 0)


def _infer_broadcast_to(attrs: BroadcastToAttributes, types: Sequence[TensorType]) -> TensorType:
    try:
        fits = np.broadcast_shapes(types[0].shape, attrs.shape) == attrs.shape
    except ValueError:
        fits = False
    require(fits, f"shape {types[0].shape} does not broadcast to {attrs.shape}")
    return TensorType(attrs.shape, types[0].dtype)


@operator(ops.BROADCAST_TO, 1, _infer_broadcast_to, BroadcastToAttributes)
def broadcast_to(attrs: BroadcastToAttributes, data: Array) -> Array:
    """Repeat along dimensions of size 1."""
    return np.broadcast_to(data, attrs.shape).copy()


@dataclass(frozen=True, kw_only=True)
class TakeAttributes(Attributes):
    """The axis to pick from."""

    axis: int = 0

    def __post_init__(self) -> None:
        check_int(self, "axis")


def _infer_take(attrs: TakeAttributes, types: Sequence[TensorType]) -> TensorType:
    data, indices = types
    require_dtype(indices, ("int32", "int64"), "indices")
    axis = normal_axis(attrs.axis, len(data.shape))
    return TensorType((*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]), data.dtype)


@operator(ops.TAKE, 2, _infer_take, TakeAttributes)
def take(attrs: TakeAttributes, data: Array, indices: Array) -> Array:
    """Pick slices along one axis; negative indices count from the end."""
    size = data.shape[attrs.axis]
    if indices.size and not (-size <= indices.min() and indices.max() < size):
        found = indices.min() if indices.min() < -size else indices.max()
        raise GraphError(f"positions must be in {-size}..{size - 1}, got {found}")
    return np.asarray(np.take(data, indices, axis=attrs.axis))


@dataclass(frozen=True, kw_only=True)
class PadAttributes(Attributes):
    """How much border each axis gets."""

    pad_width: tuple[tuple[int, int], ...]
    """Before and after, for every axis."""
    pad_value: float = 0
    """Integer or float."""

    def __post_init__(self) -> None:
        try:
            widths = tuple((int(before), int(after)) for before, after in self.pad_width)
        except (TypeError, ValueError):
            raise wanted(self, "pad_width", "a tuple of (before, after) pairs of integers") from None
        require(all(min(pair) >= 0 for pair in widths), f"pad_width must not be negative, got {widths}")
        object.__setattr__(self, "pad_width", widths)
        value = self.pad_value
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            raise wanted(self, "pad_value", "a number")
        object.__setattr__(self, "pad_value", int(value) if isinstance(value, numbers.Integral) else float(value))


def _infer_pad(attrs: PadAttributes, types: Sequence[TensorType]) -> TensorType:
    data = types[0]
    require(len(attrs.pad_width) == len(data.shape), f"pad_width must have {len(data.shape)} pairs, got {attrs.pad_width}")
    if data.dtype not in ("float32", "float64", "bool"):
        info = np.iinfo(data.dtype)
        value = attrs.pad_value
        require(
            info.min <= value <= info.max and value == int(value),
            f"pad_value must be an integer in {info.min}..{info.max} for {data.dtype}, got {value}",
        )
    return TensorType(tuple(b + d + a for d, (b, a) in zip(data.shape, attrs.pad_width, strict=True)), data.dtype)


@operator(ops.PAD, 1, _infer_pad, PadAttributes)
def pad(attrs: PadAttributes, data: Array) -> Array:
    """Surround the value with a border of `pad_value`."""
    return np.pad(data, attrs.pad_width, constant_values=data.dtype.type(attrs.pad_value))


@dataclass(frozen=True, kw_only=True)
class UpsamplingAttributes(Attributes):
    """Whole factors for height and width."""

    scale_h: int
    scale_w: int

    def __post_init__(self) -> None:
        check_int(self, "scale_h", 1)
        check_int(self, "scale_w", 1)


def _infer_upsampling(attrs: UpsamplingAttributes, types: Sequence[TensorType]) -> TensorType:
    require_rank(types[0], 4)
    batch, channels, height, width = types[0].shape
    return TensorType((batch, channels, height * attrs.scale_h, width * attrs.scale_w), types[0].dtype)


@operator(ops.UPSAMPLING, 1, _infer_upsampling, UpsamplingAttributes)
def upsampling(attrs: UpsamplingAttributes, data: Array) -> Array:
    """Repeat rows and columns (nearest neighbour)."""
    return data.repeat(attrs.scale_h, axis=2).repeat(attrs.scale_w, axis=3)
