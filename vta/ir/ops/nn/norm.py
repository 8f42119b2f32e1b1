"""Bias, normalisation and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.operator import Attributes, TensorType, operator
from vta.ir.ops._checks import (
    FLOATS,
    check_float,
    check_int,
    normal_axis,
    require,
    require_dtype,
    require_rank,
    require_same_dtype,
)
from vta.support.dataclass import dataclass

__all__ = ["AxisAttributes", "BatchNormAttributes", "LRNAttributes", "SoftmaxAttributes", "along_axis"]

Array = NDArray[Any]


def along_axis(vector: Array, axis: int, rank: int) -> Array:
    """Reshape `vector` (C,) so that it broadcasts along `axis` of a value with `rank` dimensions."""
    shape = [1] * rank
    shape[axis] = -1
    return vector.reshape(shape)


def _require_vectors(types: Sequence[TensorType], axis: int, names: Sequence[str]) -> None:
    """Check that the inputs after the first are vectors as long as `axis` of the first."""
    size = types[0].shape[normal_axis(axis, len(types[0].shape))]
    for type_, name in zip(types[1:], names, strict=True):
        require(type_.shape == (size,), f"{name} must have shape ({size},) for axis {axis}, got {type_.shape}")


@dataclass(frozen=True, kw_only=True)
class AxisAttributes(Attributes):
    """The channel axis."""

    axis: int = 1

    def __post_init__(self) -> None:
        check_int(self, "axis")


def _infer_bias_add(attrs: AxisAttributes, types: Sequence[TensorType]) -> TensorType:
    require_same_dtype(types)
    _require_vectors(types, attrs.axis, ["bias"])
    return types[0]


@operator(ops.BIAS_ADD, 2, _infer_bias_add, AxisAttributes)
def bias_add(attrs: AxisAttributes, data: Array, bias: Array) -> Array:
    """Add bias (C,) along the channel axis; integers wrap."""
    return np.add(data, along_axis(bias, attrs.axis, data.ndim))


@dataclass(frozen=True, kw_only=True)
class BatchNormAttributes(AxisAttributes):
    """Inference-time batch normalisation."""

    epsilon: float = 1e-5
    """Added to the variance."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_float(self, "epsilon")
        require(self.epsilon >= 0, f"epsilon must not be negative, got {self.epsilon}")


def _infer_batch_norm(attrs: BatchNormAttributes, types: Sequence[TensorType]) -> TensorType:
    require_same_dtype(types)
    require_dtype(types[0], FLOATS, "data")
    _require_vectors(types, attrs.axis, ["gamma", "beta", "mean", "var"])
    return types[0]


@operator(ops.BATCH_NORM, 5, _infer_batch_norm, BatchNormAttributes)
def batch_norm(attrs: BatchNormAttributes, data: Array, *parameters: Array) -> Array:
    """Return ``(data - mean) / sqrt(var + epsilon) * gamma + beta`` per channel, as one multiply and one add.

    The inputs after data are gamma, beta, mean and var, each (C,).
    """
    gamma, beta, mean, var = parameters
    scale = gamma / np.sqrt(var + data.dtype.type(attrs.epsilon))
    shift = beta - mean * scale
    return data * along_axis(scale, attrs.axis, data.ndim) + along_axis(shift, attrs.axis, data.ndim)


@dataclass(frozen=True, kw_only=True)
class SoftmaxAttributes(Attributes):
    """The axis that sums to one."""

    axis: int = -1

    def __post_init__(self) -> None:
        check_int(self, "axis")


def _infer_softmax(attrs: SoftmaxAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], FLOATS)
    normal_axis(attrs.axis, len(types[0].shape))
    return types[0]


@operator(ops.SOFTMAX, 1, _infer_softmax, SoftmaxAttributes)
def softmax(attrs: SoftmaxAttributes, data: Array) -> Array:
    """Exponentials along `axis` divided by their sum."""
    exponentials = np.exp(data - data.max(axis=attrs.axis, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=attrs.axis, keepdims=True))


@operator(ops.LOG_SOFTMAX, 1, _infer_softmax, SoftmaxAttributes)
def log_softmax(attrs: SoftmaxAttributes, data: Array) -> Array:
    """Logarithm of the softmax along `axis`."""
    shifted = data - data.max(axis=attrs.axis, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=attrs.axis, keepdims=True)))


@dataclass(frozen=True, kw_only=True)
class LRNAttributes(Attributes):
    """Local response normalisation across channels."""

    size: int
    """Channels in a window."""
    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0

    def __post_init__(self) -> None:
        check_int(self, "size", 1)
        for field in ("alpha", "beta", "bias"):
            check_float(self, field)


def _infer_lrn(attrs: LRNAttributes, types: Sequence[TensorType]) -> TensorType:
    require_rank(types[0], 4)
    require_dtype(types[0], FLOATS)
    return types[0]


@operator(ops.LRN, 1, _infer_lrn, LRNAttributes)
def lrn(attrs: LRNAttributes, data: Array) -> Array:
    """Return ``data / (bias + alpha / size * sum of squares of neighbouring channels) ** beta``."""
    before, channels = (attrs.size - 1) // 2, data.shape[1]
    squares = np.pad(data * data, ((0, 0), (before, attrs.size - 1 - before), (0, 0), (0, 0)))
    total = np.zeros_like(data)
    for offset in range(attrs.size):
        total += squares[:, offset : offset + channels]
    return np.asarray(data / (attrs.bias + attrs.alpha / attrs.size * total) ** attrs.beta)
