"""Exact requantisation on a 32-bit ALU.

A requantisation to int8 never falls and has at most 255 steps, as a staircase. Whatever a framework's rounding is, the
place of each step says all about it. Here are integers for which, of a clamped x in wrapping int32 arithmetic,

    one factor:   (x * factor) >> 24
    two factors:  (((x * factor) >> shift) * second) >> 24
    two, a term:  (((x * factor) >> shift) * second + outer) >> 24
    a branch:     (x * factor + term + (((x >> s) * second) >> t)) >> 24

is that very function. x is the accumulator plus a `start`, which products can be summed on top of. Since products wrap, a start
that is large enough stands for any term that would have to be added after the first factor; where there is none, that term is
added. A second factor makes the slope finer than one 32-bit product allows; a branch, finer still. Rounding that goes away from
zero delays all steps below zero; where no slope absorbs that, another branch, (x >> 31) * delay, is added to the product.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.native import ffi, lib
from vta.support.dataclass import dataclass

__all__ = ["FINAL_SHIFT", "Form", "ThresholdFit", "Thresholds", "thresholds_of"]

Array = NDArray[Any]

FINAL_SHIFT = 24
"""The last shift leaves the top 8 bits of a 32-bit value: exactly an int8."""


class Form(Enum):
    """How the steps are computed."""

    ONE = "one factor"
    TWO = "two factors"
    TERM = "two factors and a term"
    BRANCH = "a branch"


@dataclass(frozen=True)
class Thresholds:
    """Functions that go up in steps, one a row: where each level is reached."""

    low: int
    """The level before the first step."""
    at: Array
    """(C, K) int64: the smallest x whose level is at least low + 1 + k. Rows never fall."""
    least: Array
    """(C,) int64: the smallest x there is."""
    most: Array
    """(C,) int64: the largest."""
    slope: Array
    """(C,) float64: levels for each x, about."""
    delay: Array | None = None
    """(C,) float64: by how much of a level those below zero come later; 0 where not both sides of zero have steps."""

    @property
    def high(self) -> int:
        """The level after the last step."""
        return self.low + int(self.at.shape[1])

    @cached_property
    def begin(self) -> Array:
        """(C,) int64: how many steps lie before the first that some x there is goes up."""
        return np.asarray(np.count_nonzero(self.at <= self.least[:, None], axis=1), np.int64)

    @cached_property
    def end(self) -> Array:
        """(C,) int64: the same after the last; as much as `begin` where there is none."""
        return np.asarray(np.count_nonzero(self.at <= self.most[:, None], axis=1), np.int64)


@dataclass(frozen=True)
class ThresholdFit:
    """The integers that compute thresholds, one for each channel."""

    form: Form
    start: Array
    """Added to the accumulator first; x from here on."""
    first: Array
    """x is clamped to first..last."""
    last: Array
    factor: Array
    second: Array
    shift: Array
    outer: Array
    """The term of `Form.TERM`."""
    exact: Array
    """(C,) bool: whether the thresholds are met at every x; elsewhere it is 1 off at some."""
    term: Array | None = None
    """What is added to the product; None where the start does that."""
    branch_shift: Array | None = None
    delay: Array | None = None
    """(C,): taken off the product where x + sign_offset is negative."""
    sign_offset: Array | None = None

    def levels(self, accumulator: Array) -> Array:
        """Return what they compute for accumulators of shape (C, n)."""
        x = np.clip(_wrapped(accumulator + self.start[:, None]), self.first[:, None], self.last[:, None])
        value = x * self.factor[:, None]
        if self.term is not None:
            value = value + self.term[:, None]
        if self.delay is not None and self.sign_offset is not None:
            value = value + ((x + self.sign_offset[:, None]) >> 31) * self.delay[:, None]
        if self.form is Form.BRANCH:
            assert self.branch_shift is not None
            branch = _wrapped((x >> self.shift[:, None]) * self.second[:, None]) >> self.branch_shift[:, None]
            value = value + branch
        elif self.form is not Form.ONE:
            value = (_wrapped(value) >> self.shift[:, None]) * self.second[:, None] + self.outer[:, None]
        return np.asarray(_wrapped(value) >> FINAL_SHIFT)


def _wrapped(values: Array) -> Array:
    return values.astype(np.int32).astype(np.int64)


def thresholds_of(low: int, at: Array, least: Array, most: Array, slope: Array, delay: Array | None = None) -> Thresholds:
    """Return `Thresholds` with those that x never meets moved to the ends of its range; `at` is theirs from then on."""
    at, least, most = (np.ascontiguousarray(values, np.int64) for values in (at, least, most))
    begin, end = np.empty((2, len(at)), np.int64)
    pointers = [ffi.from_buffer("int64_t[]", values) for values in (at, least, most, begin, end)]
    lib.vta_threshold_ends(pointers[0], at.shape[1], *pointers[1:3], len(at), *pointers[3:])
    if delay is not None:
        both = begin < end
        if both.any():
            rows = np.arange(len(at))
            both &= (at[rows, np.minimum(begin, at.shape[1] - 1)] <= 0) & (at[rows, end - 1] > 0)
        delay = np.where(both, delay, 0.0)
    steps = Thresholds(low, at, least, most, slope, None if delay is None or not delay.any() else delay)
    vars(steps).update(begin=begin, end=end)  # where its properties keep what they found
    return steps
