"""Bytes that an operator moves between DRAM and the chip, for many schedules at once."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.schedule.columns import Bools, Ints, TileSizes
from vta.schedule.cut import step_kernel
from vta.schedule.loops import Loops
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm

__all__ = ["Reuse", "data_bytes"]


@dataclass(frozen=True)
class Reuse:
    """What stays on chip between tiles; columns, one row a schedule."""

    inp_kept: Bools
    """Input stays for all channel tiles."""
    wgt_kept: Bools
    """Weights stay for all places."""
    weights_outer: Bools
    vectors_whole: bool
    """Per-channel constants of all channels are loaded together."""


def data_bytes(operator: GemmOperator, sizes: TileSizes, loops: Loops, reuse: Reuse, hw: HardwareConfig) -> Ints:
    """Bytes of inputs, weights, per-channel constants and results. Rows of padding are not counted, as they are made on chip."""
    term, out = operator.main_term, operator.output
    kh, kw = step_kernel(term, sizes)
    down, across = _loaded(term, 0, out.height, kh, sizes.tile_h), _loaded(term, 1, out.width, kw, sizes.tile_w)
    blocks = out.blocks if term.diagonal else term.source.blocks
    again = np.where(reuse.inp_kept | term.diagonal, 1, loops.channels)
    fixed_again = np.where(~reuse.weights_outer & (loops.channels > 1), loops.places, 1)
    inp = out.batch * blocks * down * across * again
    weights = _weight_blocks(term)
    if term.diagonal and term.pointwise:
        wgt = weights * (fixed_again if len(term.weights) > 1 else np.ones_like(again))
    else:
        wgt = weights * np.where(reuse.wgt_kept, 1, loops.places)
    rows = out.elements
    for other in operator.terms:
        if other is not term:
            inp = inp + rows
            wgt = wgt + _weight_blocks(other) * (fixed_again if len(other.weights) > 1 else 1)
    vectors = len(operator.vectors) * out.blocks * (1 if reuse.vectors_whole else fixed_again)
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
    reach: int


def _loaded(term: GemmTerm, axis: int, extent: int, kernel: Ints, tiles: Ints) -> Ints:
    """Rows (axis 0) or columns (axis 1) that all tiles along an axis load together; `kernel`: positions of one step."""
    line = _Line(
        (term.source.height, term.source.width)[axis],
        term.kernel[axis],
        term.strides[axis],
        term.dilation[axis],
        term.padding[axis],
        term.source_dilation[axis],
        term.reach(axis),
    )
    different = line.kernel + 1
    pairs = tiles * different + kernel
    if not pairs.size:
        return pairs
    # Few are different, and all are small: counting finds them sooner than sorting.
    counts = np.bincount(pairs.reshape(-1))
    present = np.flatnonzero(counts)
    counts[present] = [_clipped(line, extent, pair % different, pair // different) for pair in present.tolist()]
    return np.asarray(counts[pairs], np.int64)


@lru_cache(maxsize=1 << 16)
def _clipped(line: _Line, extent: int, step: int, size: int) -> int:
    first = np.arange(0, extent, size)
    count = np.minimum(size, extent - first)
    total = 0
    for at in range(0, line.kernel, step):
        begin = first * line.stride + at * line.dilation - line.padding
        reach = (count - 1) * line.stride + (min(step, line.kernel - at) - 1) * line.dilation
        end = (begin + reach) // line.source_dilation + 1 + line.reach
        begin = -(-begin // line.source_dilation)
        total += int(np.maximum(0, np.minimum(end, line.source) - np.maximum(begin, 0)).sum())
    return total
