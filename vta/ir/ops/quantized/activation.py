"""Activations of int8 values in integers: any function as a table, leaky ReLU and hard swish with multipliers and shifts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import GraphError
from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import (
    HardSwishConstants,
    Scale,
    hard_swish_constants,
    per_channel,
    requantize,
    slope_multiplier,
)
from vta.ir.operator import Attributes, NoAttributes, TensorType, operator
from vta.ir.ops._checks import check_float, normal_axis, require, require_dtype
from vta.support.dataclass import dataclass

__all__ = ["LEAKY_LIMIT", "SWISH_LIMIT", "HardSwishAttributes", "LeakyReluAttributes"]

Array = NDArray[Any]

LEAKY_LIMIT = 1 << 15
"""int32 values are clipped to -LEAKY_LIMIT..LEAKY_LIMIT - 1 before a slope is applied, so that no product wraps."""

SWISH_LIMIT = 1 << 11
"""int32 values are clipped to -SWISH_LIMIT..SWISH_LIMIT - 1 before a hard swish: 16 steps for one of int8."""


def _infer_lookup(attrs: NoAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], ("int8",), "data")
    require_dtype(types[1], ("int8",), "the table")
    require(types[1].shape == (256,), f"the table must have shape (256,), got {types[1].shape}")
    return types[0]


@operator(ops.QNN_LOOKUP, 2, _infer_lookup)
def _lookup(attrs: NoAttributes, data: Array, table: Array) -> Array:
    """Entry value + 128 of a table of 256, for each value."""
    return np.asarray(table[data.astype(np.int16) + 128])


@dataclass(frozen=True)
class LeakyReluAttributes(Attributes):
    """Attributes of qnn.leaky_relu. Input and output have the same scale, and zero point 0."""

    alpha: Scale
    """The slope below zero; one, or one for each channel."""
    axis: int = 1


def _infer_leaky_relu(attrs: LeakyReluAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], ("int8", "int32"))
    slopes = attrs.alpha if isinstance(attrs.alpha, tuple) else (attrs.alpha,)
    if not all(abs(slope) <= 128 for slope in slopes):
        raise GraphError(f"alpha = {attrs.alpha!r}; slopes are between -128 and 128")
    if isinstance(attrs.alpha, tuple):
        channels = types[0].shape[normal_axis(attrs.axis, len(types[0].shape))]
        require(len(slopes) == channels, f"alpha has {len(slopes)} values for {channels} channels")
    return TensorType(types[0].shape, "int8")


@operator(ops.QNN_LEAKY_RELU, 1, _infer_leaky_relu, LeakyReluAttributes)
def _leaky_relu(attrs: LeakyReluAttributes, data: Array) -> Array:
    """The value where it is not negative, else (value * m + half) >> n, clipped to int8."""
    values = np.clip(data.astype(np.int64), -LEAKY_LIMIT, LEAKY_LIMIT - 1)
    multiplier, shift = (per_channel(part, data.ndim, attrs.axis) for part in slope_multiplier(attrs.alpha))
    below = requantize(np.minimum(values, 0), multiplier, shift, 0)
    return np.asarray(np.clip(np.where(values < 0, below, values), -128, 127).astype(np.int8))


@dataclass(frozen=True)
class HardSwishAttributes(Attributes):
    """Attributes of qnn.hard_swish. Both zero points are 0."""

    input_scale: float
    output_scale: float
    factor: float = 1.0
    """What the hard swish is multiplied by."""
    offset: float = 0.0
    """What is added then, a real number."""

    def __post_init__(self) -> None:
        check_float(self, "input_scale", above=0.0)
        check_float(self, "output_scale", above=0.0)
        check_float(self, "factor", above=0.0)
        check_float(self, "offset")

    def constants(self, dtype: str) -> HardSwishConstants:
        """The integers that compute it from a value of `dtype`. Raises `CompileError` if there are none."""
        limit = 128 if dtype == "int8" else SWISH_LIMIT
        return hard_swish_constants(self.input_scale, self.output_scale, self.factor, self.offset, limit)


def _infer_hard_swish(attrs: HardSwishAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], ("int8", "int32"))
    attrs.constants(types[0].dtype)
    return TensorType(types[0].shape, "int8")


@operator(ops.QNN_HARD_SWISH, 1, _infer_hard_swish, HardSwishAttributes)
def _hard_swish(attrs: HardSwishAttributes, data: Array) -> Array:
    """(x * clip(x * k + a, 0, 2 * a) + t) >> n, clipped to int8; t is half a level and the offset."""
    made, values = attrs.constants(data.dtype.name), np.clip(data.astype(np.int64), -SWISH_LIMIT, SWISH_LIMIT - 1)
    share = np.clip(values * made.factor + made.share, 0, 2 * made.share)
    return np.asarray(np.clip((values * share + made.term) >> made.shift, -128, 127).astype(np.int8))
