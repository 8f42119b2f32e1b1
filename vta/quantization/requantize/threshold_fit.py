"""Looks for the integers of thresholds; see `vta.quantization.requantize.thresholds`.

For given factors the terms that put all steps of a channel right form an interval, so that exactness is known, not sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.files.cache import code_digest, file_stamp, remembered
from vta.native import core_path
from vta.quantization.requantize.threshold_factors import Limits, propose, starts
from vta.quantization.requantize.thresholds import FINAL_SHIFT, Form, ThresholdFit, Thresholds
from vta.support.dataclass import dataclass

__all__ = ["LEAST_START", "fit"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LEAST_START = 127
"""A start that is no smaller than any int8 can take the place of a value that was stored."""

_HALF = 1 << 31
_OFFSETS = (0, 1, -1, 2, -2, 3, -3, 4, -4)
"""Factors that are tried, around the nearest to the ratio."""
_ALONE = tuple(sorted(range(-64, 65), key=abs))
"""The same for a single channel."""
_NEAR = Limits((5, 9), 16)
"""How far two factors are looked for at first."""
_FAR = Limits((3, 13), 1 << 12, wanted=8)
"""The same, for channels that are left."""
_TERM = Limits((3, 13), 1 << 12, parts=128, wanted=16)
"""The same with an outer term."""
_PROBES = 4
"""Channels that must be exact with one factor before others are looked at."""
_WIDEST_MEDIAN = 2.0**18.4
"""Channels of which half are wider take more than two factors."""
_BRANCH_OFFSETS = tuple(sorted(range(-24, 25), key=abs))
_BRANCH_BITS = 15
"""Bits of the slope that a branch adds to those of the factor, if it drops bits of x."""
_AT_ONCE = 128
"""Branches that are tried in one go."""
_STUBBORN = 16
"""Channels for which branches of many kinds are tried."""
_FINEST_BRANCH = 20
"""The same at most, if it does not."""
_STILL = (1 << 16) + 1
_STEEP = 2.0**-4
_FLATTEST = 2.0**-24
_CLOSE_SLOPE = 2.0**-3
"""The steepest for which a step that is off by a few x is next to nothing."""
_CLOSE_MARGIN = 0.4
"""What steps that are off leave of this many levels keeps values that saturate in the first and the last level."""
_WORTH_KEEPING = 2048
"""Thresholds of all channels, from which on a result is kept for later."""
_ENDS = slice(0, 2)
_NONE = -(1 << 62)
"""The slack of no candidate."""
_ANY = 1 << 60
"""Beyond every term."""


def fit(steps: Thresholds, offset: Ints, *, close: bool = False) -> ThresholdFit | None:
    """Return the integers for the levels of accumulator + offset, `offset` of shape (C,): the shortest form exact for all.

    `steps` has C rows, or one for channels that differ in their offset only. Where none is exact, the one that is for most
    channels; none, where even that is off by more than 1 somewhere, as where one x goes up by more than a level and the ends of
    x are more than 256 levels apart. With `close`, and levels of many x, one factor and no term: the shortest of all. Some
    steps are off by a few x then, never by so many that a level is off by more than 1.
    """
    if close and steps.slope.max() <= _CLOSE_SLOPE:
        found = _close(steps, offset)
        if _is_close(_differences(found, steps, offset)):
            return found
    if steps.at.shape[1] * len(offset) < _WORTH_KEEPING:
        return _found(steps, offset)
    stored = dict(remembered("thresholds", _key(steps, offset), lambda: _arrays(_found(steps, offset))))
    return ThresholdFit(Form(str(stored.pop("form"))), **stored) if stored else None


def _arrays(integers: ThresholdFit | None) -> dict[str, NDArray[Any]]:
    """The fields that are there, as arrays."""
    if integers is None:
        return {}
    values = {field.name: getattr(integers, field.name) for field in fields(integers)}
    return {name: np.asarray(getattr(value, "value", value)) for name, value in values.items() if value is not None}


def _key(steps: Thresholds, offset: Ints) -> bytes:
    """All that a search follows from: the problem, and the code."""
    values = [getattr(steps, field.name) for field in fields(steps)]
    arrays = [np.ascontiguousarray(value) for value in (*values, offset) if value is not None]
    shapes = [f"{array.dtype.str}{array.shape}" for array in arrays]
    delay = "delay" if steps.delay is not None else ""
    return b"\0".join([_code(), f"{delay}{shapes}".encode(), *(array.tobytes() for array in arrays)])


def _code() -> bytes:
    """What tells versions of the search apart."""
    sources = [Path(__file__).with_name(f"{name}.py") for name in ("thresholds", "threshold_fit", "threshold_factors")]
    return code_digest(*sources) + file_stamp(core_path())


def _found(steps: Thresholds, offset: Ints) -> ThresholdFit | None:
    problem = _Problem(steps, offset)
    searches: list[_Search] = []
    for form, look in _SEARCHES.items():
        search = _Search(problem, form)
        look(search, searches)
        searches.append(search)
        if search.solved.all():
            break
    best = max(searches, key=_Search.score)
    result = best.result()
    if best.solved.all():
        return result
    # Where steps are off, values that saturate still have to be right: they are many.
    roomy = _Search(_Problem(steps, offset, np.where(best.solved, 0.0, _CLOSE_MARGIN)), best.form)
    rows = np.arange(len(best.factor))
    roomy.offer(_Offer(rows, best.factor, best.second, best.shift, best.outer, best.branch_shift))
    found = roomy.result()
    if _is_close(_differences(found, steps, offset)) and (found.exact >= result.exact).all():
        return found
    return result if _differences(result, steps, offset).max() <= 1 else None


def _close(steps: Thresholds, offset: Ints) -> ThresholdFit:
    search = _Search(_Problem(replace(steps, delay=None), offset, _CLOSE_MARGIN), Form.ONE)
    rows = np.arange(len(search.factor))
    zeros = np.zeros_like(rows)
    for change in _OFFSETS:
        factor = search.problem.factors(rows, search.problem.nearest_factor() + change)
        search.offer(_Offer(rows, factor, zeros + 1, zeros, zeros, zeros))
    search.settle()
    return search.result()


def _differences(integers: ThresholdFit, steps: Thresholds, offset: Ints) -> Ints:
    """By how much levels are off, (C, n): at both ends of x, then at every step and just before it."""
    ends = np.stack([steps.least, steps.most], axis=1)
    x = np.clip(np.hstack([ends, steps.at, steps.at - 1]), ends[:, :1], ends[:, 1:])
    wanted = steps.low + np.stack([np.searchsorted(at, row, side="right") for at, row in zip(steps.at, x, strict=True)])
    return np.asarray(np.abs(integers.levels(np.broadcast_to(x, (len(offset), x.shape[1])) - offset[:, None]) - wanted), np.int64)


def _is_close(differences: Ints) -> bool:
    """Whether no level is off by more than 1, and those at both ends of x are right."""
    return bool(differences.max() <= 1 and not differences[:, _ENDS].any())


class _Problem:
    """Thresholds, with what is asked of a start: at least `LEAST_START` with each offset, no x below zero, nothing wraps."""

    def __init__(self, steps: Thresholds, offset: Ints, margin: float | Floats = 0.0) -> None:
        """`margin`: by how much of a level x may go beyond the first and the last step, of each channel or of all."""
        rows, count = steps.at.shape
        self.steps, self.offset = steps, offset
        self.shared = len(steps.slope) == 1
        self.first, self.last = steps.first(), steps.last()
        # Where there is one step, any slope does.
        met = steps.met
        self.moves: NDArray[np.bool_] = np.asarray(met.any(axis=1))
        self.slope = np.where(met.sum(axis=1) == 1, _STEEP, steps.slope)
        if np.any(margin):
            beyond = np.floor(margin / np.maximum(self.slope, _FLATTEST)).astype(np.int64) * self.moves
            self.first, self.last = self.first - beyond, self.last + beyond
        low, high = (offset.min(keepdims=True), offset.max(keepdims=True)) if self.shared else (offset, offset)
        self.least_start = np.maximum(LEAST_START - low, np.maximum(-self.first, 1))
        self.most_start = _HALF - 1 - np.maximum(np.maximum(steps.most, high), 0)
        levels = np.broadcast_to(np.arange(steps.low + 1, steps.high + 1, dtype=np.int64), (rows, count))
        # Thresholds that no x meets are replaced by one that is met, so that all rows are as long.
        stand_in = np.argmax(met, axis=1)[:, None] if count else np.zeros((rows, 0), np.int64)
        self.at = np.where(met, steps.at, np.take_along_axis(steps.at, stand_in, axis=1))
        self.level = np.where(met, levels, np.take_along_axis(levels, stand_in, axis=1))
        below = (steps.at <= steps.least[:, None]).sum(axis=1)
        self.bottom = steps.low + below
        self.top = self.bottom + met.sum(axis=1)
        self.delay = steps.delay
        self.width = self.last - self.first

    def nearest_factor(self) -> Ints:
        """The single factor that comes nearest to each slope."""
        return np.rint(self.slope * 2.0**FINAL_SHIFT).astype(np.int64)

    def factors(self, rows: Ints, wanted: Ints) -> Ints:
        """Usable factors: `wanted`, and for channels that never move one that finds a start soon."""
        return np.where(self.moves[rows], np.maximum(wanted, 1), _STILL)


@dataclass(frozen=True)
class _Offer:
    """Candidates for some channels."""

    rows: Ints
    factor: Ints
    second: Ints
    shift: Ints
    outer: Ints
    branch_shift: Ints

    def chosen(self, places: Ints) -> _Offer:
        """The candidates at some places."""
        return _Offer(**{field.name: getattr(self, field.name)[places] for field in fields(self)})


def _first_best(slack: Ints) -> Ints:
    """Of each row, (rows, tries), the place of the first exact candidate, or else of the first with the most slack."""
    exact = slack >= 0
    best = np.where(exact.any(axis=1), exact.argmax(axis=1), slack.argmax(axis=1))
    return np.asarray(np.arange(len(slack)) * slack.shape[1] + best, np.int64)


class _Search:
    """The best integers of one form for each channel until now."""

    def __init__(self, problem: _Problem, form: Form) -> None:
        rows = len(problem.first)
        self.problem, self.form = problem, form
        self.factor = np.ones(rows, np.int64)
        self.second = np.zeros(rows, np.int64) if form is Form.BRANCH else np.ones(rows, np.int64)
        self.shift = np.zeros(rows, np.int64)
        self.branch_shift = np.zeros(rows, np.int64)
        self.outer = np.zeros(rows, np.int64)
        self.lowest, self.highest = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        self.slack = np.full(rows, _NONE, np.int64)
        self.start = np.full(rows, -1, np.int64)

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Which channels are exact."""
        found: NDArray[np.bool_] = self.slack >= 0
        return found

    def score(self) -> tuple[int, int]:
        """How good the integers are: exact channels, and how far the worst channel is from exact."""
        worst = int(self.slack.min(initial=0))
        return (-1 if worst == _NONE else int(self.solved.sum())), worst

    def open(self) -> Ints:
        """The channels that are not exact yet, or have no start."""
        return np.flatnonzero(~self.solved | (self.start < 0))

    def unsolved(self) -> Ints:
        """The channels that are not exact yet."""
        return np.flatnonzero(~self.solved)

    def offer(self, offer: _Offer, tries: int = 1) -> None:
        """Keep candidates that are better than what there is: exact ones, and then those with a start.

        Each channel has `tries` of them, one after the other, of which the first exact or else the best counts.
        """
        if not offer.rows.size:
            return
        terms, ends = self._terms(offer), self._ends(offer)
        lowest, highest = np.maximum(terms[0], ends[0]), np.minimum(terms[1], ends[1])
        slack = np.where(ends[0] <= ends[1], highest - lowest, _NONE)
        # Where no term does, one in the middle; the ends must hold in any case, or the last shift would leave more than an int8.
        middle = np.clip((terms[0] + terms[1]) >> 1, *ends)
        lowest, highest = np.where(slack >= 0, lowest, middle), np.where(slack >= 0, highest, middle)
        if tries > 1:
            places = _first_best(slack.reshape(-1, tries))
            offer, slack, lowest, highest = offer.chosen(places), slack[places], lowest[places], highest[places]
        rows = offer.rows
        start = np.full(len(rows), -1, np.int64)
        if self.form is not Form.BRANCH:
            exact = np.flatnonzero(slack >= 0)
            least, most = self.problem.least_start[rows[exact]], self.problem.most_start[rows[exact]]
            start[exact] = starts(offer.factor[exact], lowest[exact], highest[exact], least, most)
        known = self.slack[rows]
        better = np.where(known >= 0, (start >= 0) & (self.start[rows] < 0), slack > known)
        chosen = rows[better]
        self.slack[chosen], self.start[chosen] = slack[better], start[better]
        self.factor[chosen], self.second[chosen] = offer.factor[better], offer.second[better]
        self.shift[chosen], self.outer[chosen] = offer.shift[better], offer.outer[better]
        self.branch_shift[chosen] = offer.branch_shift[better]
        self.lowest[chosen], self.highest[chosen] = lowest[better], highest[better]

    def _goal(self, level: Ints, offer: _Offer) -> Ints:
        """The least product that reaches a level."""
        value = level * (1 << FINAL_SHIFT)
        if self.form in (Form.ONE, Form.BRANCH):
            return value
        # Quotients of such integers are never so near a whole number that rounding them to 53 bits reaches it.
        least = np.ceil((value - offer.outer[:, None]) / offer.second[:, None])
        return np.asarray(least.astype(np.int64) << offer.shift[:, None])

    def _value(self, x: Ints, offer: _Offer) -> Ints:
        """The product less its term, `x` of shape (rows, n)."""
        value = x * offer.factor[:, None]
        if self.problem.delay is not None:
            value = value - self.delays(offer.rows, offer.second, offer.shift)[:, None] * (x < 0)
        if self.form is Form.BRANCH:
            started = x + self.problem.least_start[offer.rows, None]
            branch = (started >> offer.shift[:, None]) * offer.second[:, None]
            value = value + (branch >> offer.branch_shift[:, None])
        return np.asarray(value)

    def delays(self, rows: Ints, second: Ints, shift: Ints) -> Ints:
        """What is taken off the product below zero."""
        assert self.problem.delay is not None
        delay = self.problem.delay[rows] * 2.0**FINAL_SHIFT
        if self.form in (Form.TWO, Form.TERM):
            delay = delay * 2.0**shift / second
        return np.rint(delay).astype(np.int64)

    def _terms(self, offer: _Offer) -> tuple[Ints, Ints]:
        """The least and the largest term that put all steps of each channel right."""
        at, level = self.problem.at[offer.rows], self.problem.level[offer.rows]
        count = len(offer.rows)
        if not at.shape[1]:
            return np.full(count, -_ANY, np.int64), np.full(count, _ANY, np.int64)
        need = self._goal(level, offer)
        below = need - self._value(at, offer)
        if self.problem.delay is None and self.form is not Form.BRANCH:
            lowest, highest = below.max(axis=1), below.min(axis=1) + offer.factor - 1
        else:
            lowest, highest = below.max(axis=1), (need - self._value(at - 1, offer)).min(axis=1) - 1
        moves = self.problem.moves[offer.rows]
        return np.where(moves, lowest, -_ANY), np.where(moves, highest, _ANY)

    def _ends(self, offer: _Offer) -> tuple[Ints, Ints]:
        """The terms for which the last shift leaves an int8 at both ends of x, and nothing before it wraps."""
        problem, rows = self.problem, offer.rows
        x = np.stack([problem.first[rows], problem.last[rows]], axis=1)
        value = self._value(x, offer)
        levels = np.stack([problem.bottom[rows], problem.top[rows] + 1], axis=1)
        goal = self._goal(levels, offer)
        lowest, highest = goal[:, 0] - value[:, 0], goal[:, 1] - value[:, 1] - 1
        if self.form in (Form.TWO, Form.TERM):
            lowest, highest = np.maximum(lowest, -_HALF - value[:, 0]), np.minimum(highest, _HALF - 1 - value[:, 1])
        return lowest, highest

    def settle(self) -> None:
        """Give every channel a start that stands for its term, or for one off by less than half a factor.

        That moves steps by at most one x; where a channel was exact, it may not be any more.
        """
        rows = np.flatnonzero(self.start < 0)
        factor = self.factor[rows]
        offer = _Offer(rows, factor, self.second[rows], self.shift[rows], self.outer[rows], self.branch_shift[rows])
        ends = self._ends(offer)
        lowest = np.maximum(self.lowest[rows] - (factor >> 1), ends[0])
        highest = np.minimum(self.highest[rows] + (factor >> 1), ends[1])
        self.start[rows] = starts(factor, lowest, highest, self.problem.least_start[rows], self.problem.most_start[rows])
        self.slack[rows] = np.minimum(self.slack[rows], -1)

    def result(self) -> ThresholdFit:
        """The integers found."""
        problem, count = self.problem, len(self.problem.offset)
        folded = bool((self.start >= 0).all())
        start = self.start if folded else problem.least_start
        term = None if folded else ((self.lowest + self.highest) >> 1) - start * self.factor
        delay = None if problem.delay is None else self.delays(np.arange(len(self.factor)), self.second, self.shift)

        def each(values: Ints | None) -> Ints | None:
            return None if values is None else np.broadcast_to(values, (count,))

        def every(values: NDArray[np.int64]) -> Ints:
            return np.broadcast_to(values, (count,))

        return ThresholdFit(
            self.form,
            every(start) + problem.offset,
            every(problem.first + start),
            every(problem.last + start),
            every(self.factor),
            every(self.second),
            every(self.shift),
            every(self.outer),
            np.broadcast_to(self.solved, (count,)),
            each(term),
            every(self.branch_shift) if self.form is Form.BRANCH else None,
            each(delay),
            None if delay is None else every(-start),
        )


