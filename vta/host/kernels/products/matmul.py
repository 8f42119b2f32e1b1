"""Matrix products, and dense layers and convolutions whose weights are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vta.host.kernels.anchor import SUMS, PlainAnchor, Site
from vta.host.kernels.by_element.frames import framed
from vta.host.kernels.products.integers import Windows
from vta.host.kernels.reducing.reductions import shared_loops
from vta.host.kernels.values import Coordinate, Layout, Value, plain_point, stored
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Stage, axes_of
from vta.host.loop.expression import Expr, binary, cast, const, index, load
from vta.host.loop.steps import Cache, ComputeAt, Parallel, Reorder, Split, Step, Unroll, Vectorize
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.matmul import Matmul2DAttributes, MatmulAttributes

__all__ = ["computed_convolution", "computed_dense", "matmul", "matmul2d"]

_TILE = "tile"
_Product = Callable[[Sequence[Expr], Expr], Expr]
"""One product of those that are summed up for an element, from its place and the position among them."""
_TILE_ROWS, _TILE_VECTORS = 6, 2


def matmul(node: Node, site: Site) -> PlainAnchor:
    """A product of matrices, of floats or of bytes less their zero points; leading axes broadcast."""
    left, right = site.value(0), site.value(1)
    lead, attrs = node.shape[:-2], node.attrs
    zero_points = (attrs.lhs_zero_point, attrs.rhs_zero_point) if isinstance(attrs, MatmulAttributes) else (0, 0)

    def product(point: Sequence[Expr], k: Expr) -> Expr:
        *outer, m, n = plain_point(point)
        first = _broadcast(left, lead, outer, m, Coordinate(k))
        second = _broadcast(right, lead, outer, Coordinate(k), n)
        return binary("mul", *(_centered(*given, node.dtype) for given in zip((first, second), zero_points, strict=True)))

    return _products(node, product, left.shape[-1], node.dtype, site.lanes)


def matmul2d(node: Node, site: Site) -> PlainAnchor:
    """A product of images, group by group: data (N, K, H, W) by weights (N, K, 1, P)."""
    data, weights, attrs = site.value(0), site.value(1), attrs_of(node, Matmul2DAttributes)
    depth, columns = data.shape[1] // attrs.groups, weights.shape[3]

    def product(point: Sequence[Expr], k: Expr) -> Expr:
        n, o, y, x = point
        channel = binary("add", binary("mul", binary("floordiv", o, index(columns)), index(depth)), k)
        first = data.at(plain_point([n, channel, y, x]))
        second = weights.at(plain_point([n, channel, index(0), binary("mod", o, index(columns))]))
        sides = (first, attrs.lhs_zero_point), (second, attrs.rhs_zero_point)
        return binary("mul", *(_centered(*side, node.dtype) for side in sides))

    return _products(node, product, depth, node.dtype, site.lanes)


def _broadcast(value: Value, lead: tuple[int, ...], outer: Sequence[Coordinate], row: Coordinate, column: Coordinate) -> Expr:
    own = value.shape[:-2]
    places = zip(outer[len(lead) - len(own) :], own, lead[len(lead) - len(own) :], strict=True)
    return value.at((*(place if size == full else Coordinate(index(0)) for place, size, full in places), row, column))


def computed_dense(node: Node, site: Site, zero_point: int) -> PlainAnchor:
    """A dense layer, data (N, K) times weight (M, K), whose weight is no constant: it is turned first."""
    data, weight = site.value(0), site.value(1)
    depth, outputs = weight.shape[1], weight.shape[0]
    axes = axes_of({"k": depth, "m": outputs})
    buffer = Buffer("turned", (depth, outputs), weight.dtype)
    turned = Stage(buffer, axes, weight.at(plain_point([axes[1].var, axes[0].var])))
    read = stored(buffer, buffer.shape, Layout())

    def product(point: Sequence[Expr], k: Expr) -> Expr:
        n, m = point
        return _scaled(data.at(plain_point([n, k])), read.at(plain_point([k, m])), node.dtype, zero_point)

    found = _products(node, product, depth, node.dtype, site.lanes)
    return PlainAnchor((turned, *found.stages), found.value, (Parallel("turned", "k"), *found.steps))


def _scaled(value: Expr, weight: Expr, dtype: str, zero_point: int) -> Expr:
    """The product of a value less its zero point with a weight, in the data type of sums."""
    return binary("mul", _centered(value, zero_point, dtype), cast(weight, dtype))


def _centered(value: Expr, zero_point: int, dtype: str) -> Expr:
    value = cast(value, dtype)
    return binary("sub", value, const(zero_point, dtype)) if zero_point else value


def _products(node: Node, product: _Product, depth: int, dtype: str, lanes: int) -> PlainAnchor:
    """Sums of `depth` products for each element of a result, a tile of rows and columns in registers."""
    axes = axes_of({f"s{at}": size for at, size in enumerate(node.shape)})
    (k,) = axes_of({"k": depth})
    buffer = Buffer(SUMS, node.shape, dtype)
    stage = Stage(buffer, axes, product([axis.var for axis in axes], k.var), (k,), "add", const(0, dtype))
    *outer, rows, columns = axes
    height = max(count for count in range(1, min(rows.extent, _TILE_ROWS) + 1) if rows.extent % count == 0)
    order = ("k", *(axis.name for axis in axes[:-1]), "to", "ti")
    lead = [axis.name for axis in outer]
    steps: tuple[Step, ...] = (
        Cache(SUMS, _TILE),
        Split(_TILE, columns.name, lanes, "to", "ti"),
        Reorder(_TILE, order),
        Unroll(_TILE, rows.name),
        Unroll(_TILE, "to"),
        Vectorize(_TILE, "ti"),
        Split(SUMS, rows.name, height, "mo", "mi"),
        Split(SUMS, columns.name, lanes * _TILE_VECTORS, "no", "ni"),
        Reorder(SUMS, (*lead, "mo", "no", "mi", "ni")),
        Vectorize(SUMS, "ni"),
        *shared_loops(SUMS, [*lead, "mo"]),
        ComputeAt(_TILE, SUMS, "no"),
    )
    return PlainAnchor((stage,), _value(buffer), steps)


def _value(buffer: Buffer) -> Value:
    return Value(buffer.shape, buffer.dtype, lambda point: load(buffer, [place.whole for place in point]))


def computed_convolution(node: Node, site: Site, windows: Windows, zero_point: int, turned: bool) -> PlainAnchor:
    """A convolution whose weights are no constants; `turned` says that they are those of a transposed one."""
    weight = site.value(1)
    source = framed(site.value(0), site.layout, windows.frame, 1, False)
    groups, outputs = windows.groups, node.shape[1]
    inputs = source.value.shape[1] // groups
    axes = axes_of({"n": node.shape[0], "o": outputs, "y": node.shape[2], "x": node.shape[3]})
    n, o, y, x = (axis.var for axis in axes)
    reduce = axes_of({"ic": inputs, "kh": windows.kernel[0], "kw": windows.kernel[1]})
    ic, kh, kw = (axis.var for axis in reduce)
    group = binary("floordiv", o, index(outputs // groups)) if groups > 1 else index(0)
    channel = binary("add", binary("mul", group, index(inputs)), ic)
    row, column = (
        binary("add", binary("mul", at, index(stride)), binary("mul", tap, index(dilation)))
        for at, stride, tap, dilation in zip((y, x), windows.strides, (kh, kw), windows.dilation, strict=True)
    )
    if turned:
        last = [binary("sub", index(size - 1), tap) for size, tap in zip(windows.kernel, (kh, kw), strict=True)]
        places = [channel, binary("mod", o, index(outputs // groups)), *last]
    else:
        places = [o, ic, kh, kw]
    value = source.value.at(plain_point([n, channel, row, column]))
    buffer = Buffer(SUMS, node.shape, node.dtype)
    product = _scaled(value, weight.at(plain_point(places)), node.dtype, zero_point)
    stage = Stage(buffer, axes, product, reduce, "add", const(0, node.dtype))
    steps = (
        Split(SUMS, "x", site.lanes, "xo", "xi"),
        Reorder(SUMS, ("n", "o", "y", "xo", "ic", "kh", "kw", "xi")),
        Vectorize(SUMS, "xi"),
        *shared_loops(SUMS, ["n", "o", "y"]),
    )
    return PlainAnchor((*source.stages, stage), _value(buffer), (*source.steps, *steps))
