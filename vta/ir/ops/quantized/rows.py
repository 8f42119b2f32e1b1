"""Softmax and normalisation of int8 values along an axis, in 32-bit integers: what we quantise ourselves, on VTA or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.arithmetic.rows import LARGEST_ROOT, MEAN_BITS, ONE, Factor, Reciprocal, Root, Squares, high_product
from vta.ir.operator import Attributes, TensorType, operator
from vta.ir.ops._checks import FLOATS, check_flag, check_float, check_int, normal_axis, require, require_dtype
from vta.support.dataclass import dataclass

__all__ = [
    "LONGEST_ROW",
    "ROOT_OFFSET",
    "NormalizeAttributes",
    "QnnNormalizeAttributes",
    "RowAttributes",
    "SharesAttributes",
    "TermsAttributes",
    "roots_table",
]

Array = NDArray[Any]

LONGEST_ROW = 4096
"""Values that a sum is of, at most."""
_RATE_BITS = 24
_DIFFERENCES = 256
ROOT_OFFSET = 128
"""What the int8 roots of terms are less than their values."""
_MOST_ADDED = 1 << 28


@dataclass(frozen=True, kw_only=True)
class RowAttributes(Attributes):
    """The axis along which values belong together."""

    axis: int = -1

    def __post_init__(self) -> None:
        check_int(self, "axis")


@dataclass(frozen=True, kw_only=True)
class TermsAttributes(RowAttributes):
    """Attributes of qnn.softmax_terms."""

    input_scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_float(self, "input_scale", above=0.0)

    @property
    def rate(self) -> int:
        """By how many units of 2^-24 a step of the input changes the binary logarithm of the root of a term."""
        return max(1, min(round(self.input_scale / (2 * math.log(2)) * (1 << _RATE_BITS)), (1 << 31) - 1))


def roots_table(rate: int, masks: bool = False) -> Array:
    """``255 * 2^(-d * rate / 2^24)``, less 128, for differences d from 255 down to 0: shape (256,), int8.

    With `masks` the first, of 255, is that of zero: so far below the largest value is what a mask takes away.
    """
    exponents = -np.arange(_DIFFERENCES - 1, -1, -1) * (rate / (1 << _RATE_BITS))
    roots = np.floor(LARGEST_ROOT * np.exp2(exponents) + 0.5)
    if masks:
        roots[0] = 0
    return np.asarray(roots - ROOT_OFFSET).astype(np.int8)


def _infer(attrs: Any, types: Sequence[TensorType]) -> TensorType:
    (data,) = types
    require_dtype(data, ("int8",))
    size = data.shape[normal_axis(attrs.axis, len(data.shape))]
    require(0 < size <= LONGEST_ROW, f"the axis must have 1 to {LONGEST_ROW} values, got {size}")
    return data


def _infer_terms(attrs: TermsAttributes, types: Sequence[TensorType]) -> TensorType:
    data = types[0]
    result = _infer(attrs, types[:1])
    if len(types) > 1:
        rows, last = math.prod(data.shape[:-1]), len(data.shape) - 1
        require_dtype(types[1], ("int16",))
        require(attrs.axis in (-1, last), f"what is added to rows takes the last axis, got axis {attrs.axis}")
        fits = len(types[1].shape) == 2 and types[1].shape[1] == data.shape[-1] and rows % max(types[1].shape[0], 1) == 0
        wanted = f"a divisor of {rows}, {data.shape[-1]}"
        require(fits and types[1].shape[0] > 0, f"what is added to rows must have shape ({wanted}), got {types[1].shape}")
    return result


@operator(ops.QNN_SOFTMAX_TERMS, (1, 2), _infer_terms, TermsAttributes)
def _terms(attrs: TermsAttributes, data: Array, added: Array | None = None) -> Array:
    """Roots of the exponentials of differences from the largest value along `axis`, from 0 to 255, less 128.

    With `added`, shape (period, n) and int16: row i of n values is first added to row ``i % period`` of it, and what is then 255
    below the largest value, or more, has the root 0.
    """
    if added is None:
        difference = data.astype(np.int64) - data.max(axis=attrs.axis, keepdims=True)
        return np.asarray(roots_table(attrs.rate)[difference + _DIFFERENCES - 1])
    values = data.reshape(-1, *added.shape).astype(np.int64) + added
    difference = np.maximum(values - values.max(axis=-1, keepdims=True), 1 - _DIFFERENCES)
    return np.asarray(roots_table(attrs.rate, masks=True)[difference + _DIFFERENCES - 1]).reshape(data.shape)


@dataclass(frozen=True, kw_only=True)
class SharesAttributes(RowAttributes):
    """Attributes of qnn.softmax_shares."""

    output_scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_float(self, "output_scale", above=0.0)
        require(2.0**-15 <= self.output_scale <= 1, f"output_scale must be from 2^-15 to 1, got {self.output_scale}")

    def factor(self, count: int) -> Factor:
        """What reciprocals are multiplied by to be the multiplier of terms."""
        return Factor.of(2.0**31 / ONE / 2.0 ** Reciprocal(count).shift / self.output_scale)


@operator(ops.QNN_SOFTMAX_SHARES, 1, _infer, SharesAttributes)
def _shares(attrs: SharesAttributes, data: Array) -> Array:
    """The square of each of the roots of qnn.softmax_terms over the sum of all along `axis`."""
    terms = (data.astype(np.int64) + ROOT_OFFSET) ** 2
    count = data.shape[attrs.axis]
    reciprocal = Reciprocal(count).of(terms.sum(axis=attrs.axis, keepdims=True))
    return np.clip(high_product(terms, attrs.factor(count).applied(reciprocal), 0), -128, 127).astype(np.int8)


@dataclass(frozen=True, kw_only=True)
class NormalizeAttributes(RowAttributes):
    """Along which axis values get variance 1."""

    epsilon: float
    """Added to the variance."""
    center: bool = True
    """Whether the mean is taken off before; otherwise the mean of squares becomes 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag(self, "center")
        check_float(self, "epsilon")
        require(self.epsilon >= 0, f"epsilon must not be negative, got {self.epsilon}")


