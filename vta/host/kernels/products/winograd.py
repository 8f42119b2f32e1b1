"""3x3 convolutions by Winograd's F(2 x 2, 3 x 3): 16 products for four sums in the place of 36.

``Y = A' ((G g G') * (B' d B)) A`` over all input channels, where ``d`` are 4 x 4 places of the data, two apart, ``g`` is a 3 x 3
window of weights, and ``*`` multiplies element by element (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks,
2015). The 16 products are matrix products over channels, as both transforms are linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.kernels.anchor import SUMS, Anchor
from vta.host.kernels.products.border import names, prepared
from vta.host.kernels.products.convolution import sums_value
from vta.host.kernels.tiles import Tile
from vta.host.kernels.values import Coordinate, Layout, Value, blocked_coordinate
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage, axes_of
from vta.host.loop.expression import Expr, binary, const, index, load, select
from vta.host.loop.steps import Cache, ComputeAt, Reorder, Split, Unroll, Vectorize
from vta.host.processors import CpuTarget
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.nn.conv import Conv2DAttributes

__all__ = ["winograd"]

Array = NDArray[Any]
_STEP = 2
"""Sums of a tile along rows, and along columns: so far tiles are apart."""
_SIZE = 4
_WEIGHTS = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
"""G."""


def winograd(node: Node, data: Value, layout: Layout, weight: Array, target: CpuTarget, tile: Tile, together: tuple[int, int], by_rows: bool) -> Anchor:
    attrs = attrs_of(node, Conv2DAttributes)
    lanes = target.lanes(4)
    batch, _, rows, columns = node.shape
    top, left, bottom, right = attrs.padding
    padding = (top, left, bottom + rows % _STEP, right + columns % _STEP)
    source, stages, steps = prepared(data, layout, padding, lanes, in_blocks=True, by_rows=by_rows)
    in_blocks, blocks = (-(-weight.shape[axis] // lanes) for axis in (1, 0))
    tiles = {"p": _SIZE, "q": _SIZE, "n": batch, "ty": -(-rows // _STEP), "tx": -(-columns // _STEP)}

    axes = axes_of({**tiles, "ib": in_blocks, "ic": lanes})
    p, q, n, ty, tx, ib, ic = (axis.var for axis in axes)

    def place(row: int, column: int) -> Expr:
        at = (Coordinate(_moved(start, offset)) for start, offset in ((ty, row), (tx, column)))
        return source.at((Coordinate(n), blocked_coordinate(ib, ic, lanes), *at))

    transformed = Buffer("transformed", tuple(axis.extent for axis in axes), "float32")
    taken = [_of_data(p, [place(row, column) for row in range(_SIZE)]) for column in range(_SIZE)]
    stage_data = Stage(transformed, axes, _of_data(q, taken))

    packed = _packed(weight, lanes)
    weights = Buffer("weight", packed.shape, "float32")
    axes = axes_of({**tiles, "o": blocks, "c": lanes})
    p, q, n, ty, tx, o, c = (axis.var for axis in axes)
    reduce = axes_of({"ib": in_blocks, "ic": lanes})
    ib, ic = (axis.var for axis in reduce)
    products = Buffer("products", tuple(axis.extent for axis in axes), "float32")
    product = binary("mul", load(transformed, [p, q, n, ty, tx, ib, ic]), load(weights, [p, q, o, ib, ic, c]))
    stage_products = Stage(products, axes, product, reduce, "add", const(0, "float32"))

    axes = axes_of({"n": batch, "o": blocks, "y": rows, "x": columns, "c": lanes})
    n, o, y, x, c = (axis.var for axis in axes)
    (ty, yi), (tx, xi) = ([binary(how, at, index(_STEP)) for how in ("floordiv", "mod")] for at in (y, x))
    sums = Buffer(SUMS, tuple(axis.extent for axis in axes), "float32")
    given = [
        _of_products(yi, [load(products, [index(row), index(column), n, ty, tx, o, c]) for row in range(_SIZE)])
        for column in range(_SIZE)
    ]
    stage_sums = Stage(sums, axes, _of_products(xi, given))
    rows_together, columns_together = together
    steps += (
        Reorder("transformed", ("n", "ty", "tx", "ib", "p", "q", "ic")),
        Unroll("transformed", "p"),
        Unroll("transformed", "q"),
        Vectorize("transformed", "ic"),
        Cache("products", "tile"),
        Reorder("tile", ("ib", "ic", "p", "q", "n", "ty", "tx", "o", "c")),
        *(Unroll("tile", loop) for loop in ("ty", "tx", "o")),
        Vectorize("tile", "c"),
        Split("products", "ty", rows_together, "tyo", "tyi"),
        Split("products", "tx", columns_together, "txo", "txi"),
        Split("products", "o", tile.columns, "oo", "oi"),
        Reorder("products", ("p", "q", "n", "oo", "tyo", "txo", "tyi", "txi", "oi", "c")),
        *(Unroll("products", loop) for loop in ("tyi", "txi", "oi")),
        Vectorize("products", "c"),
        ComputeAt("tile", "products", "txo"),
        Split(SUMS, "y", _STEP, "yt", "yi"),
        Split(SUMS, "x", _STEP, "xt", "xi"),
        Reorder(SUMS, ("n", "yt", "xt", "o", "yi", "xi", "c")),
        *(Unroll(SUMS, loop) for loop in ("yi", "xi")),
        Vectorize(SUMS, "c"),
    )
    at_rows = (*(names(stages) if by_rows else ()), "transformed", "products", SUMS)
    value = sums_value(node, sums, lanes)
    return Anchor((*stages, stage_data, stage_products, stage_sums), value, steps, tile, ((weights, packed),), at_rows)


def _moved(tile: Expr, offset: int) -> Expr:
    return binary("add", binary("mul", tile, index(_STEP)), index(offset))


def _of_data(at: Expr, d: Sequence[Expr]) -> Expr:
    """A row of B' times four values."""
    return _chosen(at, [binary("sub", d[0], d[2]), binary("add", d[1], d[2]), binary("sub", d[2], d[1]), binary("sub", d[1], d[3])])


def _of_products(at: Expr, m: Sequence[Expr]) -> Expr:
    """A row of A' times four values."""
    return _chosen(
        at, [binary("add", m[0], binary("add", m[1], m[2])), binary("sub", binary("sub", m[1], m[2]), m[3])]
    )


def _chosen(at: Expr, values: Sequence[Expr]) -> Expr:
    """One of some values, by an index."""
    *first, last = values
    for position, value in reversed(list(enumerate(first))):
        last = select(binary("eq", at, index(position)), value, last)
    return last


def _packed(weight: Array, lanes: int) -> Array:
    """Weights (O, I, 3, 3) transformed, as two positions in a tile, output blocks, input blocks and their lanes, lanes."""
    blocks, in_blocks = (-(-size // lanes) for size in weight.shape[:2])
    full = np.zeros((blocks * lanes, in_blocks * lanes, _SIZE, _SIZE))
    full[: len(weight), : weight.shape[1]] = _WEIGHTS @ weight.astype(np.float64) @ _WEIGHTS.T
    parted = full.reshape(blocks, lanes, in_blocks, lanes, _SIZE, _SIZE)
    return np.ascontiguousarray(parted.transpose(4, 5, 0, 2, 3, 1).astype(np.float32))
