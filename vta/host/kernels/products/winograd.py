"""3x3 convolutions of floats by Winograd's F(2 x 2, 3 x 3): 16 products for the four sums of a tile, in the place of 36.

``Y = A' ((G g G') * (B' d B)) A``, where ``d`` are the 4 x 4 places that a tile reads, ``g`` a window of weights, and ``*``
multiplies element by element (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015). Sums over input channels
are taken of the 16 products, as all else is linear; so these are 16 products of matrices. ``G g G'`` is computed before.

The sums differ from direct ones by rounding. With ``u`` half an ulp of 1, and K input channels, filled up to whole vectors:

- ``B' d B`` is rounded twice for each of its terms, ``G g G'`` once, a sum over channels at most K + 1 times, and what is made of
  9 of the 16 sums four times;
- so ``|error| <= ((1 + u)^(K + 8) - 1) |A'| (sum (|G| |g| |G'|) * (|B'| |d| |B|)) |A|``, unless something overflows or
  is denormal;
- each pair of a value and a weight is in it at most four times: to the first order the error is at most ``4 (K + 8) u``
  times the sum over channels of ``sum |d|`` over the 4 x 4 places times ``sum |g|``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.kernels.anchor import SUMS, Anchor, Site
from vta.host.kernels.products.border import names, prepared
from vta.host.kernels.products.convolution import sums_value
from vta.host.kernels.products.packing import empty_in_lines
from vta.host.kernels.products.winograd_tiles import SIZE, STEP, WINDOW, WinogradTile, winograd_tile
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import Coordinate, Value, blocked_coordinate
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Axis, Stage, axes_of
from vta.host.loop.expression import Expr, binary, const, index, load, select
from vta.host.loop.steps import Cache, ComputeAt, Reorder, Split, Step, Unroll, Vectorize
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn.conv import Conv2DAttributes

__all__ = ["winograd_convolution"]

Array = NDArray[Any]
_COLUMNS, _DATA, _PRODUCTS, _TILE, _ROWS = "columns", "transformed", "products", "tile", "rows"
_LANES_TOGETHER = 4
"""Input channels whose products are written out."""


def winograd_convolution(node: Node, site: Site) -> Anchor:
    """A convolution with 3x3 windows, without strides, dilation or groups, of constant weights."""
    attrs = attrs_of(node, Conv2DAttributes)
    lanes, weight = site.lanes, np.asarray(node.inputs[1].value)
    batch, _, rows, columns = node.shape
    blocks, in_blocks = (-(-size // lanes) for size in weight.shape[:2])
    tile = winograd_tile(rows, columns, in_blocks * lanes, blocks, site.target)
    top, left, bottom, right = attrs.padding
    # Of a tile that reaches beyond the last row or column the other sums are left out.
    padding = (top, left, bottom + rows % STEP, right + columns % STEP)
    by_rows = site.layout.block == lanes
    source, stages, steps = prepared(site.value(0), site.layout, padding, lanes, in_blocks=True, by_rows=by_rows)
    # Positions in a tile come first: products at one of them, for some tiles, are a product of two matrices.
    tiles = axes_of({"n": batch, "ty": -(-rows // STEP), "tx": -(-columns // STEP)})
    data = _transformed(source, tiles, in_blocks, lanes)
    packed = _packed(weight, lanes)
    weights = Buffer("weight", packed.shape, "float32")
    products = _products(data[-1].output, weights, tiles, blocks)
    sums = _sums(products, axes_of({"n": batch, "o": blocks, "y": rows, "x": columns, "c": lanes}))
    return Anchor(
        stages=(*stages, *data, products, *sums),
        value=sums_value(node, sums[-1].output, lanes),
        steps=(*steps, *_steps(tile)),
        tile=Tile(tile.columns * STEP, blocks, tile.rows * STEP),
        constants=((weights, packed),),
        by_rows=(*(names(stages) if by_rows else ()), _DATA, _PRODUCTS, SUMS),
        window=(STEP, STEP),
    )


def _transformed(source: Value, tiles: Sequence[Axis], in_blocks: int, lanes: int) -> tuple[Stage, Stage]:
    """B' d for columns of the data, and B' d B."""
    n, ty, tx = tiles
    channels = axes_of({"ib": in_blocks, "ic": lanes})
    ib, ic = (axis.var for axis in channels)
    p, q, x = axes_of({"p": SIZE, "q": SIZE, "x": STEP * (tx.extent - 1) + SIZE})
    axes = (p, n, ty, x, *channels)
    channel, column = blocked_coordinate(ib, ic, lanes), Coordinate(x.var)
    rows = [source.at((Coordinate(n.var), channel, Coordinate(_place(ty, row)), column)) for row in range(SIZE)]
    half = Stage(_buffer(_COLUMNS, axes), axes, _of_data(p.var, rows))
    axes = (p, q, n, ty, tx, *channels)
    columns = [load(half.output, [p.var, n.var, ty.var, _place(tx, column), ib, ic]) for column in range(SIZE)]
    return half, Stage(_buffer(_DATA, axes), axes, _of_data(q.var, columns))


def _place(tile: Axis, offset: int) -> Expr:
    """A row or column of the data that a tile reads."""
    return binary("add", binary("mul", tile.var, index(STEP)), index(offset))


def _products(data: Buffer, weights: Buffer, tiles: Sequence[Axis], blocks: int) -> Stage:
    """The sums over input channels of products at each position of a tile."""
    *_, in_blocks, lanes = data.shape
    axes = (*axes_of({"p": SIZE, "q": SIZE}), *tiles, *axes_of({"o": blocks, "c": lanes}))
    reduce = axes_of({"ib": in_blocks, "ic": lanes})
    *at, o, c = (axis.var for axis in axes)
    ib, ic = (axis.var for axis in reduce)
    product = binary("mul", load(data, [*at, ib, ic]), load(weights, [*at[:2], o, ib, ic, c]))
    return Stage(_buffer(_PRODUCTS, axes), axes, product, reduce, "add", const(0, "float32"))


def _sums(products: Stage, axes: Sequence[Axis]) -> tuple[Stage, Stage]:
    """A' m, two rows of four, and A' m A, at the place that a sum has in its tile."""
    inner, half_axes = products.axes[1:], (*axes_of({"i": STEP}), *products.axes[1:])
    rows = [load(products.output, [index(p), *(axis.var for axis in inner)]) for p in range(SIZE)]
    half = Stage(_buffer(_ROWS, half_axes), half_axes, _of_products(half_axes[0].var, rows))
    n, o, y, x, c = (axis.var for axis in axes)
    (ty, row), (tx, column) = ([binary(how, place, index(STEP)) for how in ("floordiv", "mod")] for place in (y, x))
    columns = [load(half.output, [row, index(q), n, ty, tx, o, c]) for q in range(SIZE)]
    return half, Stage(_buffer(SUMS, axes), tuple(axes), _of_products(column, columns))


def _buffer(name: str, axes: Sequence[Axis]) -> Buffer:
    return Buffer(name, tuple(axis.extent for axis in axes), "float32")


def _of_data(at: Expr, d: Sequence[Expr]) -> Expr:
    """A row of B' times four values."""
    values = (binary("sub", d[0], d[2]), binary("add", d[1], d[2]), binary("sub", d[2], d[1]), binary("sub", d[1], d[3]))
    return _chosen(at, values)


