"""Tables of 256 entries as one line, or the larger or smaller of two, cut to whole levels: what the ALU computes exactly.

A leaky rectifier is the larger of two lines, a clipped sum one line between bounds. Where a rounding bends the lines at their
meeting point, the sum of one below it and one above it is still exact. Tables that have no such form stay tables.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.ir import names as ops
from vta.support.dataclass import dataclass

__all__ = ["Line", "Lines", "lines_of"]

Array = NDArray[Any]

_VALUES = np.arange(-128, 128, dtype=np.int64)
_LARGEST_FACTOR = 127 * 0x10101
"""Three signed digits of base 256: what the GEMM core scales by."""
_LIMIT = 1 << 29
"""No line leaves this range; so a line less the constant of another does not wrap either."""

_UNBOUNDED = 1 << 40


@dataclass(frozen=True)
class Line:
    """x * factor + term."""

    factor: int
    term: int


@dataclass(frozen=True)
class Lines:
    """clip(join(lines) >> shift, low, high), with `join` either ``maximum`` or ``minimum``.

    With ``add`` each line is shifted and clipped by itself, the first of the smaller of x and `pivot`, the second of the larger;
    their sum less the level at `pivot` is the result.
    """

    lines: tuple[Line, ...]
    join: str
    shift: int
    low: int
    high: int
    pivot: int = 0

    @property
    def middle(self) -> int:
        """The level at `pivot`, where both sides meet."""
        return int(np.clip((self.pivot * self.lines[0].factor + self.lines[0].term) >> self.shift, self.low, self.high))

    def levels(self) -> Array:
        """The result for -128..127."""
        if self.join == ops.ADD:
            sides = np.minimum(_VALUES, self.pivot), np.maximum(_VALUES, self.pivot)
            parts = [(side * line.factor + line.term) >> self.shift for side, line in zip(sides, self.lines, strict=True)]
            return np.asarray(sum(np.clip(part, self.low, self.high) for part in parts) - self.middle)
        values = [_VALUES * line.factor + line.term for line in self.lines]
        joined = np.maximum.reduce(values) if self.join == ops.MAXIMUM else np.minimum.reduce(values)
        return np.asarray(np.clip(joined >> self.shift, self.low, self.high))


@dataclass(frozen=True)
class _Conditions:
    """What a line must meet: at `least_x` at least `least`, at `most_x` less than `most`."""

    least_x: Array
    least: Array
    most_x: Array
    most: Array

    def slopes(self) -> tuple[float, float] | None:
        """Between which slopes lie those of lines that meet the conditions, or None if there are none."""
        run = self.least_x[:, None] - self.most_x[None]
        rise = self.least[:, None] - self.most[None]
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds = rise / run
        low = float(np.max(bounds, where=run > 0, initial=-256.0))
        high = float(np.min(bounds, where=run < 0, initial=256.0))
        return (low, high) if low < high and not ((run == 0) & (rise >= 0)).any() else None


def lines_of(table: NDArray[np.int8]) -> Lines | None:
    """Return the lines whose levels are `table`, shape (256,), or None if there are none."""
    levels = table.astype(np.int64)
    everywhere = np.ones(256, dtype=bool)
    low, high = int(levels.min()), int(levels.max())
    found = _integers([_conditions(levels, everywhere, everywhere)], ops.MAXIMUM, low, high)
    if found is not None:
        return found
    for pivot in _pivots(levels):
        left = np.arange(256) <= pivot
        for join in (ops.MAXIMUM, ops.MINIMUM):
            # The larger of two lines is below the next level only if both are; on its side one must reach the level.
            sides = [(side, everywhere) if join == ops.MAXIMUM else (everywhere, side) for side in (left, ~left)]
            found = _integers([_conditions(levels, *side) for side in sides], join, low, high)
            if found is not None:
                return found
    for pivot in _pivots(levels):
        # Both lines must reach the level of the pivot itself.
        sides = [(side, side) for side in (np.arange(256) <= pivot, np.arange(256) >= pivot)]
        found = _integers([_conditions(levels, *side) for side in sides], ops.ADD, low, high)
        found = None if found is None else replace(found, pivot=int(_VALUES[pivot]))
        if found is not None and (found.levels() == levels).all():
            return found
    return None


def _conditions(levels: Array, reached: NDArray[np.bool_], left: NDArray[np.bool_]) -> _Conditions:
    """Levels are to be reached at positions `reached`, and the next ones not at `left`; bounds do the rest."""
    reached, left = reached & (levels > levels.min()), left & (levels < levels.max())
    return _Conditions(_VALUES[reached], levels[reached], _VALUES[left], levels[left] + 1)


def _pivots(levels: Array) -> list[int]:
    """Last positions of a left line for which there is a right one, the middle ones first."""
    position = np.arange(256)

    def straight(side: NDArray[np.bool_]) -> bool:
        return _conditions(levels, side, side).slopes() is not None

    # The longer a side, the fewer lines: both ends are found by halving.
    last, beyond = 0, 255
    while beyond - last > 1:
        middle = (last + beyond) // 2
        last, beyond = (middle, beyond) if straight(position <= middle) else (last, middle)
    before, first = 0, 255
    while first - before > 1:
        middle = (before + first) // 2
        before, first = (before, middle) if straight(position >= middle) else (middle, first)
    pivots = range(max(0, first - 1), last + 1)
    return sorted(pivots, key=lambda pivot: abs(2 * pivot - pivots[0] - pivots[-1]))


def _integers(conditions: list[_Conditions], join: str, low: int, high: int) -> Lines | None:
    """Integers for lines that meet the conditions, with the largest shift that nothing wraps for."""
    slopes = []
    for line in conditions:
        between = line.slopes()
        if between is None:
            return None
        slopes.append(0.0 if between[0] < 0 < between[1] else sum(between) / 2)
    for shift in range(22, 7, -1):
        factors = [round(slope * 2.0**shift) for slope in slopes]
        terms = [_term(line, factor, shift) for line, factor in zip(conditions, factors, strict=True)]
        if any(term is None for term in terms):
            return None
        lines = tuple(Line(factor, term) for factor, term in zip(factors, terms, strict=True) if term is not None)
        if all(abs(line.factor) <= _LARGEST_FACTOR and 128 * abs(line.factor) + abs(line.term) < _LIMIT for line in lines):
            return Lines(lines, join, shift, low, high)
    return None


def _term(line: _Conditions, factor: int, shift: int) -> int | None:
    """A term in the middle of those with which the line meets its conditions."""
    scale = np.int64(1) << shift
    least = (line.least * scale - factor * line.least_x).max(initial=-_UNBOUNDED)
    most = (line.most * scale - 1 - factor * line.most_x).min(initial=_UNBOUNDED)
    if least > most:
        return None
    if least == -_UNBOUNDED:
        return 0 if most == _UNBOUNDED else int(most)
    return int(least) if most == _UNBOUNDED else int((least + most) >> 1)