def _infer_normalize(attrs: NormalizeAttributes, types: Sequence[TensorType]) -> TensorType:
    require_dtype(types[0], FLOATS)
    normal_axis(attrs.axis, len(types[0].shape))
    return types[0]


@operator(ops.NORMALIZE, 1, _infer_normalize, NormalizeAttributes)
def _normalize(attrs: NormalizeAttributes, data: Array) -> Array:
    """``(data - mean) / sqrt(variance + epsilon)``, or ``data / sqrt(mean of squares + epsilon)``."""
    centered = data - data.mean(axis=attrs.axis, keepdims=True) if attrs.center else data
    variance = (centered * centered).mean(axis=attrs.axis, keepdims=True)
    return np.asarray(centered / np.sqrt(variance + data.dtype.type(attrs.epsilon)))


@dataclass(frozen=True, kw_only=True)
class QnnNormalizeAttributes(NormalizeAttributes):
    """Attributes of qnn.normalize."""

    input_scale: float
    output_scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("input_scale", "output_scale"):
            check_float(self, field, above=0.0)
        require(2.0**-10 <= self.output_scale <= 1, f"output_scale must be from 2^-10 to 1, got {self.output_scale}")

    def added(self, count: int) -> int:
        """`epsilon` as a part of a sum of squares."""
        whole = count * self.epsilon / self.input_scale**2 * 2.0 ** Squares(count).fraction
        return int(min(whole, float(_MOST_ADDED)) + 0.5)

    def left(self, count: int) -> int:
        """By how much values are shifted to the left before they are multiplied, so that no multiplier is too large."""
        return max(0, math.ceil(math.log2(self._gain(count) * 2.0 ** (Squares(count).most_shifts // 2 + 1))))

    def factor(self, count: int) -> Factor:
        """What roots are multiplied by, before they are shifted, to be the multiplier of values."""
        return Factor.of(self._gain(count) * 2.0 ** (31 - self.left(count) - Root.BITS))

    def _gain(self, count: int) -> float:
        """What a value in units of 2^-6, times a root as a real number, is multiplied by."""
        whole = math.sqrt(count * 2.0 ** Squares(count).fraction)
        return whole / (self.output_scale * 2.0 ** (MEAN_BITS + Root.OF_BITS // 2))


@operator(ops.QNN_NORMALIZE, 1, _infer, QnnNormalizeAttributes)
def _qnn_normalize(attrs: QnnNormalizeAttributes, data: Array) -> Array:
    """`nn.normalize` of the numbers that the data stand for, in integers."""
    values, count = data.astype(np.int64), data.shape[attrs.axis]
    of = Squares(count)
    squares = np.left_shift((values * values).sum(axis=attrs.axis, keepdims=True), of.fraction)
    total = values.sum(axis=attrs.axis, keepdims=True) if attrs.center else np.zeros_like(squares)
    squares = squares - high_product(total, of.mean.applied(total), of.left)
    root, shifts = Root.of(np.maximum(squares + attrs.added(count), of.least))
    multiplier = np.left_shift(attrs.factor(count).applied(root), shifts // 2)
    centered = values * (1 << MEAN_BITS) + of.offset.applied(total)
    return np.clip(high_product(centered, multiplier, attrs.left(count)), -128, 127).astype(np.int8)