def _of_products(at: Expr, m: Sequence[Expr]) -> Expr:
    """A row of A' times four values."""
    return _chosen(at, [binary("add", m[0], binary("add", m[1], m[2])), binary("sub", binary("sub", m[1], m[2]), m[3])])


def _chosen(at: Expr, values: Sequence[Expr]) -> Expr:
    """One of some values, by an index that is known where the loop over it is written out."""
    *others, chosen = values
    for position in reversed(range(len(others))):
        chosen = select(binary("eq", at, index(position)), others[position], chosen)
    return chosen


@cache
def _steps(tile: WinogradTile) -> tuple[Step, ...]:
    """Vectors are of channels. What a tile's values have in common is computed once, as its positions are written out."""
    return (
        Reorder(_DATA, ("n", "ty", "tx", "ib", "p", "q", "ic")),
        *(Unroll(_DATA, loop) for loop in ("p", "q")),
        Vectorize(_DATA, "ic"),
        *(Unroll(_COLUMNS, loop) for loop in ("p", "x")),
        Vectorize(_COLUMNS, "ic"),
        ComputeAt(_COLUMNS, _DATA, "ib"),
        Cache(_PRODUCTS, _TILE),
        Split(_TILE, "ic", _LANES_TOGETHER, "ico", "ici"),
        Reorder(_TILE, ("ib", "ico", "ici", "p", "q", "n", "ty", "tx", "o", "c")),
        *(Unroll(_TILE, loop) for loop in ("ici", "q", "ty", "tx", "o")),
        Vectorize(_TILE, "c"),
        Split(_PRODUCTS, "q", tile.positions, "qo", "qi"),
        Split(_PRODUCTS, "ty", tile.rows, "tyo", "tyi"),
        Split(_PRODUCTS, "tx", tile.columns, "txo", "txi"),
        Split(_PRODUCTS, "o", tile.blocks, "oo", "oi"),
        Reorder(_PRODUCTS, ("p", "qo", "n", "oo", "tyo", "txo", "qi", "tyi", "txi", "oi", "c")),
        *(Unroll(_PRODUCTS, loop) for loop in ("qi", "tyi", "txi", "oi")),
        Vectorize(_PRODUCTS, "c"),
        ComputeAt(_TILE, _PRODUCTS, "txo"),
        Split(SUMS, "y", STEP, "yt", "yi"),
        Split(SUMS, "x", STEP, "xt", "xi"),
        Reorder(SUMS, ("n", "yt", "xt", "o", "yi", "xi", "c")),
        *(Unroll(SUMS, loop) for loop in ("yi", "xi")),
        Vectorize(SUMS, "c"),
        *(Unroll(_ROWS, loop) for loop in ("i", "q")),
        Vectorize(_ROWS, "c"),
        ComputeAt(_ROWS, SUMS, "o"),
    )


def _packed(weight: Array, lanes: int) -> Array:
    """Weights (O, I, 3, 3) as G g G', two positions in a tile, output blocks, input blocks and their lanes, lanes."""
    blocks, in_blocks = (-(-size // lanes) for size in weight.shape[:2])
    full = np.zeros((blocks * lanes, in_blocks * lanes, WINDOW, WINDOW))
    full[: len(weight), : weight.shape[1]] = weight
    parted = full.reshape(blocks, lanes, in_blocks, lanes, WINDOW, WINDOW)
    by_place = np.ascontiguousarray(parted.transpose(4, 5, 0, 2, 3, 1))
    packed = empty_in_lines((SIZE, SIZE, *by_place.shape[2:]), "float32")
    for p, row in enumerate(_of_weights(*by_place)):
        for q, value in enumerate(_of_weights(*row)):
            packed[p, q] = value
    return packed


def _of_weights(first: Array, middle: Array, last: Array) -> list[Array]:
    """G times three values."""
    ends = first + last
    return [first, (ends + middle) / 2, (ends - middle) / 2, last]
