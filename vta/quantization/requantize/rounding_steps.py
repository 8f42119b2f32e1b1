"""Where the steps of each rounding lie: the thresholds that `vta.quantization.requantize.thresholds` computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.native import ffi, lib

__all__ = ["average_steps", "requantized_steps", "searched_steps"]

Array = NDArray[Any]

_NEVER = 1 << 40
"""Beyond every int32."""


def requantized_steps(levels: Array, multiplier: Array, exponent: Array, *, once: bool) -> Array:
    """Return the smallest x whose product with the ratio, rounded as TFLite does, is at least each of `levels`.

    `levels` has shape (K,), `multiplier` and `exponent` (C,), as `quantized_multiplier` gives them; the result (C, K), int64.
    `once` is the rounding of fully connected layers.
    """
    if once:
        return _rounded_once(levels[None], multiplier[:, None], exponent[:, None])
    at = np.empty((len(multiplier), len(levels)), np.int64)
    given = [ffi.from_buffer("int64_t[]", np.ascontiguousarray(values, np.int64)) for values in (levels, multiplier, exponent)]
    wanted, factors, exponents = given
    lib.vta_requantized_steps(wanted, len(levels), factors, exponents, len(at), ffi.from_buffer("int64_t[]", at))
    return at


def _rounded_once(levels: Array, factor: Array, amount: Array) -> Array:
    shift = 31 - amount
    # Levels have 9 bits: beyond 53 bits the product would not fit, and no int32 reaches any level but the one at zero.
    kept = np.minimum(shift, 53)
    half = np.left_shift(np.int64(1), kept - 1)
    least = _divided_up(np.left_shift(levels, kept) - half, np.maximum(factor >> (shift - kept), 1))
    return np.where(factor == 0, np.where(levels <= 0, -_NEVER, _NEVER), least)


def average_steps(levels: Array, count: int, *, unsigned: bool) -> Array:
    """Return the smallest sum of `count` values whose average is at least each of `levels`, as (1, K) int64."""
    half = count // 2
    above = levels * count - half
    # Halves go away from zero, so below zero a level is left at the half.
    below = (levels - 1) * count + half + 1
    return np.where(unsigned | (levels > 0), above, below)[None].astype(np.int64)


def searched_steps(levels: Array, compute: Callable[[Array], Array], ratio: Array) -> Array:
    """Return the smallest x whose level by `compute` is at least each of `levels`, as (C, K) int64.

    `compute` takes x of shape (C, n), never falls along a row and is near x times `ratio`, shape (C,).
    """
    middle = levels[None] / np.maximum(ratio, 1e-30)[:, None]
    spread = np.abs(middle) * 1e-6 + 2.0 / np.maximum(ratio, 1e-30)[:, None] + 2
    low, high = (np.clip(end, -_NEVER, _NEVER).astype(np.int64) for end in (middle - spread, middle + spread))
    while (high - low > 1).any():
        half = (low + high) >> 1
        reached = compute(half) >= levels[None]
        low, high = np.where(reached, low, half), np.where(reached, half, high)
    return high


def _divided_up(values: Array, divisor: Array) -> Array:
    return np.asarray(-((-values) // divisor))
