"""Looks for factors and starts of thresholds, natively; `vta.quantization.requantize.threshold_fit` says what they are worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vta.native import ffi, lib
from vta.support.dataclass import dataclass
from vta.support.on_cores import on_cores

__all__ = ["Factors", "Limits", "propose", "starts"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


_LAST_WRAP = 1 << 14
"""Starts are looked for up to this many wraps of the product."""


@dataclass(frozen=True)
class Limits:
    """How far a search goes."""

    shifts: tuple[int, int]
    """The first and the last middle shift."""
    pairs: int
    """Pairs of a second factor and a middle shift, the most promising first: those with which the first factor, an integer,
    comes nearest to the slope, and whose middle shift drops least."""
    parts: int = 1
    """Outer terms between 0 and the second factor, after which they repeat."""
    wanted: int = 2
    """Proposals for each channel."""


class Factors(NamedTuple):
    """Integers of each channel, (C,) each."""

    factor: Ints
    second: Ints
    shift: Ints
    outer: Ints


def propose(
    at: Ints, level: Ints, width: Ints, slope: Floats, delay: Floats | None, limits: Limits
) -> tuple[list[Factors], NDArray[np.bool_]]:
    """Return `limits.wanted` proposals for channels whose steps to `level` are `at`, both (C, K), and which have exact ones.

    Proposals that put all steps right come first; where there are none, those that come near.
    """
    rows, count = at.shape
    steps, levels = np.ascontiguousarray(at, np.int64), np.ascontiguousarray(level, np.int64)
    native = ffi.new("vta_threshold_limits *", (*limits.shifts, limits.pairs, limits.parts, limits.wanted))
    exact = np.zeros(rows, np.bool_)
    found = np.zeros((rows, limits.wanted, len(Factors._fields)), np.int64)
    pointers = [ffi.cast("int64_t *", array.ctypes.data) for array in (steps, levels, found)]

    def search(row: int) -> None:
        thresholds = ffi.new("vta_thresholds *")
        thresholds.count = count
        thresholds.at, thresholds.level = (pointer + row * count for pointer in pointers[:2])
        thresholds.width, thresholds.slope = int(width[row]), float(slope[row])
        thresholds.delay = 0.0 if delay is None else float(delay[row])
        place = ffi.cast("vta_threshold_factors *", pointers[2] + row * limits.wanted * len(Factors._fields))
        exact[row] = lib.vta_threshold_search(thresholds, native, place) > 0

    on_cores(search, range(rows))
    return [Factors(*found[:, place].T) for place in range(limits.wanted)], exact


def starts(factor: Ints, lowest: Ints, highest: Ints, least: Ints, most: Ints) -> Ints:
    """Return the smallest start in least..most whose product with `factor`, modulo 2^32, lies in lowest..highest; all (C,).

    -1 where there is none, or none is near. Factors are positive.
    """
    job = ffi.new("vta_threshold_starts_job *")
    arrays = [np.ascontiguousarray(values, np.int64) for values in (factor, lowest, highest, least, most)]
    found = np.empty(len(factor), np.int64)
    for name, array in zip(("factor", "lowest", "highest", "least", "most", "start"), (*arrays, found), strict=True):
        setattr(job, name, ffi.cast("int64_t *", array.ctypes.data))
    job.count, job.wraps = len(factor), _LAST_WRAP
    lib.vta_threshold_starts(job)
    return found
