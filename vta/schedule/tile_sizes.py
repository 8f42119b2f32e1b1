"""Sizes that tiles may have, and the largest that fits, for operators whose only choice is that of a tile."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product

__all__ = ["equal_sizes", "largest_tile"]

Size = tuple[int, int, int]
"""Blocks, rows and columns."""


@lru_cache(maxsize=4096)
def equal_sizes(extent: int) -> tuple[int, ...]:
    """Tile sizes that cut `extent` into equal parts, but for the last; from the smallest on."""
    return tuple(sorted({-(-extent // parts) for parts in range(1, extent + 1)}))


def largest_tile(extents: Size, fits: Callable[[Size, int], bool]) -> Size | None:
    """Return the largest tile of which two fit on chip, or else one; None if none does.

    ``fits(tile, copies)`` says whether so many copies do. Of tiles as large, the one with the longest rows.
    """
    blocks, rows, columns = map(equal_sizes, extents)
    tiles = list(product(blocks, rows, columns))
    for copies in (2, 1):
        fitting = [tile for tile in tiles if fits(tile, copies)]
        if fitting:
            return max(fitting, key=lambda tile: (tile[0] * tile[1] * tile[2], tile[2], tile[1]))
    return None
