"""Sums of two int8 tensors for the requantize unit: integers a, b and c, so that it rescales a * x + b * y + c, for all x and y.

The fewer digits of base 256 the factors have, the fewer products they take. The unit multiplies by 31 bits: only the ratio of the
factors has to be right, and small ones do more often than where only a shift follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from vta.files.cache import Arrays, code_digest, remembered
from vta.ir.arithmetic.tflite_rounding import quantized_multiplier
from vta.quantization.requantize.pair_sums import Array, Conditions, conditions_of
from vta.quantization.requantize.rounding_steps import requantized_steps
from vta.quantization.requantize.unit import UnitParameters, fits_unit
from vta.support.dataclass import dataclass

__all__ = ["UnitSum", "fit_unit_sum"]

_DIGIT, _TWO_DIGITS = 127, 127 * 0x101
"""The largest factors that one product applies, and two."""
_DIGIT_BITS, _MOST_DIGIT_BITS = 8, 14
_WIDE = np.arange(1 << 13, _TWO_DIGITS + 1)
"""Factors of two digits that make up for each other's roundings."""
_MULTIPLIERS = np.arange(1 << 13, 1 << 15)
"""Those of the ALU that are tried: small enough for an instruction to hold."""
_LARGEST_SUM = (1 << 24) - (1 << 16)
"""Of both factors, so that no sum of two int8 tensors leaves int32."""
_TRIED = 24
"""Factors of each kind, those with the nearest ratio."""
_LARGEST_INPUT = 128


@dataclass(frozen=True)
class UnitSum:
    """The integers, and how the unit scales the sum."""

    lhs: tuple[int, int]
    """What x is multiplied by before and after the multiplication of the sum by `factor`."""
    rhs: tuple[int, int]
    factor: int
    """0 where there is no such multiplication, and no second part."""
    term: int
    parameters: UnitParameters


def fit_unit_sum(
    make: Callable[[], Array], key: bytes, ratios: tuple[float, float], low: int, high: int, zero_point: int
) -> UnitSum | None:
    """Return integers for what `make` gives, values [x + 128, y + 128] within low..high whose slopes are near the ratios; None if
    none are exact.

    It is kept for later processes, which do without what is wanted: `key` must hold all that it follows from, the code among it.
    """

    def search() -> Arrays:
        found = _search(conditions_of(make(), low, high), ratios, zero_point)
        if found is None:
            return {"sum": np.array([], np.int64)}
        parameters = found.parameters
        numbers = *found.lhs, *found.rhs, found.factor, found.term, *parameters.multiplier.tolist(), *parameters.shift.tolist()
        return {"sum": np.array(numbers, np.int64)}

    key = b"\0".join([code_digest(Path(__file__)), f"{ratios!r} {low} {high} {zero_point}".encode(), key])
    numbers = remembered("unit_sums", key, search)["sum"].tolist()
    if not numbers:
        return None
    *factors, factor, term, multiplier, shift = numbers
    parameters = UnitParameters(np.array([multiplier]), np.array([shift]), once=True)
    return UnitSum((factors[0], factors[1]), (factors[2], factors[3]), factor, term, parameters)


def _search(at: Conditions, ratios: tuple[float, float], zero_point: int) -> UnitSum | None:
    for first, second, factor in _factors(ratios):
        lhs, rhs = (high * (factor or 1) + low for high, low in zip(first, second, strict=True))
        scale = (ratios[0] + ratios[1]) / (lhs + rhs)
        multiplier, exponent = quantized_multiplier(np.array([scale]))
        parameters = UnitParameters(multiplier, -exponent, once=True)
        term = _term(at, (lhs, rhs), zero_point, parameters)
        if term is not None and fits_unit(parameters, _LARGEST_INPUT * (lhs + rhs) + abs(term)):
            return UnitSum((first[0], second[0]), (first[1], second[1]), factor, term, parameters)
    return None


_Pair = tuple[int, int]


