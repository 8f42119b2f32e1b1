"""Which numbers an index can be."""

from __future__ import annotations

from collections.abc import Mapping

from vta.host.loop.expression import Binary, Const, Expr, Var

__all__ = ["range_of"]

Range = tuple[int, int]


def range_of(expression: Expr, ranges: Mapping[str, Range]) -> Range | None:
    """The smallest and the largest value, for those of the variables; None where that is not known."""
    match expression:
        case Const(value=value):
            return int(value), int(value)
        case Var(name=name):
            return ranges.get(name)
        case Binary(operation=operation, left=left, right=right):
            one, two = range_of(left, ranges), range_of(right, ranges)
            return None if one is None or two is None else _combined(operation, one, two)
        case _:
            return None


def _combined(operation: str, one: Range, two: Range) -> Range | None:
    match operation:
        case "add":
            return one[0] + two[0], one[1] + two[1]
        case "sub":
            return one[0] - two[1], one[1] - two[0]
        case "mul":
            ends = [a * b for a in one for b in two]
            return min(ends), max(ends)
        case "floordiv" if two[0] == two[1] > 0:
            return one[0] // two[0], one[1] // two[0]
        case "mod" if two[0] == two[1] > 0:
            return (one[0] % two[0], one[1] % two[0]) if one[0] // two[0] == one[1] // two[0] else (0, two[0] - 1)
        case "min":
            return min(one[0], two[0]), min(one[1], two[1])
        case "max":
            return max(one[0], two[0]), max(one[1], two[1])
        case _:
            return None
