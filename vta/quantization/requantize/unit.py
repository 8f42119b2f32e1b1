"""Requantisation by the unit of the hardware: which of its multipliers and shifts put every step of a staircase in its place.

TFLite's own multipliers do by definition. Other roundings are tried: what is found is compared with all steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir.arithmetic.tflite_rounding import quantized_multiplier
from vta.quantization.requantize.rounding_steps import requantized_steps
from vta.quantization.requantize.thresholds import Thresholds, thresholds_of
from vta.support.dataclass import dataclass

__all__ = ["UnitParameters", "fit_unit", "fits_unit"]

Ints = NDArray[np.int64]

_MOST_SHIFT = 31
_TRIES = (0, *(sign * size for size in range(1, 33) for sign in (1, -1)))
"""What is added to a multiplier of 31 bits, the nearest first."""
_LARGEST_MULTIPLIER = 2**31 - 1


@dataclass(frozen=True)
class UnitParameters:
    """Multiplier and shift of each channel, shape (C,), and how their products are rounded."""

    multiplier: Ints
    shift: Ints
    """To the right after the multiplication; a negative one to the left before it."""
    once: bool


def fits_unit(parameters: UnitParameters, largest: Any) -> bool:
    """Whether no accumulator of magnitude up to `largest`, one or one for each channel, wraps as it is shifted to the left."""
    left = np.maximum(-parameters.shift, 0)
    if parameters.shift.max(initial=0) > _MOST_SHIFT or left.max(initial=0) > _MOST_SHIFT:
        return False
    return bool((np.asarray(largest, np.float64) * 2.0**left < 2.0**31).all())


def fit_unit(steps: Thresholds, zero_point: int, ratio: NDArray[np.float64]) -> UnitParameters | None:
    """Parameters that give the levels of `steps`, whose slope is about `ratio`, at every x that there is; None if none are found.

    They are the same for all channels where `steps` has one row.
    """
    multiplier, exponent = quantized_multiplier(ratio)
    for once in (True, False):
        found = np.zeros_like(multiplier)
        for change in _TRIES:
            rows = np.flatnonzero(found == 0)
            if not rows.size:
                break
            tried = np.clip(multiplier[rows] + change, 1, _LARGEST_MULTIPLIER)
            exact = _exact(steps, rows, zero_point, tried, exponent[rows], once)
            found[rows[exact]] = tried[exact]
        if found.all():
            return UnitParameters(found, -exponent, once)
    return None


def _exact(steps: Thresholds, rows: Ints, zero_point: int, multiplier: Ints, exponent: Ints, once: bool) -> NDArray[np.bool_]:
    """Which of the channels `rows` have all their steps in place."""
    levels = np.arange(steps.low + 1, steps.high + 1, dtype=np.int64) - zero_point
    at = requantized_steps(levels, multiplier, exponent, once=once)
    found = thresholds_of(steps.low, at, steps.least[rows], steps.most[rows], steps.slope[rows])
    return np.asarray((found.at == steps.at[rows]).all(axis=1))
