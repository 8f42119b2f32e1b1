"""Quick figures of many tilings at once: trip counts, data of one step, and what must at least be done and moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa.instruction import INSTRUCTION_BYTES
from vta.schedule.cost import passes_per_row
from vta.tile.access_map import max_rows
from vta.tile.gemm_operator import GemmOperator

__all__ = ["Loops", "Tiles", "Work", "least_work", "loops_of"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Tiles:
    """Tile sizes as columns, one row a tiling."""

    co: Ints
    h: Ints
    w: Ints
    ci: Ints
    kh: Ints
    kw: Ints


@dataclass(frozen=True)
class Loops:
    """Trip counts of the loops over tiles, and elements of one step or tile."""

    channels: Ints
    rows: Ints
    columns: Ints
    reduction: Ints
    kernel: Ints
    inp: Ints
    wgt: Ints
    out: Ints

    @property
    def places(self) -> Ints:
        """Tiles of one channel tile."""
        return self.rows * self.columns

    @property
    def steps(self) -> Ints:
        """Reduction steps of one tile."""
        return self.reduction * self.kernel

    @property
    def tiles(self) -> Ints:
        """All output tiles."""
        return self.channels * self.places


@dataclass(frozen=True)
class Work:
    """What the units have to do, in cycles."""

    compute: Floats
    memory: Floats
    """Beats read: data and instructions."""

    @property
    def cycles(self) -> Floats:
        """What neither can go below."""
        return np.maximum(self.compute, self.memory)


def loops_of(operator: GemmOperator, tiles: Tiles) -> Loops:
    """The loops of an operator that is cut into `tiles`."""
    term, out = operator.main_term, operator.output
    kh, kw = np.minimum(tiles.kh, term.kernel[0]), np.minimum(tiles.kw, term.kernel[1])
    height, width = max_rows(term, 0, tiles.h, kh), max_rows(term, 1, tiles.w, kw)
    blocks = np.minimum(tiles.co, term.source.blocks) if term.diagonal else np.full_like(tiles.co, term.source.blocks)
    ci = np.minimum(np.where(term.diagonal and term.pointwise, tiles.co, tiles.ci), blocks)
    weights = (ci if term.diagonal else ci * tiles.co) * (1 if term.window else kh * kw)
    return Loops(
        -(-out.blocks // tiles.co),
        out.batch * -(-out.height // tiles.h),
        -(-out.width // tiles.w),
        -(-blocks // ci),
        -(-term.kernel[0] // kh) * -(-term.kernel[1] // kw),
        ci * height * width,
        weights,
        tiles.co * tiles.h * tiles.w,
    )


def least_work(operator: GemmOperator, loops: Loops, inp_kept: Bools, wgt_kept: Bools, hw: HardwareConfig) -> Work:
    """What tilings take at least. `inp_kept`: input stays on chip for all channel tiles; `wgt_kept`: weights for all places."""
    gemms = loops.tiles * loops.steps
    inp_loads = gemms / np.where(inp_kept, loops.channels, 1)
    wgt_loads = gemms / np.where(wgt_kept, loops.places, 1)
    beat = hw.platform.bus_bytes
    passes = passes_per_row(operator)
    instructions = gemms + inp_loads + wgt_loads + loops.tiles * (passes + 1)
    moved = inp_loads * loops.inp * hw.elem_bytes(MemoryType.INP) + wgt_loads * loops.wgt * hw.elem_bytes(MemoryType.WGT)
    rows = loops.tiles * loops.out
    compute = rows * (operator.main_term.products_per_row + passes)
    return Work(compute.astype(np.float64), (moved + instructions * INSTRUCTION_BYTES) / beat)
