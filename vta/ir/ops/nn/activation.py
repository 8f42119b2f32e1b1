"""Activation functions and clipping."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.operator import Attributes, NoAttributes, TensorType, operator
from vta.ir.ops._checks import FLOATS, check_float, infer_same, normal_axis, require, require_dtype, require_same_dtype, wanted
from vta.ir.ops.nn.norm import along_axis
from vta.support.dataclass import dataclass

__all__ = ["ClipAttributes", "EluAttributes", "HardSigmoidAttributes", "LeakyReluAttributes"]

Array = NDArray[Any]


def _infer_float(attrs: Attributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], FLOATS)
    return types[0]


@operator(ops.RELU, 1, infer_same)
def relu(attrs: NoAttributes, data: Array) -> Array:
    """The larger of zero and the value."""
    return np.asarray(np.maximum(data, data.dtype.type(0)))


@dataclass(frozen=True, kw_only=True)
class LeakyReluAttributes(Attributes):
    """Slope below zero."""

    alpha: float = 0.01

    def __post_init__(self) -> None:
        check_float(self, "alpha")


@operator(ops.LEAKY_RELU, 1, _infer_float, LeakyReluAttributes)
def leaky_relu(attrs: LeakyReluAttributes, data: Array) -> Array:
    """The value, times `alpha` where negative."""
    return np.where(data < 0, data * data.dtype.type(attrs.alpha), data)


def _infer_prelu(attrs: NoAttributes, types: Sequence[TensorType]) -> TensorType:
    require_same_dtype(types)
    require_dtype(types[0], FLOATS)
    channels = types[0].shape[normal_axis(1, len(types[0].shape))]
    require(types[1].shape == (channels,), f"slope must have shape ({channels},), got {types[1].shape}")
    return types[0]


@operator(ops.PRELU, 2, _infer_prelu)
def prelu(attrs: NoAttributes, data: Array, slope: Array) -> Array:
    """The value, times the slope (C,) of its channel where negative."""
    return np.where(data < 0, data * along_axis(slope, 1, data.ndim), data)


@dataclass(frozen=True, kw_only=True)
class EluAttributes(Attributes):
    """Limit towards minus infinity, negated."""

    alpha: float = 1.0

    def __post_init__(self) -> None:
        check_float(self, "alpha")


@operator(ops.ELU, 1, _infer_float, EluAttributes)
def elu(attrs: EluAttributes, data: Array) -> Array:
    """The value, or ``alpha * (exp(value) - 1)`` where negative."""
    return np.where(data < 0, data.dtype.type(attrs.alpha) * np.expm1(np.minimum(data, data.dtype.type(0))), data)


@dataclass(frozen=True, kw_only=True)
class ClipAttributes(Attributes):
    """Bounds, inclusive; integers or floats, infinite where there is no bound."""

    a_min: float
    a_max: float

    def __post_init__(self) -> None:
        for field in ("a_min", "a_max"):
            value = getattr(self, field)
            if not isinstance(value, numbers.Real) or isinstance(value, bool) or math.isnan(value):
                raise wanted(self, field, "a number")
            object.__setattr__(self, field, int(value) if isinstance(value, numbers.Integral) else float(value))
        require(self.a_min <= self.a_max, f"a_min must not exceed a_max, got {self.a_min} and {self.a_max}")

    def bounds(self, dtype: str) -> tuple[float, float]:
        """Bounds as values of `dtype`: for integers, the whole numbers within the bounds and the type's range."""
        if dtype in FLOATS:
            return float(self.a_min), float(self.a_max)
        info = np.iinfo(dtype)
        low = info.min if self.a_min <= info.min else math.ceil(self.a_min)
        high = info.max if self.a_max >= info.max else math.floor(self.a_max)
        return low, high


def _infer_clip(attrs: ClipAttributes, types: Sequence[TensorType]) -> TensorType:
    data = types[0]
    require(data.dtype != "bool", "the input must be a number, got bool")
    if data.dtype not in FLOATS:
        low, high = attrs.bounds(data.dtype)
        info = np.iinfo(data.dtype)
        require(low <= high and low <= info.max and high >= info.min, f"no {data.dtype} lies in {attrs.a_min}..{attrs.a_max}")
    return data


@operator(ops.CLIP, 1, _infer_clip, ClipAttributes)
def clip(attrs: ClipAttributes, data: Array) -> Array:
    """Limit values to the bounds; keeps the data type."""
    low, high = attrs.bounds(data.dtype.name)
    return np.clip(data, data.dtype.type(low), data.dtype.type(high))


@operator(ops.SIGMOID, 1, _infer_float)
def sigmoid(attrs: NoAttributes, data: Array) -> Array:
    """Return ``1 / (1 + exp(-x))``."""
    one = data.dtype.type(1)
    with np.errstate(over="ignore"):
        return np.asarray(one / (one + np.exp(-data)))


@operator(ops.TANH, 1, _infer_float)
def tanh(attrs: NoAttributes, data: Array) -> Array:
    """Hyperbolic tangent."""
    return np.tanh(data)


@operator(ops.ERF, 1, _infer_float)
def erf(attrs: NoAttributes, data: Array) -> Array:
    """Error function."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(data.astype(np.float64)), dtype=data.dtype)


@dataclass(frozen=True, kw_only=True)
class HardSigmoidAttributes(Attributes):
    """Slope and value at zero."""

    alpha: float = 0.2
    beta: float = 0.5

    def __post_init__(self) -> None:
        check_float(self, "alpha")
        check_float(self, "beta")


@operator(ops.HARD_SIGMOID, 1, _infer_float, HardSigmoidAttributes)
def hard_sigmoid(attrs: HardSigmoidAttributes, data: Array) -> Array:
    """Return ``clip(alpha * x + beta, 0, 1)``."""
    real = data.dtype.type
    return np.asarray(np.clip(data * real(attrs.alpha) + real(attrs.beta), real(0), real(1)))


@operator(ops.HARD_SWISH, 1, _infer_float)
def hard_swish(attrs: NoAttributes, data: Array) -> Array:
    """Return ``x * clip(x / 6 + 1/2, 0, 1)``."""
    real = data.dtype.type
    return np.asarray(data * np.clip(data * real(1 / 6) + real(0.5), real(0), real(1)))
