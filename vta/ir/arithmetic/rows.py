"""Fixed-point arithmetic on statistics of rows: reciprocals and roots by Newton's method, with products of 64 bits.

Everything here is what the ALU and the requantize unit compute in int32, to the bit (docs/arithmetic.md).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.support.dataclass import dataclass

__all__ = ["LARGEST_ROOT", "MEAN_BITS", "ONE", "Factor", "Reciprocal", "Root", "Squares", "high_product"]

Array = NDArray[Any]

_PRODUCT_BITS = 31
"""By how many bits the unit shifts a product to the right."""
ONE = 1 << 29
"""What reciprocals are of."""
MEAN_BITS = 6
"""Fractional bits of a mean."""
_MEAN_FRACTION = 22
_WANTED = 2.0**-12
"""Relative error at which iterations end."""
LARGEST_ROOT = 255
"""Of the root of a term."""
_SUM_BITS = 19
"""Of a sum that a reciprocal is taken of."""


def high_product(value: Array, multiplier: Array, left: int) -> Array:
    """(value << left) * multiplier / 2^31, halves up: what a wide REQUANTIZE without a right shift computes, in int64."""
    product = np.left_shift(value.astype(np.int64), left) * multiplier.astype(np.int64)
    return np.asarray(np.right_shift(product + (1 << (_PRODUCT_BITS - 1)), _PRODUCT_BITS))


@dataclass(frozen=True)
class Factor:
    """A real number as the unit multiplies by it: ``(value << left) * multiplier / 2^31``."""

    multiplier: int
    left: int

    @classmethod
    def of(cls, number: float) -> Factor:
        """The nearest to a number below 2^31 in magnitude."""
        _, exponent = math.frexp(abs(number))
        left = max(exponent, 0)
        multiplier = math.floor(abs(number) * 2.0 ** (_PRODUCT_BITS - left) + 0.5)
        return cls(int(math.copysign(min(multiplier, (1 << _PRODUCT_BITS) - 1), number)), left)

    def applied(self, value: Array, bias: int = 0) -> Array:
        """The product with `value` plus `bias`."""
        return high_product(value + bias, np.array(self.multiplier), self.left)


@dataclass(frozen=True)
class Reciprocal:
    """2^29 / (x >> shift) of sums x of `count` terms, of which one is 255^2 and none is larger."""

    count: int

    @property
    def shift(self) -> int:
        """By how much sums are shifted to the right, halves up, so that they fit 19 bits."""
        return max(0, 16 + (self.count - 1).bit_length() - _SUM_BITS)

    @property
    def half(self) -> int:
        """What is added before."""
        return (1 << self.shift) >> 1

    @property
    def bias(self) -> int:
        """What is added to a shifted sum before the line that the iteration starts from."""
        return -self._least * (1 + self.count)

    @property
    def slope(self) -> Factor:
        """The slope of that line: its product with a sum is as far above 1 in the middle as below at both ends."""
        return Factor.of(-self._bend * ONE / self._least**2)

    @property
    def iterations(self) -> int:
        """How many it takes."""
        error = self._bend * (1 + self.count) ** 2 / 4 - 1
        return 1 if error <= _WANTED else math.ceil(math.log2(math.log(_WANTED) / math.log(error)))

    def of(self, total: Array) -> Array:
        """The reciprocals, in int64."""
        total = np.right_shift(total + self.half, self.shift)
        result = self.slope.applied(total, self.bias)
        for _ in range(self.iterations):
            result = high_product(result, 2 * ONE - total * result, 2)
        return result

    @property
    def _least(self) -> int:
        return LARGEST_ROOT**2 >> self.shift

    @property
    def _bend(self) -> float:
        return 8 / (4 * self.count + (1 + self.count) ** 2)


@dataclass(frozen=True)
class Squares:
    """Sums of `count` squares of int8 values around their mean, with fractional bits."""

    count: int

    @property
    def fraction(self) -> int:
        """How many of these there are."""
        return max(0, 14 - (self.count - 1).bit_length())

    @property
    def least(self) -> int:
        """The least sum that is told apart from none."""
        return 1 << max(self.fraction - 1, 0)

    @property
    def most_shifts(self) -> int:
        """By how many bits `Root` shifts that sum to the left."""
        return 28 - (self.least.bit_length() - 1) // 2 * 2

    @property
    def mean(self) -> Factor:
        """What makes the mean, in units of 2^-22, of the sum of values."""
        return Factor.of(2.0**_MEAN_FRACTION / self.count)

    @property
    def offset(self) -> Factor:
        """What makes minus the mean, in units of 2^-6, of the sum of values."""
        return Factor.of(-(2.0**MEAN_BITS) / self.count)

    @property
    def left(self) -> int:
        """By how much the sum of values is shifted to the left before it is multiplied by the mean."""
        return self.fraction + _PRODUCT_BITS - _MEAN_FRACTION


class Root:
    """2^26 / sqrt(v) of v = x << -shifts, with x above 0 and v from 2^28 to 2^30 standing for 1/4 to 1."""

    BITS, OF_BITS = 26, 30
    """Fractional bits of a root, and of the number between 1/4 and 1 that it is of."""
    LEVELS = (16, 8, 4, 2)
    """Shifts that bring x there, each where x is below 2^(30 - shift)."""
    BIAS = -round(2.12 / 1.2 * (1 << 30))
    """With `SLOPE`: the line that the iteration starts from is at most 9 % off."""
    SLOPE = Factor(-round(1.2 / 16 * (1 << _PRODUCT_BITS)), 0)
    ITERATIONS = 2
    THREE = 3 << 27
    """Of which v * root^2 is taken."""
    SQUARE_LEFT, PRODUCT_LEFT, RESULT_LEFT = 4, 3, 3

    @classmethod
    def of(cls, values: Array) -> tuple[Array, Array]:
        """The roots, in int64, and by how many bits the values were shifted to the left: an even number."""
        shifts = np.zeros_like(values)
        for level in cls.LEVELS:
            small = np.where(values < 1 << (30 - level), level, 0)
            values, shifts = np.left_shift(values, small), shifts + small
        root = cls.SLOPE.applied(values, cls.BIAS)
        for _ in range(cls.ITERATIONS):
            product = high_product(high_product(root, root, cls.SQUARE_LEFT), values, cls.PRODUCT_LEFT)
            root = high_product(root, cls.THREE - product, cls.RESULT_LEFT)
        return root, shifts
