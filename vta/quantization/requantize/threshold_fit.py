"""Looks for the integers of thresholds; see `vta.quantization.requantize.thresholds`.

For given factors the terms that put all steps of a channel right form an interval, so that exactness is known, not sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.files.cache import code_digest, file_stamp, remembered
from vta.native import core_path
from vta.quantization.requantize.threshold_factors import NO_SLACK, Best, Candidates, Limits, ThresholdRows
from vta.quantization.requantize.thresholds import FINAL_SHIFT, Form, ThresholdFit, Thresholds

__all__ = ["LEAST_START", "fit", "fit_once"]

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
_MANY = 16
"""Channels of which one is looked at before all are searched."""
_BRANCH_OFFSETS = tuple(sorted(range(-24, 25), key=abs))
_BRANCH_BITS = 15
"""Bits of the slope that a branch adds to those of the factor, if it drops bits of x."""
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
_ENDS = slice(0, 2)


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
    return _found(steps, offset)


def fit_once(make: Callable[[], Thresholds], key: bytes, offset: Ints, *, close: bool = False) -> ThresholdFit | None:
    """Return what `fit` does for the steps that `make` gives, kept for later processes: then the steps are not made again.

    `key` must hold all that the steps follow from, the code that makes them among it.
    """

    def search() -> dict[str, NDArray[Any]]:
        return _arrays(fit(make(), offset, close=close))

    whole = b"\0".join([_code(), str(close).encode(), key, offset.astype(np.int64).tobytes()])
    stored = dict(remembered("thresholds", whole, search))
    return ThresholdFit(Form(str(stored.pop("form"))), **stored) if stored else None


def _arrays(integers: ThresholdFit | None) -> dict[str, NDArray[Any]]:
    """The fields that are there, as arrays."""
    if integers is None:
        return {}
    values = {field.name: getattr(integers, field.name) for field in fields(integers)}
    return {name: np.asarray(getattr(value, "value", value)) for name, value in values.items() if value is not None}


@cache
def _code() -> bytes:
    """What tells versions of the search apart."""
    sources = [Path(__file__).with_name(f"{name}.py") for name in ("thresholds", "threshold_fit", "threshold_factors")]
    return code_digest(*sources) + file_stamp(core_path())


def _found(steps: Thresholds, offset: Ints) -> ThresholdFit | None:
    problem = _Problem(steps, offset)
    searches: list[_Search] = []
    if _takes_a_branch(problem):
        branch = _Search(problem, Form.BRANCH)
        _branch(branch, searches)
        if branch.solved.all():
            return branch.result()
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
    roomy.best.consider(np.arange(len(best.solved)), best.best.candidates())
    found = roomy.result()
    if _is_close(_differences(found, steps, offset)) and (found.exact >= result.exact).all():
        return found
    return result if _differences(result, steps, offset).max() <= 1 else None


def _close(steps: Thresholds, offset: Ints) -> ThresholdFit:
    search = _Search(_Problem(replace(steps, delay=None), offset, _CLOSE_MARGIN), Form.ONE)
    rows = np.arange(len(search.solved))
    search.best.consider(rows, Candidates(search.problem.factors(rows, _OFFSETS)))
    search.best.settle()
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
        self.steps, self.offset = steps, offset
        begin, end = steps.begin, steps.end
        self.moves: NDArray[np.bool_] = end > begin
        # Where there is one step, any slope does.
        self.slope = np.where(end - begin == 1, _STEEP, steps.slope)
        # The largest x that is worth telling from smaller ones, and the smallest that is from larger ones.
        self.first, self.last = steps.least, steps.least
        if steps.at.shape[1]:
            every, most = np.arange(len(begin)), steps.at.shape[1] - 1
            self.first = np.where(self.moves, steps.at[every, np.minimum(begin, most)] - 1, steps.least)
            self.last = np.where(self.moves, steps.at[every, end - 1], steps.least)
        if np.any(margin):
            beyond = np.floor(margin / np.maximum(self.slope, _FLATTEST)).astype(np.int64) * self.moves
            self.first, self.last = self.first - beyond, self.last + beyond
        low, high = (offset.min(keepdims=True), offset.max(keepdims=True)) if len(steps.slope) == 1 else (offset, offset)
        self.least_start = np.maximum(LEAST_START - low, np.maximum(-self.first, 1))
        self.most_start = _HALF - 1 - np.maximum(np.maximum(steps.most, high), 0)
        self.width = self.last - self.first
        self.rows = ThresholdRows(
            steps,
            begin=begin,
            end=end,
            first=self.first,
            last=self.last,
            least_start=self.least_start,
            most_start=self.most_start,
            slope=self.slope,
        )

    def nearest_factor(self) -> Ints:
        """The single factor that comes nearest to each slope."""
        return np.rint(self.slope * 2.0**FINAL_SHIFT).astype(np.int64)

    def factors(self, rows: Ints, offsets: Sequence[int]) -> Ints:
        """Usable factors around the nearest, (rows, offsets), and for channels that never move one that finds a start soon."""
        wanted = self.nearest_factor()[rows, None] + np.array(offsets)
        return np.where(self.moves[rows, None], np.maximum(wanted, 1), _STILL)


class _Search:
    """The best integers of one form for each channel until now."""

    def __init__(self, problem: _Problem, form: Form) -> None:
        self.problem, self.form = problem, form
        self.best = Best(problem.rows, form)

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Which channels are exact."""
        found: NDArray[np.bool_] = self.best.slack >= 0
        return found

    def score(self) -> tuple[int, int]:
        """How good the integers are: exact channels, and how far the worst channel is from exact."""
        worst = int(self.best.slack.min(initial=0))
        return (-1 if worst == NO_SLACK else int(self.solved.sum())), worst

    def open(self) -> Ints:
        """The channels that are not exact yet, or have no start."""
        return np.flatnonzero(~self.solved | (self.best.start < 0))

    def unsolved(self) -> Ints:
        """The channels that are not exact yet."""
        return np.flatnonzero(~self.solved)

    def delays(self) -> Ints:
        """What is taken off the product below zero."""
        assert self.problem.steps.delay is not None
        delay = self.problem.steps.delay * 2.0**FINAL_SHIFT
        if self.form in (Form.TWO, Form.TERM):
            delay = delay * 2.0**self.best.shift / self.best.second
        return np.rint(delay).astype(np.int64)

    def result(self) -> ThresholdFit:
        """The integers found."""
        problem, best, count = self.problem, self.best, len(self.problem.offset)
        folded = bool((best.start >= 0).all())
        start = best.start if folded else problem.least_start
        term = None if folded else ((best.lowest + best.highest) >> 1) - start * best.factor
        delay = None if problem.steps.delay is None else self.delays()

        def each(values: Ints | None) -> Ints | None:
            return None if values is None else np.broadcast_to(values, (count,))

        def every(values: NDArray[np.int64]) -> Ints:
            return np.broadcast_to(values, (count,))

        return ThresholdFit(
            self.form,
            every(start) + problem.offset,
            every(problem.first + start),
            every(problem.last + start),
            every(best.factor),
            every(best.second),
            every(best.shift),
            every(best.outer),
            np.broadcast_to(self.solved, (count,)),
            each(term),
            every(best.branch_shift) if self.form is Form.BRANCH else None,
            each(delay),
            None if delay is None else every(-start),
        )


