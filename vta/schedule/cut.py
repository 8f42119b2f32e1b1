"""How tile sizes cut a term into reduction steps: kernel positions, input blocks and the window of one step.

Everything is for one schedule, in integers, or for many, in columns.
"""

from __future__ import annotations

from typing import overload

from vta.schedule.columns import Ints, TileSizes, least
from vta.schedule.schedule import Schedule
from vta.tile.access_map import max_rows
from vta.tile.gemm_term import GemmTerm

__all__ = ["step_blocks", "step_kernel", "step_window"]


@overload
def step_kernel(term: GemmTerm, sizes: Schedule) -> tuple[int, int]: ...


@overload
def step_kernel(term: GemmTerm, sizes: TileSizes) -> tuple[Ints, Ints]: ...


def step_kernel(term: GemmTerm, sizes: Schedule | TileSizes) -> tuple[int | Ints, int | Ints]:
    """Kernel rows and columns that one reduction step of the term covers."""
    return least(term.kernel[0], sizes.tile_kh), least(term.kernel[1], sizes.tile_kw)


@overload
def step_blocks(term: GemmTerm, sizes: Schedule) -> int: ...


@overload
def step_blocks(term: GemmTerm, sizes: TileSizes) -> Ints: ...


def step_blocks(term: GemmTerm, sizes: Schedule | TileSizes) -> int | Ints:
    """Input channel blocks that one reduction step of the term covers, at most."""
    if term.diagonal:
        return least(term.source.blocks, least(sizes.tile_co, sizes.tile_co if term.pointwise else sizes.tile_ci))
    return least(term.source.blocks, sizes.tile_ci)


@overload
def step_window(term: GemmTerm, sizes: Schedule) -> tuple[int, int]: ...


@overload
def step_window(term: GemmTerm, sizes: TileSizes) -> tuple[Ints, Ints]: ...


def step_window(term: GemmTerm, sizes: Schedule | TileSizes) -> tuple[int | Ints, int | Ints]:
    """Input rows and columns that one reduction step needs, at most."""
    kh, kw = step_kernel(term, sizes)
    return max_rows(term, 0, sizes.tile_h, kh), max_rows(term, 1, sizes.tile_w, kw)