def _one_factor(search: _Search, before: list[_Search]) -> None:
    problem = search.problem
    nearest = problem.nearest_factor()
    count = len(nearest)
    # All must be exact: the widest are the first that are not.
    for some in (np.argsort(-problem.width, kind="stable")[:_PROBES], np.arange(count)):
        for offset in _OFFSETS if count > 1 else _ALONE:
            rows = np.intersect1d(some, search.open(), assume_unique=True)
            if not rows.size:
                break
            zeros = np.zeros_like(rows)
            search.offer(_Offer(rows, problem.factors(rows, nearest[rows] + offset), zeros + 1, zeros, zeros, zeros))
        if not search.solved[some].all():
            return


def _two_factors(search: _Search, before: list[_Search]) -> None:
    if np.median(search.problem.width) > _WIDEST_MEDIAN:
        return
    _offer_proposals(search, search.open(), _NEAR)
    if int(search.solved.sum()) * 2 >= len(search.factor):
        _offer_to_all(search, _FAR)


def _two_and_a_term(search: _Search, before: list[_Search]) -> None:
    for name in ("factor", "second", "shift", "lowest", "highest", "slack", "start"):
        getattr(search, name)[:] = getattr(before[-1], name)
    if len(search.factor) == 1 or int(search.solved.sum()) * 2 >= len(search.factor):
        _offer_to_all(search, _TERM)


