"""What a requantize unit computes: int32 values times a 31-bit multiplier, rounded and shifted, to int8 or int32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.ir.arithmetic.fixed_point import per_channel, wrap32
from vta.ir.arithmetic.tflite_rounding import divide_by_power_of_two
from vta.ir.operator import Attributes, TensorType, operator
from vta.ir.ops._checks import check_flag, check_int, require, require_dtype
from vta.support.dataclass import dataclass

__all__ = ["MOST_SHIFT", "TABLE_ENTRIES", "RescaleAttributes"]

Array = NDArray[Any]

MOST_SHIFT = 31
TABLE_ENTRIES = 256


@dataclass(frozen=True, kw_only=True)
class RescaleAttributes(Attributes):
    """How products are rounded, and what becomes of them."""

    once: bool = False
    """The product is rounded once, halves up; otherwise as TFLite does, by 31 bits and then the rest, halves away from zero."""
    narrow: bool = True
    """Whether results are clipped to 8 bits."""
    left: int = 0
    """By how much values are shifted left before the product, where results are not narrow."""
    zero_point: int = 0
    """Added to narrow results before they are clipped to `a_min`..`a_max`."""
    a_min: int = -128
    a_max: int = 127

    def __post_init__(self) -> None:
        check_flag(self, "once")
        check_flag(self, "narrow")
        check_int(self, "left", 0, MOST_SHIFT)
        for field in ("zero_point", "a_min", "a_max"):
            check_int(self, field, -128, 127)


def _infer(attrs: RescaleAttributes, types: Sequence[TensorType]) -> TensorType:
    value, *parameters = types
    require_dtype(value, ("int32",))
    channels = value.shape[1] if len(value.shape) > 1 else 1
    for name, given in zip(("bias", "multiplier", "shift"), parameters, strict=False):
        require_dtype(given, ("int32",), name)
        allowed = ((1,), (channels,))
        require(given.shape in allowed, f"{name} must have one value, or one for each of {channels} channels, got {given}")
    for table in parameters[3:]:
        require_dtype(table, ("int8",), "the table")
        require(table.shape == (TABLE_ENTRIES,), f"the table must have {TABLE_ENTRIES} entries, got {table}")
        require(attrs.narrow, "only narrow results are looked up")
    return value


@operator(ops.RESCALE, (4, 5), _infer, RescaleAttributes)
def rescale(
    attrs: RescaleAttributes, value: Array, bias: Array, multiplier: Array, shift: Array, table: Array | None = None
) -> Array:
    """(value + bias) * multiplier / 2^(31 + shift), rounded; then the zero point, the clip and the table.

    All but the product is int32 and wraps. A shift below zero shifts to the left, before the product; docs/isa-extensions.md
    has the bits.
    """
    low, high = int(shift.min(initial=0)), int(shift.max(initial=0))
    require(
        low >= -MOST_SHIFT and high <= MOST_SHIFT,
        f"shifts must be in {-MOST_SHIFT}..{MOST_SHIFT}, got {low if low < -MOST_SHIFT else high}",
    )
    wide = [given.astype(np.int64) for given in (bias, multiplier, shift)]
    bias, multiplier, shift = (per_channel(given, value.ndim, 1) if value.ndim > 1 else given.reshape(()) for given in wide)
    left = attrs.left if not attrs.narrow else np.maximum(-shift, 0)
    right = np.maximum(shift, 0)
    raised = wrap32(np.left_shift(wrap32(value + bias).astype(np.int64), left)).astype(np.int64)
    result = _rounded_once(raised * multiplier, right) if attrs.once else _rounded_twice(raised * multiplier, right)
    if not attrs.narrow:
        return wrap32(result)
    narrow = np.clip(result + attrs.zero_point, attrs.a_min, attrs.a_max)
    return np.asarray(narrow if table is None else table[narrow + TABLE_ENTRIES // 2], np.int32)


def _rounded_once(product: Array, right: Array) -> Array:
    return np.asarray(np.right_shift(product + np.left_shift(np.int64(1), MOST_SHIFT - 1 + right), MOST_SHIFT + right))


def _rounded_twice(product: Array, right: Array) -> Array:
    return divide_by_power_of_two(np.right_shift(product + (1 << (MOST_SHIFT - 1)), MOST_SHIFT), right)
