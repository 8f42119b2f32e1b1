"""Factors as digits around zero, of which a product of bytes applies one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vta.tile.gemm_term import GemmTerm, RadixDigit

__all__ = ["DIGIT_BITS", "bits_of_fewest_digits", "digits_of", "radix_digits"]

DIGIT_BITS = 8
_ALL_DIGIT_BITS = range(DIGIT_BITS, 15)
"""Of digits of more than 8 bits some factors have few that all fit 8 bits."""
_MANY = 1 << 20


def digits_of(values: NDArray[np.int64], bits: int) -> list[NDArray[np.int64]]:
    """The digits of each value, of so many bits, the lowest first; none where all values are 0."""
    half, rest = 1 << bits - 1, values
    digits: list[NDArray[np.int64]] = []
    while rest.any():
        digits.append((rest + half) % (2 * half) - half)
        rest = (rest - digits[-1]) >> bits
    return digits


def bits_of_fewest_digits(factors: Sequence[NDArray[np.int64]]) -> int:
    """The bits of digits of which factors have the fewest that are not zero; all of these fit 8 bits."""
    return min(_ALL_DIGIT_BITS, key=lambda bits: sum(_count(digits_of(factor, bits)) for factor in factors))


def _count(digits: Sequence[NDArray[np.int64]]) -> int:
    """How many digits are not zero for some value; more than there can be where one is beyond 8 bits."""
    if any((digit.astype(np.int8) != digit).any() for digit in digits):
        return _MANY
    return sum(bool(digit.any()) for digit in digits)


def radix_digits(digits: list[list[GemmTerm]], bits: int = DIGIT_BITS) -> tuple[RadixDigit, ...]:
    """Horner's scheme over digits of so many bits, highest first; empty digits only lengthen the shift."""
    result: list[RadixDigit] = []
    shift = 0
    for terms in reversed(digits):
        if terms:
            result.append(RadixDigit(shift if result else 0, tuple(terms)))
            shift = 0
        shift += bits
    shift -= bits
    if shift and result:
        result.append(RadixDigit(shift, ()))
    return tuple(result)
