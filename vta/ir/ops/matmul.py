"""Products of two matrices of integers, neither of which has to be constant; and the same on images, as VTA computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.operator import Attributes, TensorType, operator
from vta.ir.ops._checks import check_int, require, require_dtype, require_rank
from vta.ir.ops._matmul import wrap_int32
from vta.support.dataclass import dataclass

__all__ = ["GroupsAttributes", "MatmulAttributes", "Matmul2DAttributes"]

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class MatmulAttributes(Attributes):
    """Attributes of qnn.matmul: what stands for zero in either matrix."""

    lhs_zero_point: int = 0
    rhs_zero_point: int = 0

    def __post_init__(self) -> None:
        for field in ("lhs_zero_point", "rhs_zero_point"):
            check_int(self, field, -128, 127)


def _infer_matmul(attrs: MatmulAttributes, types: Sequence[TensorType]) -> TensorType:
    left, right = types
    for each in types:
        require_dtype(each, ("int8",))
    require(len(left.shape) >= 2 and len(right.shape) >= 2, f"inputs need 2 dimensions, got {left.shape} and {right.shape}")
    require(
        left.shape[-1] == right.shape[-2],
        f"the last dimension of {left.shape} must equal the last but one of {right.shape}",
    )
    try:
        lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        raise GraphError(f"leading dimensions of {left.shape} and {right.shape} do not broadcast") from None
    return TensorType((*lead, left.shape[-2], right.shape[-1]), "int32")


@operator(ops.QNN_MATMUL, 2, _infer_matmul, MatmulAttributes)
def _matmul(attrs: MatmulAttributes, left: Array, right: Array) -> Array:
    # Sums of products of 9 bits are exact in double precision.
    centered = left.astype(np.float64) - attrs.lhs_zero_point, right.astype(np.float64) - attrs.rhs_zero_point
    return wrap_int32(np.matmul(*centered))


@dataclass(frozen=True, kw_only=True)
class GroupsAttributes(Attributes):
    """Groups of channels that have nothing to do with each other, such as the heads of an attention."""

    groups: int = 1

    def __post_init__(self) -> None:
        check_int(self, "groups", 1)


@dataclass(frozen=True, kw_only=True)
class Matmul2DAttributes(GroupsAttributes):
    """Attributes of nn.matmul2d: its groups, and what stands for zero in either tensor."""

    lhs_zero_point: int = 0
    rhs_zero_point: int = 0

    def __post_init__(self) -> None:
        check_int(self, "groups", 1)
        for field in ("lhs_zero_point", "rhs_zero_point"):
            check_int(self, field, -128, 127)


def _infer_matmul2d(attrs: Matmul2DAttributes, types: Sequence[TensorType]) -> TensorType:
    left, right = types
    for each, what in ((left, "data"), (right, "weights")):
        require_dtype(each, ("int8",))
        _require_groups(attrs, each, what)
    require(left.shape[:2] == right.shape[:2], f"batch and channels of {left.shape} and {right.shape} must be the same")
    return TensorType((left.shape[0], attrs.groups * right.shape[3], *left.shape[2:]), "int32")


@operator(ops.MATMUL2D, 2, _infer_matmul2d, Matmul2DAttributes)
def _matmul2d(attrs: Matmul2DAttributes, data: Array, weights: Array) -> Array:
    """In each group, (N, K, H, W) by (N, K, 1, P) gives (N, P, H, W): what each place of both has in common."""
    batch, channels, height, width = data.shape
    shape = batch, attrs.groups, channels // attrs.groups
    left = data.reshape(*shape, height * width).astype(np.float64) - attrs.lhs_zero_point
    right = weights.reshape(*shape, weights.shape[3]).astype(np.float64) - attrs.rhs_zero_point
    return wrap_int32(right.swapaxes(2, 3) @ left).reshape(batch, attrs.groups * weights.shape[3], height, width)


def _infer_transpose2d(attrs: GroupsAttributes, types: Sequence[TensorType]) -> TensorType:
    (data,) = types
    _require_groups(attrs, data, "data")
    batch, channels, _, width = data.shape
    return TensorType((batch, attrs.groups * width, 1, channels // attrs.groups), data.dtype)


@operator(ops.TRANSPOSE2D, 1, _infer_transpose2d, GroupsAttributes)
def _transpose2d(attrs: GroupsAttributes, data: Array) -> Array:
    """In each group of channels, (N, C, 1, W) becomes (N, W, 1, C)."""
    batch, channels, _, width = data.shape
    turned = data.reshape(batch, attrs.groups, channels // attrs.groups, width).swapaxes(2, 3)
    return np.ascontiguousarray(turned).reshape(batch, attrs.groups * width, 1, channels // attrs.groups)


def _require_groups(attrs: GroupsAttributes, type_: TensorType, what: str) -> None:
    require_rank(type_, 4, what)
    require(type_.shape[1] % attrs.groups == 0, f"{type_.shape[1]} channels of the {what} are not {attrs.groups} equal groups")
    if what != "data" or not isinstance(attrs, Matmul2DAttributes):
        require(type_.shape[2] == 1, f"the {what} must have one row, got shape {type_.shape}")
