"""The loops over tiles that schedules make, for many at once: how often each runs, and the data of one step."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from vta.schedule.columns import Bools, Ints, TileSizes, least
from vta.schedule.cut import step_blocks, step_kernel, step_window
from vta.support.dataclass import dataclass
from vta.tile.gemm_operator import GemmOperator

__all__ = ["Loops", "loops_of", "up"]


@dataclass(frozen=True)
class Loops:
    """Trip counts of the loops over tiles, and elements of one step or tile; of the main term."""

    channels: Ints
    rows: Ints
    """Over the whole batch."""
    columns: Ints
    reduction: Ints
    """Steps over input channel blocks."""
    kernel: Ints
    """Steps over kernel positions."""
    inp: Ints
    wgt: Ints
    out: Ints

    @cached_property
    def places(self) -> Ints:
        """Tiles of one channel tile."""
        return self.rows * self.columns

    @cached_property
    def steps(self) -> Ints:
        """Reduction steps of one tile."""
        return self.reduction * self.kernel

    @cached_property
    def tiles(self) -> Ints:
        """All output tiles."""
        return self.channels * self.places

    def reuse(self, weights_outer: Bools) -> tuple[Ints, Ints]:
        """Slots of input and of weights that hold everything which a later tile uses again.

        Where `weights_outer` holds, all positions of a channel tile are visited before the next channel tile, elsewhere all
        channels of a position before the next position.
        """
        steps = self.steps
        return np.where(weights_outer, steps * self.places, steps), np.where(weights_outer, steps, steps * self.channels)


def loops_of(operator: GemmOperator, sizes: TileSizes, *, blocks_apart: bool) -> Loops:
    """The loops of an operator that is cut into tiles of such `sizes`.

    A pointwise diagonal term reads one block of a tile after the other: these are steps, if they count as `blocks_apart`. In the
    config spaces of tuning the whole tile is one step, as the numbers of their points are in records.
    """
    term, out = operator.main_term, operator.output
    height, width = step_window(term, sizes)
    kh, kw = step_kernel(term, sizes)
    blocks = least(term.source.blocks, sizes.tile_co) if term.diagonal else np.full_like(sizes.tile_co, term.source.blocks)
    step = np.ones_like(blocks) if blocks_apart and term.diagonal and term.pointwise else step_blocks(term, sizes)
    weights = (step if term.diagonal else step * sizes.tile_co) * (1 if term.window else kh * kw)
    return Loops(
        channels=up(out.blocks, sizes.tile_co),
        rows=out.batch * up(out.height, sizes.tile_h),
        columns=up(out.width, sizes.tile_w),
        reduction=up(blocks, step),
        kernel=up(term.kernel[0], kh) * up(term.kernel[1], kw),
        inp=step * height * width,
        wgt=weights,
        out=sizes.tile_co * sizes.tile_h * sizes.tile_w,
    )


def up(extent: int | Ints, size: int | Ints) -> Ints:
    """How many parts of `size` an `extent` takes."""
    return np.asarray(-(-np.asarray(extent) // size), dtype=np.int64)
