"""Stages that add up products: a tile of sums in registers, of all products or of a part of them."""

from __future__ import annotations

from collections.abc import Sequence

from vta.host.kernels.anchor import SUMS
from vta.host.kernels.tiles import Tile
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Axis, Stage, axes_of
from vta.host.loop.expression import Expr, binary, const, index, load, substitute
from vta.host.loop.steps import ComputeAt, Reorder, Split, Step, Unroll, Vectorize
from vta.support.dataclass import dataclass

__all__ = ["Sums", "chunked_sums", "tile_sums"]

_PARTS = "parts"


@dataclass(frozen=True)
class Sums:
    """Stages that end with the sums, with their steps."""

    buffer: Buffer
    stages: tuple[Stage, ...]
    steps: tuple[Step, ...]
    products: str = SUMS
    """Name of the stage that adds up products."""
    by_rows: tuple[str, ...] = ()
    """Those that are computed for rows at a time."""


def tile_sums(axes: Sequence[Axis], product: Expr, reduce: Sequence[Axis], tile: Tile) -> Sums:
    """Sums over `axes` (n, o, y, x, c) that are computed a tile at a time, all products one after the other."""
    sums = _buffer(SUMS, axes)
    stage = Stage(sums, tuple(axes), product, tuple(reduce), "add", const(0, sums.dtype))
    return Sums(sums, (stage,), _tile_steps(SUMS, [axis.name for axis in reduce]))


def chunked_sums(axes: Sequence[Axis], product: Expr, reduce: Sequence[Axis], tile: Tile) -> Sums:
    """Sums of which a tile adds up the products of `tile.chunk` blocks of input channels, so that their weights stay near.

    The first axis of `reduce` counts the blocks; it must be a multiple of the chunk.
    """
    blocks, *others = reduce
    outer, inner = axes_of({"k": blocks.extent // tile.chunk, blocks.name: tile.chunk})
    block = binary("add", binary("mul", outer.var, index(tile.chunk)), inner.var)
    parts, sums = _buffer(_PARTS, (outer, *axes)), _buffer(SUMS, axes)
    zero = const(0, sums.dtype)
    stages = (
        Stage(parts, (outer, *axes), substitute(product, {blocks.name: block}), (inner, *others), "add", zero),
        Stage(sums, tuple(axes), load(parts, [axis.var for axis in (outer, *axes)]), (outer,), "add", zero),
    )
    steps = (
        *_tile_steps(_PARTS, [axis.name for axis in (inner, *others)]),
        Split(SUMS, "x", tile.columns, "xo", "xi"),
        Reorder(SUMS, ("k", "n", "y", "xo", "xi", "o", "c")),
        ComputeAt(_PARTS, SUMS, "xo"),
        Unroll(SUMS, "xi"),
        Unroll(SUMS, "o"),
        Vectorize(SUMS, "c"),
    )
    return Sums(sums, stages, steps, _PARTS, (SUMS,))


def _buffer(name: str, axes: Sequence[Axis]) -> Buffer:
    return Buffer(name, tuple(axis.extent for axis in axes), "float32")


def _tile_steps(name: str, reduce: Sequence[str]) -> tuple[Step, ...]:
    """A tile in registers: its columns and blocks inside all products."""
    return (Reorder(name, (*reduce, "n", "y", "x", "o", "c")), Unroll(name, "x"), Unroll(name, "o"), Vectorize(name, "c"))
