"""The last stages of a kernel: what is stored, and the loops around all that is computed for it."""

from __future__ import annotations

from collections.abc import Sequence

from vta.host.kernels.anchor import SUMS, Anchor, AnyAnchor, PlainAnchor, RowsAnchor
from vta.host.kernels.reducing.reductions import shared_loops
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import (
    Coordinate,
    Layout,
    Point,
    Value,
    blocked_coordinate,
    plain_point,
    stored,
    stored_shape,
    to_bytes,
)
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Axis, Stage, axes_of
from vta.host.loop.expression import Binary, Expr, binary, const, index, loads, select, walk
from vta.host.loop.interpret import is_zero_of_zeros
from vta.host.loop.steps import ComputeAt, Fuse, Parallel, Reorder, Split, Step, Transpose, Unroll, Vectorize
from vta.ir.graph import Node

__all__ = ["result_stages"]

_IMAGE = 4
_Result = tuple[tuple[Stage, ...], tuple[Step, ...]]


def result_stages(value: Value, node: Node, layout: Layout, lanes: int, before: AnyAnchor | None, in_blocks: bool) -> _Result:
    """The stages that store a value in a layout, with their steps and those that say where all before them is computed.

    `in_blocks` says that something is read in blocks of channels.
    """
    axes = axes_of({f"a{at}": extent for at, extent in enumerate(node.shape)})
    anchor = before if isinstance(before, Anchor) else None
    if isinstance(before, RowsAnchor):
        plain = value.at(plain_point([axis.var for axis in axes]))
        return (Stage(Buffer("result", node.shape, node.dtype), axes, plain),), _image_rows_steps(before, lanes)
    if isinstance(before, PlainAnchor) and before.by_row is not None and len(axes) > 1:
        plain = value.at(plain_point([axis.var for axis in axes]))
        return (Stage(Buffer("result", node.shape, node.dtype), axes, plain),), _row_by_row_steps(axes, lanes, before.by_row)
    if anchor is None and not layout.block:
        plain = value.at(plain_point([axis.var for axis in axes]))
        if not (in_blocks and before is None and len(axes) == _IMAGE and _divides(plain)):
            return (Stage(Buffer("result", node.shape, node.dtype), axes, plain),), _plain_steps(axes, lanes)
    image = len(node.shape) == _IMAGE
    shape = stored_shape(node.shape, Layout(lanes))
    inner = axes_of(dict(zip("noyxc" if image else "noc", shape, strict=True)))
    point = _blocked_point(inner, lanes)
    buffer = Buffer("result" if layout.block else "blocks", shape, layout.dtype(node.dtype))
    masked = _masked(value.at(point), point, node, lanes)
    blocks = Stage(buffer, inner, to_bytes(masked) if layout.offset else masked)
    if layout.block:
        return (blocks,), _blocked_steps(inner, anchor)
    read = stored(buffer, node.shape, Layout(lanes)).at(plain_point([axis.var for axis in axes]))
    stages = (blocks, Stage(Buffer("result", node.shape, node.dtype), axes, read))
    if image:
        return stages, _turning_steps(axes, anchor, lanes)
    last = (Split("result", "a1", lanes, "a1o", "a1i"), Vectorize("result", "a1i"))
    return stages, (*_flat_steps(inner, anchor), *last)


def _divides(value: Expr) -> bool:
    """Whether it reads blocks by channels as they are counted."""
    places = [part for item in loads(value) for place in item.indices for part in walk(place)]
    return any(isinstance(part, Binary) and part.operation in ("floordiv", "mod") for part in places)


def _plain_steps(axes: Sequence[Axis], lanes: int) -> tuple[Step, ...]:
    if not axes:
        return ()
    last = axes[-1].name
    return (Split("result", last, lanes, f"{last}o", f"{last}i"), Vectorize("result", f"{last}i"))


def _row_by_row_steps(axes: Sequence[Axis], lanes: int, before: PlainAnchor) -> tuple[Step, ...]:
    """Threads share rows; all that a row needs is computed for it alone."""
    outer = [axis.name for axis in axes[:-1]]
    attached = [ComputeAt(stage.name, "result", "_".join(outer)) for stage in before.stages]
    return (*_plain_steps(axes, lanes), *shared_loops("result", outer), *attached)


def _image_rows_steps(before: RowsAnchor, lanes: int) -> tuple[Step, ...]:
    """Threads share channels; what some rows need is computed for them, and the sums of a tile of them in registers."""
    return (
        Split("result", "a2", before.rows, "a2o", "a2i"),
        Split("result", "a2i", before.together, "a2m", "a2t"),
        Split("result", "a3", lanes, "a3o", "a3i"),
        Reorder("result", ("a0", "a1", "a2o", "a2m", "a3o", "a2t", "a3i")),
        Unroll("result", "a2t"),
        Vectorize("result", "a3i"),
        Fuse("result", "a0", "a1", "a0a1"),
        Parallel("result", "a0a1"),
        *(ComputeAt(stage, "result", "a2o") for stage in before.by_rows),
        ComputeAt(SUMS, "result", "a3o"),
    )


def _blocked_steps(axes: Sequence[Axis], anchor: Anchor | None) -> tuple[Step, ...]:
    """An image in blocks. Threads share blocks and rows; a tile of columns and blocks is computed at a time."""
    name = "result"
    if anchor is None:
        return (Fuse(name, "n", "o", "no"), Fuse(name, "no", "y", "noy"), Parallel(name, "noy"), Vectorize(name, "c"))
    if anchor.window is not None:
        return _window_steps(axes, anchor, anchor.window)
    tile, (_, blocks, rows, *_) = anchor.tile, (axis.extent for axis in axes)
    order, shared, place = _shared(name, "n", ("oo", blocks % tile.blocks), ("yo", rows % tile.rows))
    return (
        Split(name, "o", tile.blocks, "oo", "oi"),
        Split(name, "y", tile.rows, "yo", "yi"),
        Reorder(name, (*order, "yi", "x", "oi", "c")),
        *_row_steps(name, "oi", anchor),
        *shared,
        *(ComputeAt(stage, name, place) for stage in anchor.by_rows),
    )


