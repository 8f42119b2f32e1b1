"""Index expressions as sums of variables times whole numbers, and the ranges that they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vta.host.loop.expression import Binary, Const, Expr, Var, binary, index

__all__ = ["Affine", "affine_of"]


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
