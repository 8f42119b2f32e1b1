"""Softmax and norms along an axis in 32-bit integers: the same bytes as on VTA (`vta.ir.ops.quantized.rows`)."""

from __future__ import annotations

from vta.host.kernels.anchor import PlainAnchor, Site
from vta.host.kernels.by_element.elementwise import real
from vta.host.kernels.by_element.rescaling import int64, narrowed
from vta.host.kernels.reducing.reductions import reduced
from vta.host.kernels.reducing.softmaxes import along, read_stage, stored, whole_stage
from vta.host.kernels.values import Coordinate, Point, Value
from vta.host.loop.compute import Stage
from vta.host.loop.expression import Expr, binary, cast, const, index, select, unary
from vta.host.loop.steps import Step
from vta.ir.arithmetic.rows import MEAN_BITS, ONE, Factor, Reciprocal, Root, Squares
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.quantized.rows import (
    ROOT_OFFSET,
    NormalizeAttributes,
    QnnNormalizeAttributes,
    RowAttributes,
    SharesAttributes,
    TermsAttributes,
    roots_table,
)

__all__ = ["float_normalize", "normalize", "softmax_shares", "softmax_terms"]

_LARGEST_DIFFERENCE = 255


def softmax_terms(node: Node, site: Site) -> PlainAnchor:
    """`qnn.softmax_terms`."""
    masks, axis = len(node.inputs) > 1, _axis(node)
    data = _with_added(site.value(0), site.value(1)) if masks else site.value(0)
    largest = reduced("largest", data, [axis], "max", site.lanes)
    table = site.make_constant(roots_table(attrs_of(node, TermsAttributes).rate, masks))

    def at(point: Point) -> Expr:
        apart = binary("sub", cast(data.at(point), "int64"), cast(along(largest.value, axis, point), "int64"))
        if masks:
            apart = binary("max", apart, int64(-_LARGEST_DIFFERENCE))
        return table.at((Coordinate(binary("add", apart, int64(_LARGEST_DIFFERENCE))),))

    return PlainAnchor(tuple(largest.stages), Value(node.shape, "int8", at), tuple(largest.steps))


def softmax_shares(node: Node, site: Site) -> PlainAnchor:
    """`qnn.softmax_shares`."""
    data, axis = site.value(0), _axis(node)
    count = data.shape[axis]
    line, factor = Reciprocal(count), attrs_of(node, SharesAttributes).factor(count)

    def term(point: Point) -> Expr:
        root = binary("add", cast(data.at(point), "int64"), int64(ROOT_OFFSET))
        return binary("mul", root, root)

    terms, steps = stored(Value(data.shape, "int64", term), "terms", site.lanes)
    total = reduced("total", read_stage(terms), [axis], "add", site.lanes)
    shape = total.value.shape
    halved = Value(
        shape, "int64", lambda point: binary("shr", binary("add", total.value.at(point), int64(line.half)), int64(line.shift))
    )
    stages = [whole_stage("sum", halved)]
    start = Value(shape, "int64", lambda point: _scaled(line.slope, halved.at(point), line.bias))
    stages.append(whole_stage("reciprocal", start))
    for number in range(line.iterations):
        stages.append(whole_stage(f"reciprocal{number}", _refined(read_stage(stages[0]), read_stage(stages[-1]))))
    reciprocal = read_stage(stages[-1])
    multiplier = whole_stage("multiplier", Value(shape, "int64", lambda point: _scaled(factor, reciprocal.at(point))))

    def at(point: Point) -> Expr:
        share = _high_product(read_stage(terms).at(point), along(read_stage(multiplier), axis, point), 0)
        return narrowed(share, -128, 127, "int8")

    return PlainAnchor((terms, *total.stages, *stages, multiplier), Value(node.shape, "int8", at), (*steps, *total.steps))


def normalize(node: Node, site: Site) -> PlainAnchor:
    """`qnn.normalize`."""
    data, axis, attrs = site.value(0), _axis(node), attrs_of(node, QnnNormalizeAttributes)
    count = data.shape[axis]
    of = Squares(count)
    values = Value(data.shape, "int64", lambda point: cast(data.at(point), "int64"))
    squares = Value(data.shape, "int64", lambda point: binary("mul", values.at(point), values.at(point)))
    kept, steps = _both(values, squares, site)
    sums = [
        reduced(name, read_stage(stage), [axis], "add", site.lanes) for name, stage in zip(("sum", "squared"), kept, strict=True)
    ]
    total, square = (each.value for each in sums)

    def apart(point: Point) -> Expr:
        whole = binary("shl", square.at(point), int64(of.fraction))
        if attrs.center:
            mean = _scaled(of.mean, total.at(point))
            whole = binary("sub", whole, _high_product(total.at(point), mean, of.left))
        return binary("max", binary("add", whole, int64(attrs.added(count))), int64(of.least))

    stages = [whole_stage("apart", Value(total.shape, "int64", apart))]
    for level in Root.LEVELS:
        stages.append(whole_stage(f"shifted{level}", _shifted(read_stage(stages[-1]), level)))
    original, whole = read_stage(stages[0]), read_stage(stages[-1])
    start = Value(total.shape, "int64", lambda point: _scaled(Root.SLOPE, whole.at(point), Root.BIAS))
    stages.append(whole_stage("root", start))
    for number in range(Root.ITERATIONS):
        stages.append(whole_stage(f"root{number}", _nearer(whole, read_stage(stages[-1]))))
    root = read_stage(stages[-1])
    multiplier = Value(
        total.shape,
        "int64",
        lambda point: binary("shl", _scaled(attrs.factor(count), root.at(point)), _half_shift(original.at(point))),
    )
    stages.append(whole_stage("multiplier", multiplier))
    offset = Value(total.shape, "int64", lambda point: _scaled(of.offset, total.at(point)) if attrs.center else int64(0))
    stages.append(whole_stage("offset", offset))

    def at(point: Point) -> Expr:
        centered = binary("shl", cast(data.at(point), "int64"), int64(MEAN_BITS))
        centered = binary("add", centered, along(read_stage(stages[-1]), axis, point))
        level = _high_product(centered, along(read_stage(stages[-2]), axis, point), attrs.left(count))
        return narrowed(level, -128, 127, "int8")

    before = [stage for each in sums for stage in each.stages]
    return PlainAnchor(
        (*kept, *before, *stages), Value(node.shape, "int8", at), (*steps, *(step for each in sums for step in each.steps))
    )