def _window_steps(axes: Sequence[Axis], anchor: Anchor, window: tuple[int, int]) -> tuple[Step, ...]:
    """An image in blocks, a tile of rows and columns at a time, and of that the sums of a window in registers."""
    name, tile, (_, blocks, rows, *_) = "result", anchor.tile, (axis.extent for axis in axes)
    order, shared, _ = _shared(name, "n", ("oo", blocks % tile.blocks), ("yo", rows % tile.rows))
    return (
        Split(name, "o", tile.blocks, "oo", "oi"),
        Split(name, "y", tile.rows, "yo", "yi"),
        Split(name, "yi", window[0], "yw", "yt"),
        Split(name, "x", tile.columns, "xo", "xi"),
        Split(name, "xi", window[1], "xw", "xt"),
        Reorder(name, (*order, "xo", "yw", "oi", "xw", "yt", "xt", "c")),
        *(Unroll(name, loop) for loop in ("yt", "xt")),
        Vectorize(name, "c"),
        *shared,
        *(ComputeAt(stage, name, "xo") for stage in anchor.by_rows if stage != SUMS),
        ComputeAt(SUMS, name, "xw"),
    )


def _row_steps(name: str, block: str, anchor: Anchor) -> tuple[Step, ...]:
    """A row of a few blocks: a tile of columns at a time where its sums are computed for it."""
    tiled = (
        Split(name, "x", anchor.tile.columns, "xo", "xi"),
        ComputeAt(SUMS, name, "xo"),
        Unroll(name, "xi"),
    )
    return (*(() if anchor.whole_rows else tiled), Unroll(name, block), Vectorize(name, "c"))


def _turning_steps(axes: Sequence[Axis], anchor: Anchor | None, lanes: int) -> tuple[Step, ...]:
    """An image row by row, from rows of a few blocks that are computed into a buffer that stays in the cache."""
    tile, (_, channels, rows, _) = anchor.tile if anchor else Tile(1, 1), (axis.extent for axis in axes)
    rests = ("a1o", channels % (tile.blocks * lanes)), ("a2o", rows % tile.rows)
    order, shared, place = _shared("result", "a0", *rests)
    outer = (
        Split("result", "a1", tile.blocks * lanes, "a1o", "a1t"),
        Split("result", "a1t", lanes, "a1b", "a1i"),
        Split("result", "a2", tile.rows, "a2o", "a2i"),
        Split("result", "a3", lanes, "a3o", "a3i"),
        Reorder("result", (*order, "a2i", "a1b", "a3o", "a1i", "a3i")),
        Transpose("result", "a1i"),
        Vectorize("result", "a3i"),
        *shared,
        ComputeAt("blocks", "result", "a2i"),
    )
    if anchor is None:
        return (*outer, Vectorize("blocks", "c"))
    return (
        *outer,
        Reorder("blocks", ("n", "y", "x", "o", "c")),
        *_row_steps("blocks", "o", anchor),
        *(ComputeAt(stage, "result", place) for stage in anchor.by_rows),
    )


def _shared(
    name: str, batch: str, blocks: tuple[str, int], rows: tuple[str, int]
) -> tuple[tuple[str, ...], tuple[Step, ...], str]:
    """The order of the outer loops, the steps that let threads share them, and the innermost of them then.

    `blocks` and `rows` are loops with the rests that their splits leave. A loop with a rest cannot be shared.
    """
    inner = [loop for loop, rest in (blocks, rows) if not rest]
    order = (batch, *inner, *(loop for loop, rest in (blocks, rows) if rest))
    steps: list[Step] = []
    last = batch
    for loop in inner:
        steps.append(Fuse(name, last, loop, last + loop))
        last += loop
    return order, (*steps, Parallel(name, last)), last if len(inner) + 1 == len(order) else order[-1]


def _flat_steps(axes: Sequence[Axis], anchor: Anchor | None) -> tuple[Step, ...]:
    """A matrix with its columns in blocks."""
    name = "blocks"
    if anchor is None:
        return (Vectorize(name, "c"),)
    blocks = anchor.tile.blocks
    whole = axes[1].extent % blocks == 0
    shared = (Fuse(name, "n", "oo", "noo"), Parallel(name, "noo")) if whole else ()
    return (
        Split(name, "o", blocks, "oo", "oi"),
        Reorder(name, ("n", "oo", "oi", "c")),
        Unroll(name, "oi"),
        Vectorize(name, "c"),
        *shared,
        ComputeAt(SUMS, name, "noo" if whole else "oo"),
    )


def _blocked_point(axes: Sequence[Axis], block: int) -> Point:
    n, o, *rest, c = (axis.var for axis in axes)
    return (Coordinate(n), blocked_coordinate(o, c, block), *(Coordinate(item) for item in rest))


def _masked(value: Expr, point: Point, node: Node, block: int) -> Expr:
    """Zeros in the lanes beyond the last channel; these are there anyway where zeros of the same lanes give zero."""
    channels = node.shape[1]
    own = all(point[1].lane in [part for place in item.indices for part in walk(place)] for item in loads(value))
    if channels % block == 0 or (own and is_zero_of_zeros(value)):
        return value
    return select(binary("lt", point[1].whole, index(channels)), value, const(0, node.dtype))
