"""Places of the outputs of layers that are looked at, drawn at random, the same in every run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vta.native import ffi, lib

__all__ = ["Places"]

_SPARE = 64
"""Numbers that are drawn beside those that are needed: now and then one is not fair, and another one takes its place."""
_MOST_SPARE = 1 << 20


class Places:
    """Draws what `numpy.random.default_rng(0).choice` does without replacement, of many layers at once."""

    def __init__(self) -> None:
        self._source = np.random.PCG64(0)
        self._numbers = np.empty(0, np.uint32)
        """Those that were made and not used."""

    def drawn(self, positions: Sequence[int], places: Sequence[int], samples: int) -> list[NDArray[np.int64]]:
        """For each layer as many different ones of its positions as it has places, for so many samples: (samples, places) each.

        The draws of all layers for one sample come before those for the next. No layer has more than 10,000 positions unless it
        has less than a fiftieth as many places.
        """
        # Of layers without a choice no number is drawn.
        each = sum(places)
        found = np.empty((samples, each), np.int64)
        counts = [np.array(given, np.int64) for given in (positions, places)]
        spare = _SPARE
        while not self._draw(found, counts, 2 * each * samples + spare):
            spare *= 16
            if spare > _MOST_SPARE:
                raise MemoryError(f"no memory to draw {each} places")
        ends = np.cumsum(counts[1]).tolist()
        return [np.ascontiguousarray(found[:, end - count : end]) for end, count in zip(ends, places, strict=True)]

    def _draw(self, found: NDArray[np.int64], counts: Sequence[NDArray[np.int64]], needed: int) -> bool:
        """Whether that many numbers were enough; those that were not used stay."""
        missing = max(0, needed - len(self._numbers))
        more = self._source.random_raw((missing + 1) // 2).astype("<u8").view("<u4")
        self._numbers = np.concatenate([self._numbers, more.astype(np.uint32)])
        given = ffi.from_buffer("uint32_t[]", self._numbers)
        sizes = [ffi.from_buffer("int64_t[]", array) for array in counts]
        out = ffi.from_buffer("int64_t[]", found)
        used = lib.vta_draw_places(given, len(self._numbers), *sizes, len(counts[0]), len(found), out)
        if used >= 0:
            self._numbers = self._numbers[used:].copy()
        return bool(used >= 0)
