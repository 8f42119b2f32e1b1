"""Values picked, put and ordered by computed positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.operator import Attributes, TensorType, operator
from vta.ir.ops._checks import (
    FLOATS,
    INTEGERS,
    check_flag,
    check_int,
    normal_axis,
    require,
    require_dtype,
    require_same_dtype,
    wanted,
)
from vta.support.dataclass import dataclass

__all__ = ["AxisOfIndices", "GatherNdAttributes", "ScatterElementsAttributes", "ScatterNdAttributes", "TopKAttributes"]

Array = NDArray[Any]

_POSITIONS = ("int32", "int64")
_REDUCTIONS: dict[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@dataclass(frozen=True, kw_only=True)
class AxisOfIndices(Attributes):
    """The axis that positions count along."""

    axis: int = 0

    def __post_init__(self) -> None:
        check_int(self, "axis")


@dataclass(frozen=True, kw_only=True)
class GatherNdAttributes(Attributes):
    """How many leading axes data and positions share."""

    batch_dims: int = 0

    def __post_init__(self) -> None:
        check_int(self, "batch_dims", 0)


def _check_reduction(attrs: ScatterNdAttributes | ScatterElementsAttributes) -> None:
    if attrs.reduction not in ("none", *_REDUCTIONS):
        raise wanted(attrs, "reduction", f"one of none, {', '.join(_REDUCTIONS)}")


@dataclass(frozen=True, kw_only=True)
class ScatterNdAttributes(Attributes):
    """What happens where a value is put on another."""

    reduction: str = "none"
    """``none``: the last one counts; else ``add``, ``mul``, ``max`` or ``min`` of what is there and what is put."""

    def __post_init__(self) -> None:
        _check_reduction(self)


@dataclass(frozen=True, kw_only=True)
class ScatterElementsAttributes(Attributes):
    """The axis that positions count along, and what happens where a value is put on another."""

    axis: int = 0
    reduction: str = "none"
    """As of `ScatterNdAttributes`."""

    def __post_init__(self) -> None:
        check_int(self, "axis")
        _check_reduction(self)


@dataclass(frozen=True, kw_only=True)
class TopKAttributes(Attributes):
    """How many values along an axis, and which."""

    k: int
    axis: int = -1
    largest: bool = True
    """Whether the largest come first, or the smallest."""

    def __post_init__(self) -> None:
        check_int(self, "k", 0)
        check_int(self, "axis")
        check_flag(self, "largest")


def _counted(indices: Array, size: int) -> Array:
    """Positions counted from the front; raises `GraphError` for one that is outside."""
    if indices.size and not (-size <= indices.min() and indices.max() < size):
        found = indices.min() if indices.min() < -size else indices.max()
        raise GraphError(f"positions must be in {-size}..{size - 1}, got {found}")
    return np.where(indices < 0, indices + size, indices)


def _coordinates(indices: Array, shape: Sequence[int]) -> tuple[Array, ...]:
    """The coordinates in the last axis of positions, each counted from the front."""
    return tuple(_counted(indices[..., at], size) for at, size in enumerate(shape))


def _along(indices: Array, axis: int) -> tuple[Array, ...]:
    """The positions of all elements of `indices` in an array: their own, but for those along `axis`."""
    own: tuple[Array, ...] = np.indices(indices.shape, sparse=True)
    return tuple(indices if at == axis else place for at, place in enumerate(own))


def _infer_gather_elements(attrs: AxisOfIndices, types: Sequence[TensorType]) -> TensorType:
    data, indices = types
    require_dtype(indices, _POSITIONS, "indices")
    _check_elements(attrs.axis, data, indices)
    return TensorType(indices.shape, data.dtype)


def _check_elements(axis: int, data: TensorType, indices: TensorType) -> None:
    along = normal_axis(axis, len(data.shape))
    fits = len(indices.shape) == len(data.shape) and all(
        at == along or theirs <= ours for at, (ours, theirs) in enumerate(zip(data.shape, indices.shape, strict=True))
    )
    require(fits, f"indices of shape {indices.shape} are more than data of shape {data.shape} beside axis {axis}")


@operator(ops.GATHER_ELEMENTS, 2, _infer_gather_elements, AxisOfIndices)
def gather_elements(attrs: AxisOfIndices, data: Array, indices: Array) -> Array:
    """For each position the value there along one axis; negative positions count from the end."""
    axis = attrs.axis % data.ndim
    places = _along(_counted(indices, data.shape[axis]), axis)
    return np.asarray(data[places]).reshape(indices.shape)


def _infer_gather_nd(attrs: GatherNdAttributes, types: Sequence[TensorType]) -> TensorType:
    data, indices = types
    require_dtype(indices, _POSITIONS, "indices")
    shared = attrs.batch_dims
    require(len(indices.shape) > shared, f"indices must have more than {shared} dimensions, got shape {indices.shape}")
    require(
        data.shape[:shared] == indices.shape[:shared],
        f"data of shape {data.shape} and indices of shape {indices.shape} differ in the first {shared} dimensions",
    )
    depth = shared + indices.shape[-1]
    require(depth <= len(data.shape), f"indices of {indices.shape[-1]} coordinates are too many for shape {data.shape}")
    return TensorType((*indices.shape[:-1], *data.shape[depth:]), data.dtype)


@operator(ops.GATHER_ND, 2, _infer_gather_nd, GatherNdAttributes)
def gather_nd(attrs: GatherNdAttributes, data: Array, indices: Array) -> Array:
    """For each row of coordinates the value, or the slice, there; negative coordinates count from the end."""
    shared, depth = attrs.batch_dims, indices.shape[-1]
    found = _coordinates(indices, data.shape[shared : shared + depth])
    lead = tuple(
        np.arange(size).reshape((-1, *(1 for _ in range(indices.ndim - 2 - at)))) for at, size in enumerate(data.shape[:shared])
    )
    wanted_shape = (*indices.shape[:-1], *data.shape[shared + depth :])
    picked = data[(*lead, *found)] if lead or found else np.broadcast_to(data, wanted_shape)
    return np.array(picked).reshape(wanted_shape)


def _put(target: Array, places: tuple[Array, ...], updates: Array, reduction: str) -> None:
    if reduction == "none":
        target[places] = updates
    else:
        _REDUCTIONS[reduction].at(target, places, updates)


def _infer_scatter(reduction: str, types: Sequence[TensorType]) -> TensorType:
    data, indices, updates = types
    require_dtype(indices, _POSITIONS, "indices")
    require_same_dtype((data, updates))
    if reduction != "none":
        require_dtype(data, (*FLOATS, *INTEGERS), f"data of a scatter by {reduction}")
    return data


def _infer_scatter_elements(attrs: ScatterElementsAttributes, types: Sequence[TensorType]) -> TensorType:
    data, indices, updates = types
    _check_elements(attrs.axis, data, indices)
    require(updates.shape == indices.shape, f"updates of shape {updates.shape} must have the shape of indices, {indices.shape}")
    return _infer_scatter(attrs.reduction, types)


@operator(ops.SCATTER_ELEMENTS, 3, _infer_scatter_elements, ScatterElementsAttributes)
def scatter_elements(attrs: ScatterElementsAttributes, data: Array, indices: Array, updates: Array) -> Array:
    """The data with values put at positions along one axis, in the order of the updates."""
    axis = attrs.axis % data.ndim
    result = data.copy()
    places = _along(_counted(indices, data.shape[axis]), axis)
    _put(result, tuple(np.broadcast_to(place, indices.shape) for place in places), updates, attrs.reduction)
    return result


def _infer_scatter_nd(attrs: ScatterNdAttributes, types: Sequence[TensorType]) -> TensorType:
    data, indices, updates = types
    require(len(indices.shape) >= 1, "indices must have at least 1 dimension, got a scalar")
    depth = indices.shape[-1]
    require(depth <= len(data.shape), f"indices of {depth} coordinates are too many for shape {data.shape}")
    expected = (*indices.shape[:-1], *data.shape[depth:])
    require(updates.shape == expected, f"updates must have shape {expected}, got {updates.shape}")
    return _infer_scatter(attrs.reduction, types)


@operator(ops.SCATTER_ND, 3, _infer_scatter_nd, ScatterNdAttributes)
def scatter_nd(attrs: ScatterNdAttributes, data: Array, indices: Array, updates: Array) -> Array:
    """The data with values, or slices, put at rows of coordinates, in the order of the updates."""
    result = data.copy()
    depth = indices.shape[-1]
    rows = _coordinates(indices.reshape(-1, depth), data.shape[:depth])
    values = updates.reshape(-1, *data.shape[depth:])
    if not depth:
        for value in values:
            _put(result, (np.array(True),), value[None], attrs.reduction)
        return result
    _put(result, rows, values, attrs.reduction)
    return result


def _infer_top_k(attrs: TopKAttributes, types: Sequence[TensorType]) -> TensorType:
    data = types[0]
    require_dtype(data, (*FLOATS, *INTEGERS))
    axis = normal_axis(attrs.axis, len(data.shape))
    require(attrs.k <= data.shape[axis], f"k is {attrs.k}, axis {attrs.axis} has {data.shape[axis]} values")
    return TensorType((*data.shape[:axis], attrs.k, *data.shape[axis + 1 :]), "int64")


@operator(ops.TOP_K, 1, _infer_top_k, TopKAttributes)
def top_k(attrs: TopKAttributes, data: Array) -> Array:
    """Positions of the k largest or smallest values along an axis, in order; of equal ones the first comes first, NaN last."""
    axis = attrs.axis % data.ndim
    if attrs.largest:
        # Of integers the complement turns the order without overflow.
        data = -data if data.dtype.kind == "f" else ~data
    order = np.argsort(data, axis=axis, kind="stable")
    return np.asarray(order.take(np.arange(attrs.k), axis=axis), np.int64)
