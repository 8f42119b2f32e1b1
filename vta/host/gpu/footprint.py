"""How much of what sums read a tile of them keeps near to its threads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from vta.host.gpu.tiling import TiledSums
from vta.host.loop.affine import affine_of
from vta.host.loop.expression import loads

__all__ = ["copied_bytes"]


def copied_bytes(tiled: TiledSums, extents: Mapping[str, Any], left_out: Collection[str] = ()) -> Any:
    """Bytes of the copies of what is read in a tile of some extents, which may be arrays."""
    return sum(
        width * prod(1 + sum(factor * (extents.get(name, whole) - 1) for name, factor, whole in place) for place in places)
        for copy, width, places in _footprints(tiled)
        if copy not in left_out
    )


_Place = tuple[tuple[str, int, int], ...]
"""Of one index: axes, the factors that they count with, and how far those go that a tile does not cut."""


@lru_cache(maxsize=64)
def _footprints(tiled: TiledSums) -> tuple[tuple[str, int, tuple[_Place, ...]], ...]:
    """What the sums read of each copy: its name, bytes of an element, and the indices."""
    wholes = {axis.name: axis.extent for axis in tiled.sums.reduce}
    found = []
    for stage in tiled.fetched:
        read = next(item for item in loads(tiled.sums.value) if item.buffer is stage.output)
        places = []
        for index in read.indices:
            affine = affine_of(index)
            assert affine is not None
            places.append(tuple((name, abs(factor), wholes.get(name, 1)) for name, factor in affine.factors.items()))
        found.append((stage.name, np.dtype(stage.output.dtype).itemsize, tuple(places)))
    return tuple(found)
