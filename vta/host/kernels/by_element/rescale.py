"""What a requantize unit computes, on the host: to the bit of its reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vta.host.kernels.by_element.elementwise import limited
from vta.host.kernels.by_element.pointwise import ConstantMaker, pointwise
from vta.host.kernels.by_element.rescaling import by_channel, divided_by_power_of_two, int64
from vta.host.kernels.values import Coordinate, Point, Value
from vta.host.loop.expression import Expr, binary, cast, index
from vta.ir import names as ops
from vta.ir.graph import Node, attrs_of
from vta.ir.ops.quantized.rescale import MOST_SHIFT, TABLE_ENTRIES, RescaleAttributes

__all__: list[str] = []

_PARAMETERS = slice(1, 4)
_WITH_TABLE = 5


def _has_known_parameters(node: Node) -> bool:
    """Whether bias, multipliers and shifts are constants, and the shifts those that 64 bits have room for."""
    if any(item.value is None for item in node.inputs[_PARAMETERS]):
        return False
    shifts = np.asarray(node.inputs[3].value)
    return bool((np.abs(shifts.astype(np.int64)) <= MOST_SHIFT).all())


@pointwise(ops.RESCALE, when=_has_known_parameters)
def _rescale(node: Node, inputs: Sequence[Value], make_constant: ConstantMaker) -> Value:
    attrs = attrs_of(node, RescaleAttributes)
    shifts = np.asarray(node.inputs[3].value, np.int64)
    bias, multiplier = (by_channel(node.inputs[at].value, "int32", 1, make_constant) for at in (1, 2))
    left = by_channel(np.maximum(-shifts, 0) if attrs.narrow else attrs.left, "int32", 1, make_constant)
    right = by_channel(np.maximum(shifts, 0), "int64", 1, make_constant)
    table = inputs[4] if len(inputs) == _WITH_TABLE else None

    def at(point: Point) -> Expr:
        raised = binary("shl", binary("add", inputs[0].at(point), bias(point)), left(point))
        product = binary("mul", cast(raised, "int64"), cast(multiplier(point), "int64"))
        result = (_rounded_once if attrs.once else _rounded_twice)(product, right(point))
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
