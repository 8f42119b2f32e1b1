"""Sums of two int8 tensors for the requantize unit: integers a, b and c, so that it rescales a * x + b * y + c, for all x and y.

The fewer digits of base 256 the factors have, the fewer products they take. The unit multiplies by 31 bits: only the ratio of the
factors has to be right, and small ones do more often than where only a shift follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from vta.files.cache import Arrays, code_digest, remembered
from vta.ir.tflite_rounding import quantized_multiplier
from vta.quantization.requantize.pair_sums import Array, Conditions, conditions_of
from vta.quantization.requantize.rounding_steps import requantized_steps
from vta.quantization.requantize.unit import UnitParameters, fits_unit
from vta.support.dataclass import dataclass

__all__ = ["UnitSum", "fit_unit_sum"]

_DIGIT, _TWO_DIGITS = 127, 127 * 0x101
"""The largest factors that one product applies, and two."""
_DIGIT_BITS = 8
_WIDE = np.arange(1 << 13, _TWO_DIGITS + 1)
"""Factors of two digits that make up for each other's roundings."""
_TRIED = 24
"""Factors of each kind, those with the nearest ratio."""
_LARGEST_INPUT = 128


@dataclass(frozen=True)
class UnitSum:
    """The integers, and how the unit scales the sum."""

    lhs: int
    rhs: int
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
        return {"sum": np.array([] if found is None else [*found], np.int64)}

    key = b"\0".join([code_digest(Path(__file__)), f"{ratios!r} {low} {high} {zero_point}".encode(), key])
    numbers = remembered("unit_sums", key, search)["sum"].tolist()
    if not numbers:
        return None
    lhs, rhs, term, multiplier, shift = numbers
    return UnitSum(lhs, rhs, term, UnitParameters(np.array([multiplier]), np.array([shift]), once=True))


def _search(at: Conditions, ratios: tuple[float, float], zero_point: int) -> tuple[int, int, int, int, int] | None:
    for lhs, rhs in _factors(ratios):
        scale = (ratios[0] + ratios[1]) / (lhs + rhs)
        multiplier, exponent = quantized_multiplier(np.array([scale]))
        parameters = UnitParameters(multiplier, -exponent, once=True)
        term = _term(at, (lhs, rhs), zero_point, parameters)
        if term is not None and fits_unit(parameters, _LARGEST_INPUT * (lhs + rhs) + abs(term)):
            return lhs, rhs, term, int(multiplier[0]), int(-exponent[0])
    return None


def _factors(ratios: tuple[float, float]) -> Iterator[tuple[int, int]]:
    """Factors whose ratio is nearly the wanted one: of a digit each, then with a digit for one of them, then with two each."""
    wanted = ratios[0] / ratios[1]
    digits = np.arange(1, _DIGIT + 1)
    for numbers, most in ((digits, _DIGIT), (np.concatenate([digits, digits << _DIGIT_BITS]), _TWO_DIGITS), (_WIDE, _TWO_DIGITS)):
        pairs = [(numbers, other) for other in _beside(numbers / wanted)] + [
            (other, numbers) for other in _beside(numbers * wanted)
        ]
        lhs, rhs = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
        kept = (np.minimum(lhs, rhs) >= 1) & (np.maximum(lhs, rhs) <= most)
        lhs, rhs = lhs[kept], rhs[kept]
        order = np.argsort(np.abs(lhs / rhs / wanted - 1), kind="stable")[:_TRIED]
        yield from dict.fromkeys(zip(lhs[order].tolist(), rhs[order].tolist(), strict=True))


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
