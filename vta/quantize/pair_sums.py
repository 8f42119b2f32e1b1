"""Sums of two int8 tensors with any rounding: integers a, b, c and n with (a * x + b * y + c) >> n, clipped, for all x and y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import CompileError

__all__ = ["PairSum", "fit_sum"]

Array = NDArray[Any]

_ATTEMPTS = ((127 * 0x101, 0), (127 * 0x10101, 16))
"""Largest factors, and how far around the ratio they are looked for: the GEMM core scales by two or three signed digits."""
_LARGEST_SUM = 1 << 23
"""Both factors together, so that no sum of two int8 tensors leaves int32."""
_OUT_OF_REACH = 1 << 40


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
    conditions = _conditions(wanted, low, high)
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
class _Conditions:
    """Level k is reached at (x, y) = `least`, and not yet at `most`: arrays of shape (n, 3) with columns k, x, y."""

    least: Array
    most: Array


def _conditions(wanted: Array, low: int, high: int) -> _Conditions:
    levels = np.arange(low + 1, high + 1)
    first = np.stack([np.searchsorted(row, levels, side="left") for row in wanted])
    x, k = np.broadcast_arrays(np.arange(-128, 128)[:, None], levels[None])
    columns = np.stack([k, x, first - 128], axis=-1).astype(np.int64)
    least, most = columns[first < 256], columns[first > 0]
    return _Conditions(least, most - np.array([0, 0, 1]))


def _search(at: _Conditions, ratios: tuple[float, float], shift: int, reach: int, largest: int) -> tuple[int, PairSum] | None:
    """The best factors within `reach` of the ratios, with their slack: how many terms do, less one."""
    lhs, rhs = (round(ratio * 2.0**shift) for ratio in ratios)
    # Neighbouring factors move a condition by at most this: only conditions that are nearly the tightest can decide.
    margin = 4 * 128 * reach
    least, lowest = _tightest(at.least, lhs, rhs, shift, margin, 1)
    most, highest = _tightest(at.most, lhs, rhs, shift, margin, -1)
    offsets = np.arange(-reach, reach + 1)
    d_lhs, d_rhs = (grid.reshape(-1, 1) for grid in np.meshgrid(offsets, offsets))
    bottom = (lowest - d_lhs * least[:, 1] - d_rhs * least[:, 2]).max(axis=1, initial=-_OUT_OF_REACH)
    top = (highest - d_lhs * most[:, 1] - d_rhs * most[:, 2]).min(axis=1, initial=_OUT_OF_REACH) - 1
    factors = np.hstack([lhs + d_lhs, rhs + d_rhs])
    term = np.clip((bottom + top) >> 1, -(1 << 30), 1 << 30)
    usable = (factors >= 0).all(axis=1) & (factors <= largest).all(axis=1) & (np.abs(bottom + top) >> 1 < 1 << 30)
    slack = np.where(usable, np.minimum(top - bottom, 0), -_OUT_OF_REACH)
    chosen = min(np.flatnonzero(slack == slack.max()), key=lambda index: int(np.abs(factors[index] - (lhs, rhs)).sum()))
    if not usable[chosen]:
        return None
    exact = bool(top[chosen] >= bottom[chosen])
    return int(slack[chosen]), PairSum(int(factors[chosen, 0]), int(factors[chosen, 1]), int(term[chosen]), shift, exact)


def _tightest(conditions: Array, lhs: int, rhs: int, shift: int, margin: int, sign: int) -> tuple[Array, Array]:
    """The conditions whose bound on the term is within `margin` of the tightest, and the bounds: lower ones with sign 1."""
    bounds = (conditions[:, 0] << shift) - lhs * conditions[:, 1] - rhs * conditions[:, 2]
    if not bounds.size:
        return conditions, bounds
    kept = sign * bounds >= (sign * bounds).max() - margin
    return conditions[kept], bounds[kept]