def _offer_to_all(search: _Search, limits: Limits) -> None:
    """Offer proposals for the channels that are open, the widest first; if there is none for one, the rest do not matter."""
    rows = search.open()
    rows = rows[np.argsort(-search.problem.width[rows], kind="stable")]
    for some in (rows[:1], rows[1:_PROBES], rows[_PROBES:]):
        if not _offer_proposals(search, some, limits):
            return


def _offer_proposals(search: _Search, rows: Ints, limits: Limits) -> bool:
    """Offer what a native search finds for the channels `rows`; returns whether there is something exact for each."""
    if not rows.size:
        return True
    problem = search.problem
    delay = None if problem.delay is None else problem.delay[rows]
    proposed, exact = propose(problem.at[rows], problem.level[rows], problem.width[rows], problem.slope[rows], delay, limits)
    for factors in proposed:
        still = np.isin(rows, search.open(), assume_unique=True)
        factor, second, shift, outer = (part[still] for part in factors)
        search.offer(_Offer(rows[still], problem.factors(rows[still], factor), second, shift, outer, np.zeros_like(shift)))
    return bool((exact | search.solved[rows]).all())


def _branch(search: _Search, before: list[_Search]) -> None:
    problem = search.problem
    ideal = problem.slope * 2.0**FINAL_SHIFT
    largest = np.maximum(problem.last + problem.least_start, 1)
    bits = np.frexp(largest.astype(np.float64))[1].astype(np.int64)
    # What is missing of a larger factor: the branch is never above zero, which makes copies cheap.
    factor = np.ceil(ideal).astype(np.int64)
    room = 30.9 - np.log2(np.maximum((factor - ideal) * largest, 1.0))
    _offer_branches(search, factor, np.zeros_like(bits), np.clip(np.floor(room), 0, _FINEST_BRANCH).astype(np.int64))
    factor = np.rint(ideal).astype(np.int64)
    shift = np.clip(bits + _BRANCH_BITS - 31, 0, _BRANCH_BITS)
    _offer_branches(search, factor, shift, _BRANCH_BITS - shift)
    if len(search.unsolved()) > _STUBBORN:
        return
    for total in range(_BRANCH_BITS + 1, _BRANCH_BITS - 5, -1):
        for more in range(_BRANCH_BITS):
            shift = np.clip(bits + total - 31 + more, 0, total)
            for change in (0, 1, -1):
                _offer_branches(search, factor + change, shift, total - shift)


