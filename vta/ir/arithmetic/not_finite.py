"""Finds values that are NaN or infinite."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.support.on_cores import on_cores
from vta.support.row_slices import row_slices

__all__ = ["first_where", "is_finite"]


def is_finite(values: NDArray[Any]) -> bool:
    """Whether all of `values` are finite; fast where they are."""
    if values.dtype.kind != "f":
        return True
    rows, found = np.atleast_1d(values), list[bool]()

    def look(slice_: slice) -> None:
        part = rows[slice_]
        with np.errstate(all="ignore"):
            # A sum of finite numbers may overflow, but no sum with another one is finite.
            found.append(bool(np.isfinite(part.sum())) or bool(np.isfinite(part).all()))

    on_cores(look, row_slices(rows))
    return all(found)


def first_where(holds: NDArray[Any]) -> tuple[int, ...]:
    """The index of the first true element of `holds`, which has one."""
    return tuple(int(position) for position in np.unravel_index(int(holds.argmax()), holds.shape))
