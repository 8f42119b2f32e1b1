"""Index expressions as sums of variables times whole numbers, and the ranges that they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import Binary, Const, Expr, Var, binary, index, map_expression, walk
from vta.support.dataclass import dataclass

__all__ = ["Affine", "affine_of", "flat_position", "step_along", "without_divisions"]


@dataclass(frozen=True)
class Affine:
    """``constant + sum of factor * variable``."""

    constant: int = 0
    factors: Mapping[str, int] = field(default_factory=dict)
    """Of each variable, none of them 0."""

    def plus(self, other: Affine, times: int = 1) -> Affine:
        """This and `times` another."""
        factors = dict(self.factors)
        for name, factor in other.factors.items():
            factors[name] = factors.get(name, 0) + times * factor
        return Affine(self.constant + times * other.constant, {name: factor for name, factor in factors.items() if factor})

    def without(self, names: Mapping[str, int]) -> Affine:
        """The part that does not depend on some variables."""
        return Affine(self.constant, {name: factor for name, factor in self.factors.items() if name not in names})

    def span(self, extents: Mapping[str, int]) -> tuple[int, int]:
        """Smallest and largest sum of the terms whose variables have extents here; the others and the constant do not count."""
        reaches = [factor * (extents[name] - 1) for name, factor in self.factors.items() if name in extents]
        return sum(reach for reach in reaches if reach < 0), sum(reach for reach in reaches if reach > 0)

    def expression(self) -> Expr:
        """The sum as an expression."""
        total: Expr = index(0)
        for name, factor in self.factors.items():
            total = binary("add", total, binary("mul", Var(name), index(factor)))
        return binary("add", total, index(self.constant))


def affine_of(expression: Expr) -> Affine | None:
    """An index expression as a sum, or None where it is none (it divides, loads, or multiplies variables)."""
    match expression:
        case Const(value=value):
            return Affine(int(value))
        case Var(name=name):
            return Affine(0, {name: 1})
        case Binary(operation="add" | "sub" as operation, left=left, right=right):
            first, second = affine_of(left), affine_of(right)
            return None if first is None or second is None else first.plus(second, 1 if operation == "add" else -1)
        case Binary(operation="mul", left=left, right=right):
            first, second = affine_of(left), affine_of(right)
            if first is None or second is None:
                return None
            if second.factors:
                first, second = second, first
            return None if second.factors else Affine().plus(first, second.constant)
        case _:
            return None


def step_along(position: Affine | Expr, variable: str) -> int | None:
    """By how much an index grows with a variable; None where that is not always the same."""
    match position:
        case Affine(factors=factors):
            return factors.get(variable, 0)
        case Var(name=name):
            return int(name == variable)
        case Binary(operation="add" | "sub" as operation, left=left, right=right):
            first, second = step_along(left, variable), step_along(right, variable)
            return None if first is None or second is None else first + (second if operation == "add" else -second)
        case Binary(operation="mul", left=left, right=Const(value=times)):
            step = step_along(left, variable)
            return None if step is None else step * int(times)
        case _:
            return None if any(node == Var(variable) for node in walk(position)) else 0


def without_divisions(expression: Expr, extents: Mapping[str, int]) -> Expr:
    """An expression whose quotients and rests by constants are sums, where the extents of variables tell what they are.

    ``(16 * block + lane) // 16`` is ``block`` where ``lane`` is below 16.
    """

    def change(node: Expr) -> Expr | None:
        match node:
            case Binary(operation="floordiv" | "mod" as operation, left=left, right=Const(value=divisor)):
                parts = _parts(affine_of(without_divisions(left, extents)), int(divisor), extents)
                return None if parts is None else parts[operation == "mod"].expression()
            case _:
                return None

    return map_expression(expression, change)


def _parts(total: Affine | None, divisor: int, extents: Mapping[str, int]) -> tuple[Affine, Affine] | None:
    """Quotient and rest, if what is no multiple of the divisor stays below it."""
    if total is None:
        return None
    multiples = {name: factor // divisor for name, factor in total.factors.items() if factor % divisor == 0}
    rest = Affine(total.constant % divisor, {name: factor for name, factor in total.factors.items() if name not in multiples})
    if any(name not in extents for name in rest.factors):
        return None
    low, high = rest.span(extents)
    if rest.constant + low < 0 or rest.constant + high >= divisor:
        return None
    return Affine(total.constant // divisor, multiples), rest


def flat_position(buffer: Buffer, indices: Sequence[Expr]) -> Expr:
    """Elements from a buffer's start, as an expression."""
    total: Expr = index(0)
    for item, stride in zip(indices, buffer.strides, strict=True):
        total = binary("add", total, binary("mul", item, index(stride)))
    return total
