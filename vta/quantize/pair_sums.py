"""Sums of two int8 tensors with any rounding: integers a, b, c and n with (a * x + b * y + c) >> n, clipped, for all x and y."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PairSum", "fit_sum"]

Array = NDArray[Any]

_ATTEMPTS = ((127 * 0x101, (0,)), (127 * 0x10101, (0, 1, -1, 2, -2, 3, -3)))
"""Largest factors, and which around the ratio are tried: the GEMM core scales by two or three signed digits of base 256."""
_LARGEST_SUM = 1 << 23
"""Both factors together, so that no sum of two int8 tensors leaves int32."""


@dataclass(frozen=True)
class PairSum:
    """The integers, and whether they give the wanted value for every pair; if not, some are 1 off."""

    lhs: int
    rhs: int
    term: int
    shift: int
    exact: bool


def fit_sum(wanted: Array, lhs_ratio: float, rhs_ratio: float, low: int, high: int) -> PairSum:
    """Return the integers for `wanted[x + 128, y + 128]`, values within low..high whose slopes are near the ratios.

    The fewest digits that are exact are chosen.
    """
    least, most = _reached(wanted, low, high)
    best: tuple[int, PairSum] | None = None
    for largest, neighbours in _ATTEMPTS:
        for lhs, rhs, shift in _candidates(lhs_ratio, rhs_ratio, largest, neighbours):
            slack, term = _term(least, most, lhs, rhs, shift)
            if best is None or slack > best[0]:
                best = (slack, PairSum(lhs, rhs, term, shift, slack >= 0))
            if slack >= 0:
                return best[1]
    assert best is not None
    return best[1]


def _candidates(lhs_ratio: float, rhs_ratio: float, largest: int, neighbours: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    room = min(largest / max(lhs_ratio, rhs_ratio), _LARGEST_SUM / (lhs_ratio + rhs_ratio))
    exponent = int(np.floor(np.log2(room)))
    for shift in (exponent, exponent - 1):
        if not 0 <= shift <= 30:
            continue
        lhs, rhs = round(lhs_ratio * 2.0**shift), round(rhs_ratio * 2.0**shift)
        for left in neighbours:
            for right in neighbours:
                if 0 <= lhs + left <= largest and 0 <= rhs + right <= largest:
                    yield lhs + left, rhs + right, shift


def _reached(wanted: Array, low: int, high: int) -> tuple[Array, Array]:
    """For each x and level k: the smallest y with at least level k + 1 (least), as an index from 0 to 256, levels low..high - 1."""
    levels = np.arange(low + 1, high + 1)
    counts = np.stack([np.searchsorted(row, levels, side="left") for row in wanted])
    return counts, levels


def _term(counts: Array, levels: Array, lhs: int, rhs: int, shift: int) -> tuple[int, int]:
    """Slack (negative: none fits) and value of the constant: each level must begin exactly where it is wanted to."""
    x = (np.arange(-128, 128) * lhs)[:, None]
    goal = levels[None].astype(np.int64) << shift
    there, before = counts < 256, counts > 0
    lowest = np.where(there, goal - x - rhs * (counts - 128), -(1 << 40)).max()
    highest = np.where(before, goal - x - rhs * (counts - 129) - 1, 1 << 40).min()
    slack = int(highest - lowest)
    term = int(lowest + highest) >> 1
    return (slack if abs(term) < 1 << 30 else -(1 << 40)), term
