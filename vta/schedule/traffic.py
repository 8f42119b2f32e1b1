"""Bytes that a tile operator moves, for many schedules at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm

__all__ = ["Reuse", "data_bytes"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Reuse:
    """How schedules cut the output, and what stays on chip between tiles; columns, one row a schedule."""

    tile_h: Ints
    tile_w: Ints
    channel_tiles: Ints
    places: Ints
    """Tiles of one channel tile, over the whole batch."""
    inp_kept: Bools
    """Input stays for all channel tiles."""
    wgt_kept: Bools
    """Weights stay for all places."""
    weights_outer: Bools
    vectors_whole: Bools
    """Per-channel constants of all channels are loaded together."""


def data_bytes(operator: GemmOperator, term: GemmTerm, kernel: tuple[int, int], reuse: Reuse, hw: HardwareConfig) -> Ints:
    """Bytes of inputs, weights, per-channel constants and results that move between DRAM and the chip.

    `term` is the main term, and `kernel` the kernel rows and columns of one of its steps. Rows of padding are not counted, as
    they are made on chip.
    """
    out = operator.output
    down = _loaded(term, 0, out.height, kernel[0], reuse.tile_h)
    across = _loaded(term, 1, out.width, kernel[1], reuse.tile_w)
    blocks = out.blocks if term.diagonal else term.source.blocks
    again = np.where(reuse.inp_kept | term.diagonal, 1, reuse.channel_tiles)
    fixed_again = np.where(~reuse.weights_outer & (reuse.channel_tiles > 1), reuse.places, 1)
    inp = out.batch * blocks * down * across * again
    weights = _weight_blocks(term)
    if term.diagonal and term.pointwise:
        wgt = weights * (fixed_again if len(term.weights) > 1 else np.ones_like(again))
    else:
        wgt = weights * np.where(reuse.wgt_kept, 1, reuse.places)
    rows = out.batch * out.blocks * out.height * out.width
    for other in operator.terms:
        if other is not term:
            inp = inp + rows
            wgt = wgt + _weight_blocks(other) * (fixed_again if len(other.weights) > 1 else 1)
    vectors = len(operator.vectors) * out.blocks * np.where(reuse.vectors_whole, 1, fixed_again)
    return np.asarray(
        inp * hw.elem_bytes(MemoryType.INP)
        + wgt * hw.elem_bytes(MemoryType.WGT)
        + vectors * hw.elem_bytes(MemoryType.ACC)
        + rows * out.planes * hw.elem_bytes(MemoryType.OUT),
        dtype=np.int64,
    )


def _weight_blocks(term: GemmTerm) -> int:
    kernel = 1 if term.window else term.kernel[0] * term.kernel[1]
    return int(term.weights.shape[0] * term.weights.shape[1] * kernel)


class _Line(NamedTuple):
    """An axis of a term: what lies along it, and how its products step."""

    source: int
    kernel: int
    stride: int
    dilation: int
    padding: int
    source_dilation: int


def _loaded(term: GemmTerm, axis: int, extent: int, step: int, tiles: Ints) -> Ints:
    """Rows (axis 0) or columns (axis 1) that all tiles along an axis load together, for each tile size."""
    line = _Line(
        (term.source.height, term.source.width)[axis],
        term.kernel[axis],
        term.strides[axis],
        term.dilation[axis],
        term.padding[axis],
        term.source_dilation[axis],
    )
    sizes, back = np.unique(tiles, return_inverse=True)
    counts = [_clipped(line, extent, step, int(size)) for size in sizes]
    return np.asarray(counts, dtype=np.int64)[back.reshape(tiles.shape)]


@lru_cache(maxsize=1 << 16)
def _clipped(line: _Line, extent: int, step: int, size: int) -> int:
    first = np.arange(0, extent, size)
    count = np.minimum(size, extent - first)
    total = 0
    for at in range(0, line.kernel, step):
        begin = first * line.stride + at * line.dilation - line.padding
        reach = (count - 1) * line.stride + (min(step, line.kernel - at) - 1) * line.dilation
        end = (begin + reach) // line.source_dilation + 1
        begin = -(-begin // line.source_dilation)
        total += int(np.maximum(0, np.minimum(end, line.source) - np.maximum(begin, 0)).sum())
    return total
