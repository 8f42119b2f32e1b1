"""How large weights are together: what bounds the sums of their products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.native import ffi, lib
from vta.support.on_cores import on_cores
from vta.support.row_slices import row_slices

__all__ = ["magnitude_sums"]


def magnitude_sums(values: NDArray[Any]) -> NDArray[np.int64]:
    """The sum of the magnitudes of each row of integers, int64, shape (rows,); a row is what has one index of the first axis."""
    sums = np.zeros(len(values), np.int64)

    def find(rows: slice) -> None:
        part = values[rows].reshape(len(sums[rows]), -1)
        if part.dtype == np.int8:
            given = ffi.from_buffer("int8_t[]", np.ascontiguousarray(part))
            lib.vta_magnitude_sums(given, *part.shape, ffi.from_buffer("int64_t[]", sums[rows]))
        else:
            sums[rows] = np.abs(part, dtype=np.int64).sum(axis=1)

    if values.size:
        on_cores(find, row_slices(values))
    return sums
