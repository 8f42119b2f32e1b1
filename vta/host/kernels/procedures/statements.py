"""Short names for the statements of procedures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import Expr, Load, Var, binary, cast, const, index, load
from vta.host.loop.nest import Block, If, Let, Loop, LoopKind, Statement, Store

__all__ = ["Writer", "added", "both", "cell", "int32", "put", "set_cell", "value_of"]


def int32(value: int) -> Expr:
    """A number."""
    return const(value, "int32")


def cell(name: str, dtype: str = "int64") -> Buffer:
    """A variable."""
    return Buffer(name, (), dtype)


def value_of(variable: Buffer) -> Load:
    """What a variable holds."""
    return load(variable, ())


def set_cell(variable: Buffer, value: Expr) -> Store:
    """Give a variable a value."""
    return Store(variable, (), value)


def added(variable: Buffer, value: Expr) -> Store:
    """Add to a variable; a condition counts as 1."""
    return Store(variable, (), cast(value, variable.dtype), "add")


def put(buffer: Buffer, places: Sequence[Expr], value: Expr) -> Store:
    """Give an element a value."""
    return Store(buffer, tuple(places), value)


def both(*conditions: Expr) -> Expr:
    """Whether all conditions hold."""
    first, *others = conditions
    for other in others:
        first = binary("and", first, other)
    return first


class Writer:
    """Writes the loops of a function, each with a variable of its own."""

    def __init__(self) -> None:
        self._numbers = count()

    def loop(
        self, extent: int, body: Callable[[Expr], Sequence[Statement]], limit: Expr | None = None, kind: LoopKind = "serial"
    ) -> Statement:
        """Statements for each value below `extent`, and below `limit`."""
        if extent == 1 and kind != "parallel" and limit is None:
            return Block(tuple(body(index(0))))
        name = f"i{next(self._numbers)}"
        return Loop(name, extent, kind, Block(tuple(body(Var(name)))), limit=limit)

    def over(self, extents: Sequence[int], body: Callable[[list[Expr]], Sequence[Statement]], shared: bool) -> Statement:
        """Statements for each position; threads share the outermost loop if they may."""

        def inside(at: int, places: list[Expr]) -> list[Statement]:
            if at == len(extents):
                return list(body(places))
            kind: LoopKind = "serial" if at or not shared else "parallel"
            return [self.loop(extents[at], lambda place: inside(at + 1, [*places, place]), kind=kind)]

        found = inside(0, [])
        return found[0] if len(found) == 1 else Block(tuple(found))

    def named(self, value: Expr, body: Callable[[Expr], Sequence[Statement]]) -> Statement:
        """Statements in which an index has a name: positions are sums of such."""
        name = f"i{next(self._numbers)}"
        return Let(name, value, Block(tuple(body(Var(name)))))

    @staticmethod
    def where(condition: Expr, *body: Statement) -> Statement:
        """Statements that run where a condition holds."""
        return If(condition, Block(body))
