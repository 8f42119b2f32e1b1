"""Finds and judges the integers of thresholds, natively; `vta.quantization.requantize.threshold_fit` says what is tried when."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.native import ffi, lib
from vta.quantization.requantize.thresholds import Form, Thresholds
from vta.support.dataclass import dataclass
from vta.support.on_cores import on_cores

__all__ = ["NO_SLACK", "Best", "Candidates", "Limits", "ThresholdRows"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_LAST_WRAP = 1 << 14
"""Starts are looked for up to this many wraps of the product."""
NO_SLACK = -(1 << 62)
"""The slack of no candidate."""
_PART = 32
"""Rows that a thread takes at a time."""
_NATIVE_FORMS = {
    Form.ONE: lib.VTA_FORM_ONE,
    Form.TWO: lib.VTA_FORM_TWO,
    Form.TERM: lib.VTA_FORM_TWO,
    Form.BRANCH: lib.VTA_FORM_BRANCH,
}


@dataclass(frozen=True)
class Limits:
    """How far a search for two factors goes."""

    shifts: tuple[int, int]
    """The first and the last middle shift."""
    pairs: int
    """Pairs of a second factor and a middle shift, the most promising first: those with which the first factor, an integer,
    comes nearest to the slope, and whose middle shift drops least."""
    parts: int = 1
    """Outer terms between 0 and the second factor, after which they repeat."""
    wanted: int = 2
    """Proposals for each channel."""


@dataclass(frozen=True)
class Candidates:
    """Integers to be tried for some rows, (n, tries) each, the first ones first."""

    factor: Ints
    second: Ints | int = 1
    shift: Ints | int = 0
    outer: Ints | int = 0
    branch_shift: Ints | int = 0


class ThresholdRows:
    """What the native search reads of thresholds: their steps, and what is asked of starts."""

    def __init__(self, steps: Thresholds, slope: Floats, **integers: Ints) -> None:
        """`integers` are the fields of that name of the native structure, a value for each row."""
        self.count = len(slope)
        self.native = ffi.new("vta_thresholds *")
        self.native.count, self.native.low = steps.at.shape[1], steps.low
        numbers = {"slope": slope} if steps.delay is None else {"slope": slope, "delay": steps.delay}
        # The native structure does not keep what it points to.
        self._kept = [self._set(name, np.ascontiguousarray(values, np.float64), "double[]") for name, values in numbers.items()]
        for name, values in {"at": steps.at, **integers}.items():
            self._kept.append(self._set(name, np.ascontiguousarray(values, np.int64), "int64_t[]"))

    def _set(self, name: str, values: NDArray[Any], kind: str) -> object:
        pointer = ffi.from_buffer(kind, values)
        setattr(self.native, name, pointer)
        return pointer


class Best:
    """The best integers of one form for each row until now."""

    _NAMES = ("factor", "second", "shift", "outer", "branch_shift", "lowest", "highest", "slack", "start")

    def __init__(self, rows: ThresholdRows, form: Form) -> None:
        """None yet, which is worse than any."""
        self._rows = rows
        self.form = form
        self._values = np.zeros((len(self._NAMES), rows.count), np.int64)
        self.factor, self.second, self.shift, self.outer, self.branch_shift, *rest = self._values
        self.lowest, self.highest, self.slack, self.start = rest
        self.factor[:], self.second[:] = 1, form is not Form.BRANCH
        self.slack[:], self.start[:] = NO_SLACK, -1
        self._native = ffi.new("vta_threshold_best *", [ffi.from_buffer("int64_t[]", values) for values in self._values])

    def take(self, other: Best) -> None:
        """Go on from what was found for another form."""
        self._values[:] = other._values

    def candidates(self) -> Candidates:
        """The integers of all rows, one try for each."""
        integers = self.factor, self.second, self.shift, self.outer, self.branch_shift
        return Candidates(*(values[:, None] for values in integers))

    def consider(self, rows: Ints, candidates: Candidates) -> None:
        """Keep the candidates for `rows` that are better than what there is, until one is exact and has a start.

        An exact one is better than any other, and then one with a start; branches need none.
        """
        if not rows.size:
            return
        shape = candidates.factor.shape
        each = [getattr(candidates, name) for name in ("factor", "second", "shift", "outer", "branch_shift")]
        arrays = [rows, *(np.broadcast_to(values, shape) for values in each)]
        row, *integers = [ffi.from_buffer("int64_t[]", np.ascontiguousarray(array, np.int64)) for array in arrays]
        offer = ffi.new("vta_threshold_offer *", (_NATIVE_FORMS[self.form], _LAST_WRAP, row, *shape, *integers))
        lib.vta_threshold_consider(self._rows.native, offer, self._native)

    def propose(self, rows: Ints, limits: Limits) -> NDArray[np.bool_]:
        """Look for two factors for `rows`, and consider them; returns for which rows something puts all steps right."""
        native = ffi.new("vta_threshold_limits *", (*limits.shifts, limits.pairs, limits.parts, limits.wanted))
        exact = np.zeros(len(rows), np.bool_)
        asked = np.ascontiguousarray(rows, np.int64)

        def search(at: int) -> None:
            offer, found = self._offer_to(asked[at : at + _PART]), ffi.from_buffer("uint8_t[]", exact[at : at + _PART])
            lib.vta_threshold_propose(self._rows.native, native, offer, self._native, found)

        on_cores(search, range(0, len(rows), _PART))
        return exact

    def settle(self) -> None:
        """Give every row a start that stands for its term, or for one off by less than half a factor.

        That moves steps by at most one x; where a row was exact, it may not be any more.
        """
        rows = np.arange(self._rows.count)
        lib.vta_threshold_settle(self._rows.native, self._offer_to(rows), self._native)

    def _offer_to(self, rows: Ints) -> Any:
        """An offer without candidates; `rows` must live as long."""
        offer = ffi.new("vta_threshold_offer *")
        offer.form, offer.wraps = _NATIVE_FORMS[self.form], _LAST_WRAP
        offer.row, offer.count = ffi.from_buffer("int64_t[]", rows), len(rows)
        return offer
