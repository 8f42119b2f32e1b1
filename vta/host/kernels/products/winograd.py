"""3x3 convolutions of floats by Winograd's F(2 x 2, 3 x 3): 16 products for the four sums of a tile, in the place of 36.

``Y = A' ((G g G') * (B' d B)) A``, where ``d`` are the 4 x 4 places that a tile reads, ``g`` a window of weights, and ``*``
multiplies element by element (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015). Sums over input channels
are taken of the 16 products, as all else is linear; so these are 16 products of matrices. ``G g G'`` is computed before.

The sums differ from direct ones by rounding. With ``u`` half an ulp of 1, and K input channels, filled up to whole vectors:

- ``B' d B`` is rounded twice for each of its terms, ``G g G'`` once, a sum over channels at most K + 1 times, and what is made of
  9 of the 16 sums four times;
- so ``|error| <= ((1 + u)^(K + 8) - 1) |A'| (sum (|G| |g| |G'|) * (|B'| |d| |B|)) |A|``, unless something overflows or
  is denormal;
- each pair of a value and a weight is in it at most four times, which makes at most
  ``4 (K + 8) u`` times the sums of ``|d|`` over the 4 x 4 places times those of ``|g|``, added up over channels, to the first order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.kernels.anchor import SUMS, Anchor, Site
from vta.host.kernels.products.border import names, prepared
from vta.host.kernels.products.convolution import sums_value
from vta.host.kernels.products.packing import in_lines
from vta.host.kernels.products.winograd_tiles import SIZE, STEP, WinogradTile, winograd_tile
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
_WEIGHTS = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
"""G."""
_DATA, _PRODUCTS, _TILE = "transformed", "products", "tile"
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
    # Its positions come first: products of one of them, for some tiles, are a product of two matrices.
    axes = axes_of({"p": SIZE, "q": SIZE, "n": batch, "ty": -(-rows // STEP), "tx": -(-columns // STEP)})
    data = _transformed(source, axes, in_blocks, lanes)
    packed = _packed(weight, lanes)
    weights = Buffer("weight", packed.shape, "float32")
    products = _products(data.output, weights, axes, blocks, in_blocks, lanes)
    sums = _sums(products.output, axes_of({"n": batch, "o": blocks, "y": rows, "x": columns, "c": lanes}))
    return Anchor(
        stages=(*stages, data, products, sums),
        value=sums_value(node, sums.output, lanes),
        steps=(*steps, *_steps(tile)),
        tile=Tile(tile.columns * STEP, blocks, tile.rows * STEP),
        constants=((weights, packed),),
        by_rows=(*(names(stages) if by_rows else ()), _DATA, _PRODUCTS, SUMS),
        window=(STEP, STEP),
    )


def _transformed(source: Value, tiles: Sequence[Axis], in_blocks: int, lanes: int) -> Stage:
    """B' d B, the axes those of `tiles`, then blocks of channels and their lanes."""
    axes = (*tiles, *axes_of({"ib": in_blocks, "ic": lanes}))
    p, q, n, ty, tx, ib, ic = (axis.var for axis in axes)

    def place(row: int, column: int) -> Expr:
        at = (binary("add", binary("mul", tile, index(STEP)), index(offset)) for tile, offset in ((ty, row), (tx, column)))
        return source.at((Coordinate(n), blocked_coordinate(ib, ic, lanes), *map(Coordinate, at)))

    value = _of_data(q, [_of_data(p, [place(row, column) for row in range(SIZE)]) for column in range(SIZE)])
    return Stage(_buffer(_DATA, axes), axes, value)


def _products(
    data: Buffer, weights: Buffer, tiles: Sequence[Axis], blocks: int, in_blocks: int, lanes: int
) -> Stage:
    """The sums over input channels of products at each position of a tile."""
    axes, reduce = (*tiles, *axes_of({"o": blocks, "c": lanes})), axes_of({"ib": in_blocks, "ic": lanes})
    *at, o, c = (axis.var for axis in axes)
    ib, ic = (axis.var for axis in reduce)
    product = binary("mul", load(data, [*at, ib, ic]), load(weights, [*at[:2], o, ib, ic, c]))
    return Stage(_buffer(_PRODUCTS, axes), axes, product, reduce, "add", const(0, "float32"))


def _sums(products: Buffer, axes: Sequence[Axis]) -> Stage:
    """A' m A, at the place that a sum has in its tile."""
    n, o, y, x, c = (axis.var for axis in axes)
    (ty, row), (tx, column) = ([binary(how, at, index(STEP)) for how in ("floordiv", "mod")] for at in (y, x))
    given = [
        _of_products(row, [load(products, [index(p), index(q), n, ty, tx, o, c]) for p in range(SIZE)]) for q in range(SIZE)
    ]
    return Stage(_buffer(SUMS, axes), tuple(axes), _of_products(column, given))


def _buffer(name: str, axes: Sequence[Axis]) -> Buffer:
    return Buffer(name, tuple(axis.extent for axis in axes), "float32")


def _of_data(at: Expr, d: Sequence[Expr]) -> Expr:
    """A row of B' times four values."""
    return _chosen(at, [binary("sub", d[0], d[2]), binary("add", d[1], d[2]), binary("sub", d[2], d[1]), binary("sub", d[1], d[3])])


def _of_products(at: Expr, m: Sequence[Expr]) -> Expr:
    """A row of A' times four values."""
    return _chosen(at, [binary("add", m[0], binary("add", m[1], m[2])), binary("sub", binary("sub", m[1], m[2]), m[3])])


def _chosen(at: Expr, values: Sequence[Expr]) -> Expr:
    """One of some values, by an index that is known where the loop over it is written out."""
    *others, chosen = values
    for position in reversed(range(len(others))):
        chosen = select(binary("eq", at, index(position)), others[position], chosen)
    return chosen


def _steps(tile: WinogradTile) -> tuple[Step, ...]:
    """Vectors are of channels. What a tile's values have in common is computed once, as its positions are written out."""
    return (
        Reorder(_DATA, ("n", "ty", "tx", "ib", "p", "q", "ic")),
        *(Unroll(_DATA, loop) for loop in ("p", "q")),
        Vectorize(_DATA, "ic"),
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
    )


def _packed(weight: Array, lanes: int) -> Array:
    """Weights (O, I, 3, 3) as G g G', two positions in a tile, output blocks, input blocks and their lanes, lanes."""
    blocks, in_blocks = (-(-size // lanes) for size in weight.shape[:2])
    full = np.zeros((blocks * lanes, in_blocks * lanes, SIZE, SIZE), np.float32)
    full[: len(weight), : weight.shape[1]] = _WEIGHTS @ weight.astype(np.float64) @ _WEIGHTS.T
    parted = full.reshape(blocks, lanes, in_blocks, lanes, SIZE, SIZE)
    return in_lines(parted.transpose(4, 5, 0, 2, 3, 1))
