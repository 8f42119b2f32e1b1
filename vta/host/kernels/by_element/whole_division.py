"""Division of integers."""

from __future__ import annotations

from collections.abc import Sequence

from vta.host.kernels.by_element.elementwise import by_operands
from vta.host.loop.expression import Expr, binary, cast, const, select, unary
from vta.ir import names as ops
from vta.ir.graph import Node

__all__: list[str] = []

_WIDE = "int64"
_LOWEST = -(2**63)
_ZERO, _ONE = const(0, _WIDE), const(1, _WIDE)


@by_operands(ops.FLOOR_DIVIDE, ops.FLOOR_MOD, ops.TRUNC_DIVIDE, ops.TRUNC_MOD)
def _divided(node: Node, args: Sequence[Expr]) -> Expr:
    """As int64, in which the values of all other types can be negated; wraps as the type does."""
    left, right = (cast(value, _WIDE) for value in args)
    quotient = _floor(left, right)
    if node.op in (ops.TRUNC_DIVIDE, ops.TRUNC_MOD):
        quotient = select(_is_below(left, right, quotient), binary("add", quotient, _ONE), quotient)
    found = _rest(left, right, quotient) if node.op in (ops.FLOOR_MOD, ops.TRUNC_MOD) else quotient
    return cast(select(binary("eq", right, _ZERO), _ZERO, found), node.dtype)


def _floor(left: Expr, right: Expr) -> Expr:
    """The quotient towards minus infinity, of a divisor that is not zero: loops divide by positive numbers only."""
    size = select(binary("lt", right, _ZERO), unary("neg", right), right)
    # Neither zero nor what its own negative is.
    safe = select(binary("lt", _ZERO, size), size, _ONE)
    quotient = binary("floordiv", left, safe)
    is_whole = binary("eq", left, binary("mul", quotient, safe))
    opposite = select(is_whole, unary("neg", quotient), binary("sub", const(-1, _WIDE), quotient))
    found = select(binary("lt", right, _ZERO), opposite, quotient)
    by_lowest = select(binary("lt", _ZERO, left), const(-1, _WIDE), _ZERO)
    by_lowest = select(binary("eq", left, right), _ONE, by_lowest)
    return select(binary("eq", right, const(_LOWEST, _WIDE)), by_lowest, found)


def _rest(left: Expr, right: Expr, quotient: Expr) -> Expr:
    return binary("sub", left, binary("mul", quotient, right))


def _is_below(left: Expr, right: Expr, quotient: Expr) -> Expr:
    """Whether a quotient towards minus infinity is less than that towards zero."""
    signs_differ = binary("xor", binary("lt", left, _ZERO), binary("lt", right, _ZERO))
    return binary("and", signs_differ, binary("xor", binary("eq", _rest(left, right, quotient), _ZERO), const(True, "bool")))
