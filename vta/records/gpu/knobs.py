"""Tiles of kernels of GPUs as the knobs of a record, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vta.errors import TuningError
from vta.host.gpu.splitting import GpuChoice, GpuSplit
from vta.host.gpu.tiling import GpuTile, SpatialTile
from vta.records.gpu.workload import BYTES, CONVOLUTION, DENSE, DENSE_FEW, DEPTHWISE
from vta.records.knobs import Entity
from vta.support.shorten import shown

__all__ = ["REDUCE_KNOBS", "SPATIAL_KNOBS", "UNROLL_STEPS", "entity_of_tile", "tile_of"]

_SPATIAL = ("tile_f", "tile_y", "tile_x")
_REDUCE = ("tile_rc", "tile_ry", "tile_rx")
SPATIAL_KNOBS = {CONVOLUTION: _SPATIAL, BYTES: _SPATIAL, DEPTHWISE: _SPATIAL, DENSE: ("tile_x", "tile_y")}
"""Of each workload, for the last axes of the result: each a number of blocks, of virtual threads, of threads, and of elements."""
REDUCE_KNOBS = {CONVOLUTION: _REDUCE, BYTES: _REDUCE, DEPTHWISE: (), DENSE: ("tile_k",)}
"""For the axes of the reduction; those that have none are read whole."""
UNROLL_STEPS = (0, 512, 1500)
_PARTS = "tile_k"
"""Of dense layers with few results: parts of a sum, that threads have."""
_UNROLL, _EXPLICIT = "auto_unroll_max_step", "unroll_explicit"
_TENSOR = "tensorize"
"""Whether threads multiply matrices of bytes together; left out where they do not."""
_SUM_PARTS = "sum_parts"
"""Of each sum of such matrices; left out where a sum is one."""
_IGNORED = ("tile_n", "fuse_yx", "AA_double_buffer", "WW_double_buffer", "block_factor", "vectorize")
"""Knobs of published templates that change nothing here."""


def entity_of_tile(tile: GpuChoice, name: str) -> Entity:
    """The knobs of the published template of a workload."""
    if isinstance(tile, GpuSplit):
        return ((_PARTS, "sp", (-1, tile.parts)),)
    knobs: list[tuple[str, str, Any]] = [
        (knob, "sp", (-1, cut.virtual, cut.threads, cut.inner))
        for knob, cut in zip(SPATIAL_KNOBS[name], tile.spatial, strict=True)
    ]
    knobs += [(knob, "sp", (-1, inner)) for knob, inner in zip(REDUCE_KNOBS[name], tile.reduce, strict=False)]
    knobs += [(_UNROLL, "ot", tile.unrolled_steps), (_EXPLICIT, "ot", int(tile.explicit))]
    knobs += [(_TENSOR, "ot", 1)] if tile.tensor else []
    knobs += [(_SUM_PARTS, "ot", tile.parts)] if tile.parts > 1 else []
    return tuple(knobs)


def tile_of(entity: Sequence[tuple[str, str, Any]], name: str, window: Sequence[int]) -> GpuChoice:
    """The tile, or split, that knobs ask for; `window` are the extents of the reduction, for axes without a knob.

    Raises `TuningError` naming a knob that is missing, unknown or no list of factors.
    """
    knobs = {knob: value for knob, _, value in entity}
    known = (
        (_PARTS,) if name == DENSE_FEW else (*SPATIAL_KNOBS[name], *REDUCE_KNOBS[name], _UNROLL, _EXPLICIT, _TENSOR, _SUM_PARTS)
    )
    for knob in knobs:
        if knob not in (*known, *_IGNORED):
            raise TuningError(f"knob {shown(knob)} is unknown; allowed: {', '.join(known)}")
    if name == DENSE_FEW:
        return GpuSplit(*_factors(knobs, _PARTS, 2))
    spatial = tuple(SpatialTile(*_factors(knobs, knob, 4)) for knob in SPATIAL_KNOBS[name])
    reduce = tuple(_factors(knobs, knob, 2)[-1] for knob in REDUCE_KNOBS[name]) or tuple(window)
    tensor = bool(knobs.get(_TENSOR, 0))
    unrolled, explicit = int(knobs.get(_UNROLL, 0)), bool(knobs.get(_EXPLICIT, 1))
    return GpuTile(spatial, reduce, unrolled, explicit, tensor, max(1, int(knobs.get(_SUM_PARTS, 1))))


def _factors(knobs: Mapping[str, Any], name: str, count: int) -> tuple[int, ...]:
    """All factors but the first, which follows from them."""
    value = knobs.get(name)
    if not isinstance(value, (tuple, list)) or len(value) != count or not all(isinstance(item, int) for item in value):
        raise TuningError(f"knob {name} is {shown(value)}; allowed: a list of {count} factors")
    if any(item < 1 for item in value[1:]):
        raise TuningError(f"knob {name} is {shown(value)}; allowed: a list of {count} factors")
    return tuple(value[1:])