def _offer_branches(search: _Search, factor: Ints, shift: Ints, branch_shift: Ints) -> None:
    """Offer second factors around what `factor` is off the ideal."""
    ideal = search.problem.slope * 2.0**FINAL_SHIFT
    second = np.rint((ideal - factor) * 2.0 ** (shift + branch_shift)).astype(np.int64)
    largest = (search.problem.last + search.problem.least_start) >> shift
    fits = (np.abs(second) + _BRANCH_OFFSETS[-1]) * largest < _HALF
    offsets = np.array(_BRANCH_OFFSETS)
    while offsets.size:
        rows = search.unsolved()
        rows = rows[fits[rows]]
        if not rows.size:
            break
        # For a few channels a call costs more than what it computes.
        some, offsets = np.split(offsets, [max(1, _AT_ONCE // len(rows))])
        each = np.repeat(rows, len(some))
        seconds = second[each] + np.tile(some, len(rows))
        search.offer(_Offer(each, factor[each], seconds, shift[each], np.zeros_like(each), branch_shift[each]), len(some))


_SEARCHES: dict[Form, Callable[[_Search, list[_Search]], None]] = {
    Form.ONE: _one_factor,
    Form.TWO: _two_factors,
    Form.TERM: _two_and_a_term,
    Form.BRANCH: _branch,
}
