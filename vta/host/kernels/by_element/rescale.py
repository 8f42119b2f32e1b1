"""What a requantize unit computes, on the host: to the bit of its reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vta.host.kernels.by_element.elementwise import limited
from vta.host.kernels.by_element.pointwise import ConstantMaker, pointwise
from vta.host.kernels.by_element.rescaling import ByChannel, by_channel, divided_by_power_of_two, int64
from vta.host.kernels.values import Coordinate, Point, Value
from vta.host.loop.expression import Expr, binary, cast, index, unary
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.quantized.rescale import MOST_SHIFT, TABLE_ENTRIES, RescaleAttributes

__all__: list[str] = []

_WITH_TABLE = 5
_INT32 = (-(2**31), 2**31 - 1)


@pointwise(ops.RESCALE)
def _rescale(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    attrs = attrs_of(node, RescaleAttributes)

    def parameter(at: int, low: int = _INT32[0], high: int = _INT32[1], opposite: bool = False) -> ByChannel:
        known = node.inputs[at].value
        if known is not None:
            numbers = np.asarray(known, np.int64)
            return by_channel(np.clip(-numbers if opposite else numbers, low, high), "int32", 1, make_constant)
        single = inputs[at].shape == (1,)

        def of(point: Point) -> Expr:
            value = inputs[at].at((Coordinate(index(0)) if single else point[1],))
            return limited(unary("neg", value) if opposite else value, low, high, "int32")

        return of

    bias, multiplier = parameter(1), parameter(2)
    # What shifts must be is looked at apart; here they are such that 64 bits have room for them.
    right = parameter(3, 0, MOST_SHIFT)
    left = parameter(3, 0, MOST_SHIFT, opposite=True) if attrs.narrow else by_channel(attrs.left, "int32", 1, make_constant)
    table = inputs[4] if len(inputs) == _WITH_TABLE else None

    def at(point: Point) -> Expr:
        raised = binary("shl", binary("add", inputs[0].at(point), bias(point)), left(point))
        product = binary("mul", cast(raised, "int64"), cast(multiplier(point), "int64"))
        result = (_rounded_once if attrs.once else _rounded_twice)(product, cast(right(point), "int64"))
        if not attrs.narrow:
            return cast(result, "int32")
        narrow = limited(binary("add", result, int64(attrs.zero_point)), attrs.a_min, attrs.a_max, "int64")
        if table is None:
            return cast(narrow, "int32")
        return cast(table.at((Coordinate(binary("add", narrow, index(TABLE_ENTRIES // 2))),)), "int32")

    return Value(node.shape, "int32", at)


def _rounded_once(product: Expr, right: Expr) -> Expr:
    half = binary("shl", int64(1), binary("add", right, int64(MOST_SHIFT - 1)))
    return binary("shr", binary("add", product, half), binary("add", right, int64(MOST_SHIFT)))


def _rounded_twice(product: Expr, right: Expr) -> Expr:
    high = binary("shr", binary("add", product, int64(1 << (MOST_SHIFT - 1))), int64(MOST_SHIFT))
    return divided_by_power_of_two(high, right)
