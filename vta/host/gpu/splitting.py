"""Long sums of few elements: the threads of a block add up a part each, and then the parts, in memory that they share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vta.host.gpu.tiling import GpuTile, TiledSums
from vta.host.loop.compute import Stage
from vta.host.loop.grid import GridLimits
from vta.host.loop.steps import Bind, Cache, ComputeAt, Fuse, Part, Reorder, Share, Split, Step, Unroll
from vta.support.dataclass import dataclass

__all__ = [
    "GpuChoice",
    "GpuSplit",
    "best_splits",
    "block_columns",
    "default_split",
    "shared_parts",
    "split_choices",
    "split_steps",
]

_COLUMNS = 8
"""Results of a block beside each other: what they read fills sectors of memory."""
_PARTS, _LONGEST = 32, 2048
"""Parts that are best on an NVIDIA H200, and up to what length of sums they are better there than kernels of their own."""


@dataclass(frozen=True)
class GpuSplit:
    """How a block of threads adds up a few sums."""

    parts: int
    """Of each sum; a thread has one."""


GpuChoice = GpuTile | GpuSplit
"""How sums are computed."""


def shared_parts(
    out: Stage,
    sums: Stage,
    row: tuple[str, str],
    cut: tuple[str, int],
    columns: int,
    order: Sequence[str],
    unrolled: Sequence[str] = (),
    dot: str = "",
) -> tuple[Step, ...]:
    """Steps for `out`, which reads each sum at its own place: `columns` results a block, a thread for each part of their sums.

    `row` is the axis of `out` along which these lie, and that of the sums which stands for it. `cut` is an axis of the reduction
    and how many of its values are a part. `order` are the axes of the reduction, outermost first, those of one value left out.
    """
    name, parts, part = sums.name, f"{sums.name}.parts", f"{sums.name}.part"
    block, steps = _blocks(out, row[0], columns)
    others = [axis.name for axis in sums.axes if axis.name != row[1]]
    single = [axis.name for axis in sums.reduce if axis.name not in (*order, dot)]
    return (
        Part(name, *cut, parts),
        Cache(parts, part),
        *steps,
        ComputeAt(name, out.name, "column"),
        ComputeAt(parts, out.name, block),
        Share(parts),
        Reorder(parts, (parts, row[1], *others)),
        Bind(parts, parts, "threadIdx.y"),
        Bind(parts, row[1], "threadIdx.x"),
        ComputeAt(part, parts, others[-1] if others else row[1]),
        Reorder(part, (parts, *(axis.name for axis in sums.axes), *single, *order)),
        *(Unroll(part, axis) for axis in unrolled),
    )


def _blocks(out: Stage, row: str, columns: int) -> tuple[str, list[Step]]:
    """The loop over blocks of what reads the sums, and the steps that make it."""
    name = out.name
    lead = [axis.name for axis in out.axes if axis.name != row]
    steps: list[Step] = [Split(name, row, columns, "row", "column", guard=True), Reorder(name, (*lead, "row", "column"))]
    block, *others = [*lead, "row"]
    for loop in others:
        steps.append(Fuse(name, block, loop, f"{block}_{loop}"))
        block = f"{block}_{loop}"
    return block, [*steps, Bind(name, block, "blockIdx.x"), Bind(name, "column", "threadIdx.x")]


def split_steps(out: Stage, tiled: TiledSums, split: GpuSplit) -> tuple[Step, ...]:
    """The steps of a split, for sums of one axis; what they read is computed where it is read."""
    (axis,) = tiled.sums.reduce
    row = out.axes[-1].name, tiled.sums.axes[-1].name
    return shared_parts(out, tiled.sums, row, (axis.name, axis.extent // split.parts), block_columns(tiled.sums), [axis.name])


def block_columns(sums: Stage) -> int:
    """Results that a block has beside each other."""
    return min(_COLUMNS, sums.axes[-1].extent)


def split_choices(tiled: TiledSums, limits: GridLimits) -> list[int]:
    """Parts that a device can have of sums of one axis; none of others."""
    if len(tiled.sums.reduce) != 1:
        return []
    whole, columns = tiled.sums.reduce[0].extent, block_columns(tiled.sums)
    item = np.dtype(tiled.sums.output.dtype).itemsize
    most = min(limits.threads // columns, limits.block[1], limits.shared_bytes // (columns * item))
    # A part of all, or of one value, is a loop that is none.
    return [count for count in range(2, min(whole - 1, most) + 1) if whole % count == 0]


def best_splits(tiled: TiledSums, limits: GridLimits, count: int) -> list[GpuSplit]:
    """So many splits at most, those with parts about as many as are known to be good first."""
    ranked = sorted(split_choices(tiled, limits), key=lambda parts: abs(np.log2(parts / _PARTS)))
    return [GpuSplit(parts) for parts in ranked[:count]]


def default_split(tiled: TiledSums, limits: GridLimits) -> GpuSplit | None:
    """The split of long sums of few elements that nobody has tuned; None where something else is better, or none fits."""
    if len(tiled.sums.reduce) != 1 or tiled.sums.reduce[0].extent > _LONGEST:
        return None
    return next(iter(best_splits(tiled, limits, 1)), None)
