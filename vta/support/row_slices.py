"""Cuts large arrays into slices of rows, so that what is computed on the way to a small result stays small too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

__all__ = ["row_slices"]

_ELEMENTS = 1 << 16
"""Of a slice: 512 KiB of float64 or int64, which caches hold."""


def row_slices(array: NDArray[Any]) -> Iterator[slice]:
    """Slices along the first axis that together are all of `array`, of one row at least."""
    rows = len(array)
    step = max(1, _ELEMENTS * rows // max(1, array.size))
    return (slice(first, min(first + step, rows)) for first in range(0, rows, step))
