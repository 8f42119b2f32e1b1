"""Cuts large arrays into slices of rows, so that what is computed on the way to a small result stays small too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.support.on_cores import on_cores

__all__ = ["magnitude_sums", "row_slices"]

_ELEMENTS = 1 << 16
"""Of a slice: 512 KiB of float64 or int64, which caches hold."""


def row_slices(array: NDArray[Any]) -> Iterator[slice]:
    """Slices along the first axis that together are all of `array`, of one row at least."""
    rows = len(array)
    step = max(1, _ELEMENTS * rows // max(1, array.size))
    return (slice(first, min(first + step, rows)) for first in range(0, rows, step))


def magnitude_sums(values: NDArray[Any]) -> NDArray[np.int64]:
    """The sum of the magnitudes of each row of integers, int64, shape (rows,); a row is what has one index of the first axis."""
    sums = np.zeros(len(values), np.int64)
    wide = np.int16 if values.dtype == np.int8 else np.int64

    def find(rows: slice) -> None:
        part = values[rows]
        sums[rows] = np.abs(part.reshape(len(part), -1), dtype=wide).sum(axis=1, dtype=np.int64)

    on_cores(find, row_slices(values))
    return sums