def _with_added(data: Value, added: Value) -> Value:
    """Rows of `data`, to which those of `added` are added one after the other, again and again; int32."""

    def at(point: Point) -> Expr:
        row: Expr = index(0)
        for place, size in zip(point[:-1], data.shape[:-1], strict=True):
            row = binary("add", binary("mul", row, index(size)), place.whole)
        row = binary("mod", row, index(added.shape[0]))
        return binary("add", cast(data.at(point), "int32"), cast(added.at((Coordinate(row), point[-1])), "int32"))

    return Value(data.shape, "int32", at)


def _axis(node: Node) -> int:
    return attrs_of(node, RowAttributes).axis % len(node.shape)


def _both(values: Value, squares: Value, site: Site) -> tuple[list[Stage], list[Step]]:
    """Stages that hold values and their squares."""
    pairs = [stored(value, name, site.lanes) for value, name in ((values, "values"), (squares, "squares"))]
    return [stage for stage, _ in pairs], [step for _, steps in pairs for step in steps]


def _high_product(value: Expr, multiplier: Expr, left: int) -> Expr:
    """`vta.ir.arithmetic.rows.high_product`, on int64."""
    product = binary("mul", binary("shl", value, int64(left)), multiplier)
    return binary("shr", binary("add", product, int64(1 << 30)), int64(31))


def _scaled(factor: Factor, value: Expr, bias: int = 0) -> Expr:
    return _high_product(binary("add", value, int64(bias)), int64(factor.multiplier), factor.left)


def _refined(total: Value, reciprocal: Value) -> Value:
    """One of Newton's steps to a reciprocal."""

    def at(point: Point) -> Expr:
        last = reciprocal.at(point)
        return _high_product(last, binary("sub", int64(2 * ONE), binary("mul", total.at(point), last)), 2)

    return Value(total.shape, "int64", at)


def _nearer(whole: Value, root: Value) -> Value:
    """One of Newton's steps to one over a root."""

    def at(point: Point) -> Expr:
        last = root.at(point)
        product = _high_product(_high_product(last, last, Root.SQUARE_LEFT), whole.at(point), Root.PRODUCT_LEFT)
        return _high_product(last, binary("sub", int64(Root.THREE), product), Root.RESULT_LEFT)

    return Value(whole.shape, "int64", at)


def _shifted(value: Value, level: int) -> Value:
    """A value shifted to the left by `level` bits where that leaves it below 2^30."""

    def at(point: Point) -> Expr:
        each = value.at(point)
        return select(binary("lt", each, int64(1 << (Root.OF_BITS - level))), binary("shl", each, int64(level)), each)

    return Value(value.shape, "int64", at)


def _half_shift(value: Expr) -> Expr:
    """Half of the bits that all levels shift a value by."""
    amount: Expr = int64(0)
    for level in Root.LEVELS:
        small = binary("lt", value, int64(1 << (Root.OF_BITS - level)))
        value = select(small, binary("shl", value, int64(level)), value)
        amount = binary("add", amount, select(small, int64(level // 2), int64(0)))
    return amount


def float_normalize(node: Node, site: Site) -> PlainAnchor:
    """`nn.normalize`."""
    attrs = attrs_of(node, NormalizeAttributes)
    data, dtype = site.value(0), node.dtype
    axis = attrs.axis % len(data.shape)
    count = const(data.shape[axis], dtype)
    mean = reduced("mean", data, [axis], "add", site.lanes) if attrs.center else None

    def centered(point: Point) -> Expr:
        if mean is None:
            return data.at(point)
        return binary("sub", data.at(point), binary("div", along(mean.value, axis, point), count))

    def square(point: Point) -> Expr:
        value = centered(point)
        return binary("mul", value, value)

    squares = reduced("squares", Value(data.shape, dtype, square), [axis], "add", site.lanes)

    def at(point: Point) -> Expr:
        variance = binary("div", along(squares.value, axis, point), count)
        return binary("div", centered(point), unary("sqrt", binary("add", variance, real(attrs.epsilon, dtype))))

    first = ((), ()) if mean is None else (mean.stages, mean.steps)
    return PlainAnchor((*first[0], *squares.stages), Value(node.shape, dtype, at), (*first[1], *squares.steps))
