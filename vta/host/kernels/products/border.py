"""Data inside a border, and in blocks, for operators that read windows."""

from __future__ import annotations

from collections.abc import Sequence

from vta.host.kernels.values import Coordinate, Layout, Value, blocked_coordinate, stored, stored_shape
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage, axes_of
from vta.host.loop.expression import Expr, binary, const, index, select
from vta.host.loop.steps import Fuse, Parallel, Split, Step, Transpose, Vectorize

__all__ = ["names", "prepared"]


def prepared(
    data: Value, layout: Layout, padding: Sequence[int], lanes: int, in_blocks: bool, by_rows: bool = False, fill: float = 0
) -> tuple[Value, tuple[Stage, ...], tuple[Step, ...]]:
    """The data inside a border of `fill`, and in blocks if wanted; the data itself where it is so already.

    `by_rows` says that a few rows at a time are computed inside another stage, so that threads cannot share them.
    """
    top, left, bottom, right = padding
    batch, channels, height, width = data.shape
    if not any(padding) and in_blocks == (layout.block == lanes):
        return data, (), ()
    full = (height + top + bottom, width + left + right)
    inner = Layout(lanes if in_blocks else 0)
    extents = stored_shape((batch, channels, *full), inner)
    axes = axes_of(dict(zip("nbhwl", extents, strict=False)))
    n, b, h, w, *lane = (axis.var for axis in axes)
    channel = blocked_coordinate(b, lane[0], lanes) if in_blocks else Coordinate(b)
    row, column = binary("sub", h, index(top)), binary("sub", w, index(left))
    conditions = [_within(row, height), _within(column, width)] if any(padding) else []
    if in_blocks and layout.block != lanes and channels % lanes:
        conditions.append(binary("lt", channel.whole, index(channels)))
    value = data.at((Coordinate(n), channel, Coordinate(row), Coordinate(column)))
    buffer = Buffer("prepared", extents, data.dtype)
    stage = Stage(buffer, axes, select(_all(conditions), value, const(fill, data.dtype)) if conditions else value)
    shared = (Fuse("prepared", "n", "b", "nb"), Fuse("prepared", "nb", "h", "nbh"), Parallel("prepared", "nbh"))
    steps = () if by_rows else shared
    return (
        stored(buffer, (batch, channels, *full), inner),
        (stage,),
        (*steps, *_row_steps(layout, inner, lanes)),
    )


def names(stages: Sequence[Stage]) -> tuple[str, ...]:
    """Names of stages."""
    return tuple(stage.name for stage in stages)


def _row_steps(given: Layout, inner: Layout, lanes: int) -> tuple[Step, ...]:
    """Vectors within a row: of channels, of columns, or of columns that are turned into channels."""
    if given.block == inner.block != 0:
        return (Vectorize("prepared", "l"),)
    columns = Split("prepared", "w", lanes, "wo", "wi")
    return (
        (columns, Vectorize("prepared", "l"), Transpose("prepared", "wi"))
        if inner.block
        else (columns, Vectorize("prepared", "wi"))
    )


def _within(at: Expr, size: int) -> Expr:
    return _all([binary("le", index(0), at), binary("lt", at, index(size))])


def _all(conditions: Sequence[Expr]) -> Expr:
    total = conditions[0]
    for condition in conditions[1:]:
        total = binary("and", total, condition)
    return total
