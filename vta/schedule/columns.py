"""Many schedules at once, as columns: one row of each column is a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import overload

import numpy as np
from numpy.typing import NDArray

from vta.schedule.schedule import Schedule
from vta.support.dataclass import dataclass

__all__ = ["Bools", "Floats", "Ints", "Schedules", "TileSizes", "least", "most"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class TileSizes:
    """Tile sizes, called as those of a `Schedule`. Kernel sizes may be arrays of no dimension: the same for all rows.

    Rows may also be those of a grid, whose axes are arrays that broadcast.
    """

    tile_co: Ints
    tile_h: Ints
    tile_w: Ints
    tile_ci: Ints
    tile_kh: Ints
    tile_kw: Ints

    def __len__(self) -> int:
        return len(self.tile_co)


@dataclass(frozen=True, kw_only=True)
class Schedules(TileSizes):
    """Whole schedules, whose rows and columns are one axis where that is possible (`Schedule.flat`)."""

    inp_slots: Ints
    wgt_slots: Ints
    acc_slots: Ints
    weights_outer: Bools
    skip_padding: Bools

    @classmethod
    def of(cls, schedules: Sequence[Schedule]) -> Schedules:
        """Those schedules, in order."""
        return cls(**{field.name: np.array([getattr(one, field.name) for one in schedules]) for field in fields(cls)})

    def schedule(self, row: int) -> Schedule:
        """One of them."""
        return Schedule(**{field.name: getattr(self, field.name)[row].item() for field in fields(self)})


@overload
def least(first: int, second: int) -> int: ...


@overload
def least(first: int | Ints, second: int | Ints) -> int | Ints: ...


def least(first: int | Ints, second: int | Ints) -> int | Ints:
    """The smaller of two, row by row."""
    if isinstance(first, int) and isinstance(second, int):
        return min(first, second)
    return np.minimum(first, second)


@overload
def most(first: int, second: int) -> int: ...


@overload
def most(first: int | Ints, second: int | Ints) -> int | Ints: ...


def most(first: int | Ints, second: int | Ints) -> int | Ints:
    """The larger of two, row by row."""
    if isinstance(first, int) and isinstance(second, int):
        return max(first, second)
    return np.maximum(first, second)