def _factors(ratios: tuple[float, float]) -> Iterator[tuple[_Pair, _Pair, int]]:
    """What x and y are multiplied by before their sum is, and after it, and by what that is; those with few passes first."""
    digits = np.arange(1, _DIGIT + 1)
    yield from _whole(_nearest(ratios, digits, _DIGIT))
    yield from _whole(_nearest(ratios, np.concatenate([digits, digits << _DIGIT_BITS]), _TWO_DIGITS))
    # Shifts of the first part: a pass more than products alone, as for two digits.
    for first, second, factor in _products(ratios, 1 << np.arange(_DIGIT_BITS + 1, _MOST_DIGIT_BITS + 1)):
        yield (first[0] * factor + second[0], first[1] * factor + second[1]), (0, 0), 0
    yield from _whole(_nearest(ratios, _WIDE, _TWO_DIGITS))
    yield from _products(ratios, _MULTIPLIERS)


def _whole(pairs: Iterable[_Pair]) -> Iterator[tuple[_Pair, _Pair, int]]:
    return ((pair, (0, 0), 0) for pair in pairs)


def _nearest(ratios: tuple[float, float], numbers: Array, most: int) -> list[_Pair]:
    """Pairs of factors up to `most`, of which one is among `numbers`, whose ratio is nearly the wanted one."""
    wanted = ratios[0] / ratios[1]
    pairs = [(numbers, other) for other in _beside(numbers / wanted)]
    pairs += [(other, numbers) for other in _beside(numbers * wanted)]
    lhs, rhs = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    kept = (np.minimum(lhs, rhs) >= 1) & (np.maximum(lhs, rhs) <= most)
    lhs, rhs = lhs[kept], rhs[kept]
    order = np.argsort(np.abs(lhs / rhs / wanted - 1), kind="stable")[:_TRIED]
    return list(zip(lhs[order].tolist(), rhs[order].tolist(), strict=True))


def _products(ratios: tuple[float, float], multipliers: Array) -> Iterator[tuple[_Pair, _Pair, int]]:
    """Factors with one of `multipliers` in common: one is a product with it, and the other within a digit of one."""
    for swapped in (False, True):
        wanted = ratios[0] / ratios[1] if swapped else ratios[1] / ratios[0]
        own = np.arange(1, _DIGIT + 1)[:, None]
        beside = np.rint(own * wanted)
        low = np.rint(own * multipliers * wanted) - beside * multipliers
        there = (np.abs(low) <= _DIGIT) & (beside >= 1) & (beside <= _DIGIT) & ((own + beside) * multipliers < _LARGEST_SUM)
        rows, columns = np.nonzero(there)
        one = own[rows, 0] * multipliers[columns]
        other = beside[rows, 0] * multipliers[columns] + low[rows, columns]
        order = np.argsort(np.abs(other / one / wanted - 1), kind="stable")[:_TRIED]
        for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
            first, second = (row + 1, int(beside[row, 0])), (0, int(low[row, column]))
            yield (
                (first[::-1], second[::-1], int(multipliers[column])) if swapped else (first, second, int(multipliers[column]))
            )


def _beside(values: Array) -> tuple[Array, Array]:
    return np.floor(values).astype(np.int64), np.ceil(values).astype(np.int64)


def _term(at: Conditions, factors: tuple[int, int], zero_point: int, parameters: UnitParameters) -> int | None:
    """What to add so that every sum reaches the levels that it should, and no other; None if nothing does."""
    lhs, rhs = factors
    x = np.arange(-128, 128)[:, None]
    reached = lhs * x + rhs * (at.first - 128)
    levels = at.levels - zero_point
    steps = requantized_steps(levels, parameters.multiplier, -parameters.shift, once=True)
    # The least sum that has to reach a level does with the term, and the largest that must not does not.
    least = (steps - reached).max(where=at.first < 256, initial=-(1 << 40))
    most = (steps - (reached - rhs)).min(where=at.first > 0, initial=1 << 40) - 1
    return int((least + most) >> 1) if least <= most else None
