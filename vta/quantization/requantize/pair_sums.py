"""Sums of two int8 tensors with any rounding: integers a, b, c and n with (a * x + b * y + c) >> n, clipped, for all x and y."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import CompileError
from vta.files.cache import Arrays, code_digest, remembered
from vta.support.dataclass import dataclass

__all__ = ["Array", "Conditions", "FactoredSum", "PairSum", "conditions_of", "fit_factored_sum", "fit_pair", "fit_sum"]

Array = NDArray[Any]

_ATTEMPTS = ((127 * 0x101, 0), (127 * 0x10101, 16))
"""Largest factors, and how far around the ratio they are looked for: the GEMM core scales by two or three signed digits."""
_LARGEST_SUM = 1 << 23
"""Both factors together, so that no sum of two int8 tensors leaves int32."""
_OUT_OF_REACH = 1 << 40
_DIGIT = 127
"""Largest factor that one product applies."""
_LARGEST_FACTOR = 1 << 16
_FACTORED_SHIFTS = 4
_TRIED_PAIRS = 24
_TRIED_TERMS = 64
_LEAST_START = 127


@dataclass(frozen=True)
class PairSum:
    """The integers, and whether they give the wanted value for every pair; if not, some are 1 off."""

    lhs: int
    rhs: int
    term: int
    shift: int
    exact: bool


@dataclass(frozen=True)
class FactoredSum:
    """Integers for ``((start + l1 * x + r1 * y) * factor + l0 * x + r0 * y) >> shift``, exact for every pair."""

    start: int
    """At least 127, taken modulo 2^32 with all the rest."""
    lhs: tuple[int, int]
    """The factors of x before and after the multiplication, -127..127."""
    rhs: tuple[int, int]
    factor: int
    shift: int


def fit_pair(
    make: Callable[[], Array], key: bytes, lhs_ratio: float, rhs_ratio: float, low: int, high: int, *, multiplies: bool
) -> FactoredSum | PairSum:
    """Return what `fit_factored_sum` finds for what `make` gives, where the target `multiplies`, or else `fit_sum`.

    It is kept for later processes, which do without what is wanted: `key` must hold all that it follows from, the code among it.
    """

    def search() -> Arrays:
        asked = make(), lhs_ratio, rhs_ratio, low, high
        found = fit_factored_sum(*asked) if multiplies else None
        if found is None:
            pair = fit_sum(*asked)
            return {"pair": np.array([pair.lhs, pair.rhs, pair.term, pair.shift, pair.exact], np.int64)}
        return {"factored": np.array([found.start, *found.lhs, *found.rhs, found.factor, found.shift], np.int64)}

    asked = f"{lhs_ratio!r} {rhs_ratio!r} {low} {high} {multiplies}".encode()
    key = b"\0".join([code_digest(Path(__file__)), asked, key])
    (kind, values), *_ = remembered("sums", key, search).items()
    numbers = values.tolist()
    if kind == "factored":
        start, l1, l0, r1, r0, factor, shift = numbers
        return FactoredSum(start, (l1, l0), (r1, r0), factor, shift)
    lhs, rhs, term, shift, exact = numbers
    return PairSum(lhs, rhs, term, shift, bool(exact))


def fit_factored_sum(wanted: Array, lhs_ratio: float, rhs_ratio: float, low: int, high: int) -> FactoredSum | None:
    """Return what `fit_sum` finds as two pairs of small factors with a multiplication between; None if nothing is exact.

    A factor M reaches all integers that lie within 127 of a multiple of it, up to 127 times: enough of them for most pairs.
    """
    conditions = conditions_of(wanted, low, high)
    most = np.log2(_DIGIT * _LARGEST_FACTOR / max(lhs_ratio, rhs_ratio))
    least = np.log2(_LARGEST_SUM / (lhs_ratio + rhs_ratio))
    first = int(np.floor(min(most, least)))
    for shift in range(first, max(first - _FACTORED_SHIFTS, 0), -1):
        if shift > 30:
            continue
        found = _nearby(conditions, (lhs_ratio, rhs_ratio), shift, 16, _DIGIT * _LARGEST_FACTOR)
        pairs = np.flatnonzero(found.usable & (found.top >= found.bottom))
        ideal = np.array([lhs_ratio, rhs_ratio]) * 2.0**shift
        order = np.abs(found.factors[pairs] - ideal).sum(axis=1)
        for pair in pairs[np.argsort(order, kind="stable")[:_TRIED_PAIRS]]:
            lhs, rhs = (int(factor) for factor in found.factors[pair])
            factored = _factored(lhs, rhs, range(int(found.bottom[pair]), int(found.top[pair]) + 1)[:_TRIED_TERMS], shift)
            if factored is not None:
                return factored
    return None


def _factored(lhs: int, rhs: int, terms: range, shift: int) -> FactoredSum | None:
    """Write both factors with one odd factor, and a term as a start times that: the smallest factor that does."""
    factors = _common_factors(lhs, rhs)
    high = [(number + factors // 2) // factors for number in (lhs, rhs)]
    low = [number - part * factors for number, part in zip((lhs, rhs), high, strict=True)]
    fits = np.logical_and.reduce([np.abs(part) <= _DIGIT for part in (*high, *low)])
    for place in np.flatnonzero(fits):
        factor = int(factors[place])
        inverse = pow(factor, -1, 1 << 32)
        for term in terms:
            start = term * inverse % (1 << 32)
            if _LEAST_START <= start < 1 << 31:
                parts = [(int(above[place]), int(below[place])) for above, below in zip(high, low, strict=True)]
                return FactoredSum(start, parts[0], parts[1], factor, shift)
    return None


def _common_factors(lhs: int, rhs: int) -> Array:
    """The odd factors, rising, that the larger number is a digit off a multiple of."""
    number = max(lhs, rhs)
    least = max(1, number // (_DIGIT + 1)) | 1
    if number <= _DIGIT:
        return np.arange(least, _LARGEST_FACTOR, 2, dtype=np.int64)
    times = np.arange(1, _DIGIT + 1)
    first = np.maximum(-((_DIGIT - number) // times), least) | 1
    last = np.minimum((number + _DIGIT) // times, _LARGEST_FACTOR - 1)
    count = np.maximum((last - first) // 2 + 1, 0)
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    found = np.zeros(_LARGEST_FACTOR, np.bool_)
    found[np.repeat(first, count) + 2 * within] = True
    return np.flatnonzero(found)


def fit_sum(wanted: Array, lhs_ratio: float, rhs_ratio: float, low: int, high: int) -> PairSum:
    """Return the integers for `wanted[x + 128, y + 128]`, values within low..high whose slopes are near the ratios.

    The fewest digits that are exact are chosen.
    """
    conditions = conditions_of(wanted, low, high)
    best: tuple[int, PairSum] | None = None
    for largest, reach in _ATTEMPTS:
        room = min(largest / max(lhs_ratio, rhs_ratio), _LARGEST_SUM / (lhs_ratio + rhs_ratio))
        exponent = int(np.floor(np.log2(room)))
        for shift in (exponent, exponent - 1):
            if not 0 <= shift <= 30:
                continue
            found = _search(conditions, (lhs_ratio, rhs_ratio), shift, reach, largest)
            if found is not None and (best is None or found[0] > best[0]):
                best = found
            if best is not None and best[1].exact:
                return best[1]
    if best is None:
        raise CompileError(f"no integers add two tensors with ratios of scales {lhs_ratio:g} and {rhs_ratio:g}")
    return best[1]


@dataclass(frozen=True)
class Conditions:
    """Level `levels[k]` is reached at (x, y) for y from `first[x + 128, k] - 128` on: never if that is 128."""

    levels: Array
    first: Array

    def bounds(self, lhs: int, rhs: int, shift: int) -> Array:
        """What a term must be for x * lhs + y * rhs, with the first y that reaches a level, to reach it, or go beyond it."""
        x = np.arange(-128, 128)[:, None]
        bounds: Array = (self.levels << shift) - lhs * x + rhs * 128 - rhs * self.first
        return bounds


def conditions_of(wanted: Array, low: int, high: int) -> Conditions:
    """Where `wanted[x + 128, y + 128]`, values within low..high that never fall along a row, reaches each level above `low`."""
    count = high - low + 1
    # Rows never fall: so many values as are below a level come before it.
    places = (wanted + (np.arange(256)[:, None] * count - low)).reshape(-1)
    first = np.bincount(places, minlength=256 * count).reshape(256, -1).cumsum(axis=1)[:, :-1]
    return Conditions(np.arange(low + 1, high + 1), first)


@dataclass(frozen=True)
class _Nearby:
    """Factors around the ratios, (n, 2), and for each the terms that do: from `bottom` to `top`, none if that is less."""

    factors: Array
    bottom: Array
    top: Array
    usable: Array
    """Whether factors and term are in range."""


def _nearby(at: Conditions, ratios: tuple[float, float], shift: int, reach: int, largest: int) -> _Nearby:
    lhs, rhs = (round(ratio * 2.0**shift) for ratio in ratios)
    offsets = np.arange(-reach, reach + 1)
    around = np.stack(np.meshgrid(offsets, offsets), axis=-1).reshape(-1, 2)
    bounds = at.bounds(lhs, rhs, shift)
    # A term is at least the bound of the first y that reaches a level, and below that of the y before it.
    bottom = _largest(bounds, at.first, at.first < 256, around)
    top = -_largest(-rhs - bounds, at.first - 1, at.first > 0, -around) - 1
    factors = around + np.array([lhs, rhs])
    usable = (factors >= 0).all(axis=1) & (factors <= largest).all(axis=1) & (np.abs(bottom + top) >> 1 < 1 << 30)
    return _Nearby(factors, bottom, top, usable)


def _largest(bounds: Array, place: Array, there: Array, around: Array) -> Array:
    """For each offset of both factors, (n, 2), the largest of the bounds that are `there`, whose y is `place` - 128."""
    if not there.any():
        return np.full(len(around), -_OUT_OF_REACH)
    largest = int(bounds.max(where=there, initial=-_OUT_OF_REACH))
    # Neighbouring factors move a bound by at most this: only those that are nearly the largest can decide.
    margin = 4 * 128 * int(np.abs(around).max())
    x, level = np.nonzero(there & (bounds >= largest - margin))
    # Of factors at most 16 apart, all this fits: 12,288 at most.
    left = (bounds[x, level] - largest).astype(np.int16)
    for change, at in zip(around.astype(np.int16).T, (x - 128, place[x, level] - 128), strict=True):
        left = left - change[:, None] * at.astype(np.int16)
    return np.asarray(largest + left.max(axis=1).astype(np.int64))


def _search(at: Conditions, ratios: tuple[float, float], shift: int, reach: int, largest: int) -> tuple[int, PairSum] | None:
    """The best factors within `reach` of the ratios, with their slack: how many terms do, less one."""
    found = _nearby(at, ratios, shift, reach, largest)
    bottom, top, factors = found.bottom, found.top, found.factors
    lhs, rhs = (round(ratio * 2.0**shift) for ratio in ratios)
    term = np.clip((bottom + top) >> 1, -(1 << 30), 1 << 30)
    slack = np.where(found.usable, np.minimum(top - bottom, 0), -_OUT_OF_REACH)
    chosen = min(np.flatnonzero(slack == slack.max()), key=lambda index: int(np.abs(factors[index] - (lhs, rhs)).sum()))
    if not found.usable[chosen]:
        return None
    exact = bool(top[chosen] >= bottom[chosen])
    return int(slack[chosen]), PairSum(int(factors[chosen, 0]), int(factors[chosen, 1]), int(term[chosen]), shift, exact)