def _one_factor(search: _Search, before: list[_Search]) -> None:
    problem = search.problem
    count = len(problem.slope)
    # All must be exact: the widest are the first that are not.
    for some in (np.argsort(-problem.width, kind="stable")[:_PROBES], np.arange(count)):
        search.best.consider(some, Candidates(problem.factors(some, _OFFSETS if count > 1 else _ALONE)))
        if not search.solved[some].all():
            return


def _two_factors(search: _Search, before: list[_Search]) -> None:
    if np.median(search.problem.width) > _WIDEST_MEDIAN:
        return
    search.best.propose(search.open(), _NEAR)
    if int(search.solved.sum()) * 2 >= len(search.solved):
        _propose_to_all(search, _FAR)


def _two_and_a_term(search: _Search, before: list[_Search]) -> None:
    search.best.take(before[-1].best)
    if len(search.solved) == 1 or int(search.solved.sum()) * 2 >= len(search.solved):
        _propose_to_all(search, _TERM)


def _takes_a_branch(problem: _Problem) -> bool:
    """Whether a look at the widest of many channels says that nothing shorter than a branch is exact for all."""
    widest = np.argmax(problem.width, keepdims=True)
    if len(problem.width) < _MANY:
        return False
    one = _Search(problem, Form.ONE)
    one.best.consider(widest, Candidates(problem.factors(widest, _OFFSETS)))
    tried = _Search(problem, Form.TERM)
    return not one.solved.any() and not any(tried.best.propose(widest, limits).all() for limits in (_NEAR, _FAR, _TERM))


def _propose_to_all(search: _Search, limits: Limits) -> None:
    """Propose to the channels that are open, the widest first; if there is nothing exact for one, the rest do not matter."""
    rows = search.open()
    rows = rows[np.argsort(-search.problem.width[rows], kind="stable")]
    for some in (rows[:1], rows[1:_PROBES], rows[_PROBES:]):
        exact = search.best.propose(some, limits)
        if not (exact | search.solved[some]).all():
            return


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
            if search.solved.all():
                return
            shift = np.clip(bits + total - 31 + more, 0, total)
            for change in (0, 1, -1):
                _offer_branches(search, factor + change, shift, total - shift)


def _offer_branches(search: _Search, factor: Ints, shift: Ints, branch_shift: Ints) -> None:
    """Offer second factors around what `factor` is off the ideal."""
    rows = search.unsolved()
    if not rows.size:
        return
    problem, (factor, shift, branch_shift) = search.problem, (values[rows] for values in (factor, shift, branch_shift))
    ideal = problem.slope[rows] * 2.0**FINAL_SHIFT
    second = np.rint((ideal - factor) * 2.0 ** (shift + branch_shift)).astype(np.int64)
    largest = (problem.last + problem.least_start)[rows] >> shift
    small = (np.abs(second) + _BRANCH_OFFSETS[-1]) * largest < _HALF
    rows = rows[small]
    seconds = second[small, None] + np.array(_BRANCH_OFFSETS)
    some = [values[small, None] for values in (factor, shift, branch_shift)]
    search.best.consider(rows, Candidates(np.broadcast_to(some[0], seconds.shape), seconds, some[1], 0, some[2]))


_SEARCHES: dict[Form, Callable[[_Search, list[_Search]], None]] = {
    Form.ONE: _one_factor,
    Form.TWO: _two_factors,
    Form.TERM: _two_and_a_term,
    Form.BRANCH: _branch,
}
