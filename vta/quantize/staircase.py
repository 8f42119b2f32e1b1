"""Exact requantisation on a 32-bit ALU.

A requantisation to int8 is a staircase: it never falls, and has at most 255 steps. Whatever a framework's rounding is, the
place of each step says all about it. Here are found integers for which

    one factor:   (x * factor + term) >> 24
    two factors:  (((x * factor + term) >> shift) * second) >> 24
    a branch:     (x * factor + term + (((x >> shift) * second) >> branch_shift)) >> 24

of a clamped x in wrapping int32 arithmetic is that very staircase. A second factor makes the slope finer than one 32-bit product
allows; a branch, finer still. Rounding that goes away from zero delays all steps below zero; where no slope absorbs that, another
branch, (x >> 31) * kink, is added to the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FINAL_SHIFT", "Form", "Staircase", "Steps", "fit", "steps_of"]

Array = NDArray[Any]

FINAL_SHIFT = 24
"""The last shift leaves the top 8 bits of a 32-bit value: exactly an int8."""

_HALF = 1 << 31
_OFFSETS = (0, 1, -1, 2, -2, 3, -3, 4, -4)
"""Factors that are tried, around the nearest to the ratio."""
_MIDDLE_SHIFTS = (10, 9, 11, 8)
_SLOPES = 10
"""Second factors that are tried for each middle shift: those that come nearest to the ratio."""
_FINEST_SLOPE_BITS = 10.2
"""Steps further apart than two to this take more than two factors to place."""
_BRANCH_BITS = 15
"""Bits of the slope that a branch adds to those of the factor."""
_PATIENCE = 3
"""Candidates after which a form that fails most channels is given up."""
_BRANCH_OFFSETS = tuple(sorted(range(-24, 25), key=abs))


class Form(Enum):
    """The chain that builds a staircase."""

    ONE = "one factor"
    TWO = "two factors"
    BRANCH = "a branch"


@dataclass(frozen=True)
class Steps:
    """The steps of staircases, one a row: where each level is reached."""

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
    kink: Array | None = None
    """(C,) float64: by how much of a level those below zero come later, where there are steps on both sides of zero."""

    @property
    def high(self) -> int:
        """The level after the last step."""
        return self.low + int(self.at.shape[1])

    def first(self) -> Array:
        """(C,): the largest x that is worth telling from smaller ones."""
        return np.clip(self.at[:, 0] - 1, self.least, self.most) if self.at.shape[1] else self.least

    def last(self) -> Array:
        """(C,): the smallest x that is worth telling from larger ones."""
        return np.clip(self.at[:, -1], self.least, self.most) if self.at.shape[1] else self.least


@dataclass(frozen=True)
class Staircase:
    """The integers that make staircases, one for each channel."""

    form: Form
    first: Array
    """x is clamped to first..last."""
    last: Array
    factor: Array
    term: Array
    second: Array
    shift: Array
    branch_shift: int
    exact: Array
    """(C,) bool: whether the staircase is met at every x; elsewhere it is 1 off at some."""
    kink: Array | None = None
    """(C,): added to the product where x + sign_offset is negative, times -1."""
    sign_offset: Array | None = None

    def levels(self, x: Array) -> Array:
        """Return what the chain computes for `x` of shape (C, n)."""
        factor, term, second = self.factor[:, None], self.term[:, None], self.second[:, None]
        clamped = np.clip(x, self.first[:, None], self.last[:, None])
        value = clamped * factor + term
        if self.kink is not None and self.sign_offset is not None:
            value = value + ((clamped + self.sign_offset[:, None]) >> 31) * self.kink[:, None]
        if self.form is Form.TWO:
            value = (_wrapped(value) >> self.shift[:, None]) * second
        elif self.form is Form.BRANCH:
            value = value + (_wrapped((clamped >> self.shift[:, None]) * second) >> self.branch_shift)
        return np.asarray(_wrapped(value) >> FINAL_SHIFT)


def _wrapped(values: Array) -> Array:
    return values.astype(np.int32).astype(np.int64)


def steps_of(low: int, at: Array, least: Array, most: Array, slope: Array, kink: Array | None = None) -> Steps:
    """Return `Steps` with those that x never meets moved to the ends of its range."""
    inside = np.clip(at, least[:, None], most[:, None] + 1)
    two_sided = bool((inside.min(initial=0) < 0) and (inside.max(initial=0) > 0))
    return Steps(low, inside, least, most, slope, kink if two_sided else None)


def _moved(steps: Steps, offset: Array) -> Steps:
    """The steps of x less an offset for each channel."""
    at, least, most = steps.at - offset[:, None], steps.least - offset, steps.most - offset
    return replace(steps, at=at, least=least, most=most)


@dataclass(frozen=True)
class _Conditions:
    """What a staircase f must meet: f(least_x) >= least_k and f(most_x) < most_k, row by row."""

    least_x: Array
    least_k: Array
    most_x: Array
    most_k: Array

    def take(self, rows: Array) -> _Conditions:
        return _Conditions(self.least_x[rows], self.least_k[rows], self.most_x[rows], self.most_k[rows])


def _conditions(steps: Steps) -> _Conditions:
    rows, count = steps.at.shape
    levels = np.broadcast_to(np.arange(steps.low + 1, steps.high + 1), (rows, count))
    first, last = steps.first()[:, None], steps.last()[:, None]
    low, high = np.full((rows, 1), steps.low), np.full((rows, 1), steps.high + 1)
    reached, left = steps.at <= steps.most[:, None], steps.at > steps.least[:, None]
    return _Conditions(
        np.hstack([first, np.where(reached, steps.at, first)]),
        np.hstack([low, np.where(reached, levels, low)]),
        np.hstack([np.where(left, steps.at - 1, last), last]),
        np.hstack([np.where(left, levels, high), high]),
    )


def fit(steps: Steps, offset: Array) -> Staircase:
    """Return the integers for the levels of x + offset, `offset` of shape (C,): the shortest chain exact for all channels.

    Where none is, the one that is for most.
    """
    if len(steps.slope) == 1:
        found = _fit_one(steps, offset)
        if found.exact.all():
            return found
    moved = _moved(_repeated(steps, len(offset)), offset)
    conditions = _conditions(moved)
    if steps.kink is None:
        return _best(moved, conditions, tuple(Form), None).result()
    plain = _best(moved, conditions, (Form.ONE,), None)
    if plain.solved.all():
        return plain.result()
    kinked = _best(moved, conditions, tuple(Form), offset)
    return max(plain, kinked, key=_Search.score).result()


def _fit_one(steps: Steps, offset: Array) -> Staircase:
    """Channels that differ in their offset only: one fit, moved. A branch cannot be moved."""
    zero = np.zeros(1, np.int64)
    found = _best(steps, _conditions(steps), (Form.ONE, Form.TWO), None if steps.kink is None else zero).result()
    count = len(offset)
    values = {name: np.repeat(value, count) for name, value in vars(found).items() if isinstance(value, np.ndarray)}
    moved = {"first": found.first - offset, "last": found.last - offset, "term": found.term + found.factor * offset}
    if found.sign_offset is not None:
        moved["sign_offset"] = offset
    return replace(found, **{**values, **moved})


def _repeated(steps: Steps, channels: int) -> Steps:
    rows = {name: value for name, value in vars(steps).items() if isinstance(value, np.ndarray)}
    repeated: dict[str, Any] = {name: np.broadcast_to(value, (channels, *value.shape[1:])) for name, value in rows.items()}
    return replace(steps, **repeated)


def _best(steps: Steps, conditions: _Conditions, forms: tuple[Form, ...], sign_offset: Array | None) -> _Search:
    best: _Search | None = None
    for form in forms:
        for search in _SEARCHES[form](steps, conditions, sign_offset):
            if best is None or search.score() > best.score():
                best = search
            if best.solved.all():
                return best
    assert best is not None
    return best


class _Search:
    """The best integers of one form for each channel until now."""

    def __init__(self, steps: Steps, sign_offset: Array | None, form: Form, shift: int = 0, branch_shift: int = 0) -> None:
        rows = len(steps.slope)
        self._steps = steps
        self._form = form
        self._shift = np.full(rows, shift, np.int64)
        self._branch_shift = branch_shift
        self._sign_offset = sign_offset
        self._offers = 0
        self._factor = np.zeros(rows, np.int64)
        self._term = np.zeros(rows, np.int64)
        self._second = np.zeros(rows, np.int64) if form is Form.BRANCH else np.ones(rows, np.int64)
        self._slack = np.full(rows, -(1 << 62), np.int64)

    @property
    def solved(self) -> Array:
        """Which channels are exact."""
        return np.asarray(self._slack >= 0)

    def score(self) -> tuple[int, int]:
        """How good the integers are: exact channels, and how far the worst channel is from exact."""
        return int(self.solved.sum()), int(self._slack.min(initial=0))

    def hopeless(self) -> bool:
        """Whether so few of many channels are exact after some candidates that more candidates are a waste of time."""
        return self._offers >= _PATIENCE and int(self.solved.sum()) * 2 < len(self._factor)

    def unsolved(self) -> Array:
        """The channels that are not exact yet."""
        return np.flatnonzero(~self.solved)

    def offer(self, rows: Array, factor: Array, second: Array, conditions: _Conditions, shift: int | None = None) -> None:
        """Keep candidates for the channels `rows`, where they are better than what there is; `shift` replaces theirs."""
        self._offers += len(self._factor) > 1
        if not rows.size:
            return
        shifts = self._shift[rows] if shift is None else np.full(len(rows), shift, np.int64)
        lowest, highest, ends = self._terms(conditions.take(rows), rows, factor[:, None], second[:, None], shifts)
        fits = ends[0] <= ends[1]
        slack = np.where(fits, np.minimum(highest - lowest, 1 << 61), -(1 << 62))
        # A term in the middle; the ends must hold in any case, or the last shift would leave more than an int8.
        term = np.clip((lowest + highest) >> 1, ends[0], ends[1])
        better = slack > self._slack[rows]
        chosen = rows[better]
        self._slack[chosen] = slack[better]
        self._factor[chosen], self._second[chosen], self._term[chosen] = factor[better], second[better], term[better]
        self._shift[chosen] = shifts[better]

    def _kink(self, rows: Array, second: Array, shift: Array) -> Array:
        """What is taken off the product below zero, for each row and its second factor."""
        if self._sign_offset is None or self._steps.kink is None:
            return np.zeros(len(rows), np.int64)
        kink = self._steps.kink[rows] * 2.0**FINAL_SHIFT
        if self._form is Form.TWO:
            kink = kink * 2.0**shift / second
        return np.rint(kink).astype(np.int64)

    def _terms(
        self, at: _Conditions, rows: Array, factor: Array, second: Array, shift: Array
    ) -> tuple[Array, Array, tuple[Array, Array]]:
        """The least and the largest term that meets all conditions, and those that meet the conditions at both ends."""
        level = np.int64(1) << FINAL_SHIFT
        least, most = at.least_k * level, at.most_k * level
        if self._form is Form.TWO:
            # (value >> shift) * second >> 24 reaches k exactly when value reaches ceil(k * 2^24 / second) * 2^shift.
            least, most = (-(-goal // second) << shift[:, None] for goal in (least, most))
        kink = self._kink(rows, second[:, 0], shift)[:, None]
        below = least - self._sloped(at.least_x, rows, factor, second, kink)
        above = most - self._sloped(at.most_x, rows, factor, second, kink) - 1
        ends = below[:, 0], above[:, -1]
        if self._form is Form.TWO:
            # The first x is the smallest and may lie below the kink; the last lies above it where there is one.
            first, last = at.least_x[:, 0] * factor[:, 0] - kink[:, 0], at.most_x[:, -1] * factor[:, 0]
            ends = np.maximum(ends[0], -_HALF - first), np.minimum(ends[1], _HALF - 1 - last)
        return np.maximum(below.max(axis=1), ends[0]), np.minimum(above.min(axis=1), ends[1]), ends

    def _sloped(self, x: Array, rows: Array, factor: Array, second: Array, kink: Array) -> Array:
        value = x * factor
        if self._sign_offset is not None:
            value = value - kink * (x + self._sign_offset[rows, None] < 0)
        if self._form is Form.BRANCH:
            value = value + (((x >> self._shift[rows, None]) * second) >> self._branch_shift)
        return np.asarray(value)

    def result(self) -> Staircase:
        """The integers found."""
        first, last = self._steps.first(), self._steps.last()
        values = (self._factor, self._term, self._second, self._shift, self._branch_shift, self.solved)
        if self._sign_offset is None:
            return Staircase(self._form, first, last, *values)
        kink = self._kink(np.arange(len(self._second)), self._second, self._shift)
        return Staircase(self._form, first, last, *values, kink, self._sign_offset)


def _one_factor(steps: Steps, conditions: _Conditions, sign_offset: Array | None) -> Iterator[_Search]:
    search = _Search(steps, sign_offset, Form.ONE)
    nearest = np.rint(steps.slope * 2.0**FINAL_SHIFT).astype(np.int64)
    reach = _OFFSETS if len(nearest) > 1 else sorted(range(-64, 65), key=abs)
    for offset in reach:
        rows = search.unsolved()
        search.offer(rows, np.maximum(nearest[rows] + offset, 0), np.ones_like(rows), conditions)
        if search.hopeless():
            break
    yield search


def _two_factors(steps: Steps, conditions: _Conditions, sign_offset: Array | None) -> Iterator[_Search]:
    spacing = (steps.last() - steps.first()) / max(1, steps.at.shape[1])
    if spacing.max(initial=0) > 2.0**_FINEST_SLOPE_BITS:
        return
    search = _Search(steps, sign_offset, Form.TWO)
    for shift in _MIDDLE_SHIFTS:
        for place in range(_SLOPES):
            rows = search.unsolved()
            if place == 0:
                ranked = _ranked_seconds(steps.slope[rows], shift)
                started = rows
            kept = np.searchsorted(started, rows)
            second = ranked[kept, place]
            factor = np.rint(steps.slope[rows] * 2.0 ** (FINAL_SHIFT + shift) / second).astype(np.int64)
            search.offer(rows, factor, second, conditions, shift)
            if search.hopeless():
                break
        if search.hopeless():
            break
    yield search


def _ranked_seconds(slope: Array, shift: int) -> Array:
    """For each slope the second factors with which a first factor comes nearest to it, best first: (C, _SLOPES)."""
    seconds = np.arange(1 << shift, 2 << shift, dtype=np.int64)
    ideal = slope[:, None] * 2.0 ** (FINAL_SHIFT + shift) / seconds
    error = np.abs(np.rint(ideal) - ideal) * seconds
    nearest = np.argpartition(error, _SLOPES, axis=1)[:, :_SLOPES]
    order = np.argsort(np.take_along_axis(error, nearest, axis=1), axis=1)
    return np.asarray(seconds[np.take_along_axis(nearest, order, axis=1)])


def _branch(steps: Steps, conditions: _Conditions, sign_offset: Array | None) -> Iterator[_Search]:
    largest = max(int(np.abs(steps.first()).max(initial=1)), int(np.abs(steps.last()).max(initial=1)))
    shift = max(0, largest.bit_length() - (31 - _BRANCH_BITS))
    if shift > _BRANCH_BITS:
        return
    search = _Search(steps, sign_offset, Form.BRANCH, shift, _BRANCH_BITS - shift)
    ideal = steps.slope * 2.0**FINAL_SHIFT
    factor = np.rint(ideal)
    second = np.rint((ideal - factor) * 2.0**_BRANCH_BITS).astype(np.int64)
    for offset in _BRANCH_OFFSETS:
        rows = search.unsolved()
        search.offer(rows, factor[rows].astype(np.int64), second[rows] + offset, conditions)
    yield search


_SEARCHES = {Form.ONE: _one_factor, Form.TWO: _two_factors, Form.BRANCH: _branch}
