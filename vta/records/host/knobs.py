"""Tiles of kernels as the knobs of a record, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vta.errors import TuningError
from vta.host.kernels.products.convolution_shape import ConvolutionShape
from vta.host.kernels.tiles import Tile
from vta.host.processors import CpuTarget
from vta.records.knobs import Entity
from vta.support.shorten import shown

__all__ = ["entity_of_tile", "tile_of"]

_SPLITS = ("tile_co", "tile_oh", "tile_ow", "tile_ci")
_PUBLISHED = ("tile_co", "tile_oh", "tile_ow", "reorder_0", "reorder_1", "ann_reduce", "ann_spatial")
_ORDER = tuple(range(10))
"""Of the loops n, co, oh, ow, ci, kh, kw, vh, vw, vc."""
_SPATIAL = ("unroll", "unroll", "vec")
_ITEM_BYTES = 4


def entity_of_tile(tile: Tile, shape: ConvolutionShape, target: CpuTarget) -> Entity:
    """The knobs of the published template, and ``tile_ci``: the input channels whose products are added up at a time."""
    lanes = target.lanes(_ITEM_BYTES)
    reduce = tuple("unroll" if tile.unrolled >= count else "none" for count in (2, 1))
    knobs: list[tuple[str, str, Any]] = [
        ("tile_co", "sp", (-1, tile.blocks * lanes)),
        ("tile_oh", "sp", (-1, tile.rows)),
        ("tile_ow", "sp", (-1, tile.columns)),
        ("reorder_0", "re", _ORDER),
        ("ann_reduce", "an", reduce),
        ("ann_spatial", "an", _SPATIAL),
    ]
    return (*knobs, ("tile_ci", "sp", (-1, tile.chunk * lanes))) if shape.in_chunks else tuple(knobs)


def tile_of(entity: Sequence[tuple[str, str, Any]], shape: ConvolutionShape, target: CpuTarget) -> Tile:
    """The tile that knobs ask for; of a split the inner factor counts. A record without ``tile_ci`` adds up all channels.

    Raises `TuningError` naming a knob that is missing or has a value that the kernel cannot have.
    """
    knobs = {name: value for name, _, value in entity}
    unknown = [name for name in knobs if name not in (*_PUBLISHED, *_SPLITS)]
    if unknown:
        raise TuningError(f"knob {shown(unknown[0])} is unknown; allowed: {', '.join((*_PUBLISHED, 'tile_ci'))}")
    lanes = target.lanes(_ITEM_BYTES)
    channels, chunk = _inner(knobs, "tile_co"), _inner(knobs, "tile_ci") if "tile_ci" in knobs else 0
    for name, value in (("tile_co", channels), ("tile_ci", chunk)):
        if value % lanes:
            raise TuningError(f"knob {name} is {value}; this processor's vectors hold {lanes} channels")
    unrolled = [word == "unroll" for word in knobs.get("ann_reduce", ("none", "none"))]
    tile = Tile(
        columns=_inner(knobs, "tile_ow"),
        blocks=channels // lanes,
        rows=_inner(knobs, "tile_oh"),
        chunk=chunk // lanes,
        unrolled=2 if all(unrolled) else int(unrolled[-1:] == [True]),
    )
    if problem := shape.problem(tile, target):
        raise TuningError(problem)
    return tile


def _inner(knobs: Mapping[str, Any], name: str) -> int:
    value = knobs.get(name)
    if not isinstance(value, tuple) or not value or not isinstance(value[-1], int) or value[-1] < 0:
        raise TuningError(f"knob {name} is {shown(value)}; allowed: a list of factors")
    return int(value[-1])
