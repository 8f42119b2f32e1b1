"""The statements of a program that store something, each with the loops around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from vta.autotune.auto.structure import arithmetic
from vta.host.loop.affine import affine_of
from vta.host.loop.buffer import Buffer
from vta.host.loop.expression import Binary, Expr, Load, Var, loads, walk
from vta.host.loop.nest import Block, Loop, Program, Statement, Store
from vta.support.dataclass import dataclass

__all__ = ["Access", "Leaf", "leaves_of"]

_INNER = ("unrolled", "vectorized", "transposed", "dot")
_LINE_BYTES = 64


@dataclass(frozen=True)
class Access:
    """A place that a statement reads or writes."""

    buffer: Buffer
    factors: Mapping[str, int]
    """By how many elements it moves with each variable."""
    known: bool
    """Whether it moves evenly; else the variables that it depends on have factor 0 or 1 here."""
    dimensions: tuple[Mapping[str, int] | None, ...]
    """The same of each index; None where it is no sum."""

    def moves(self, variable: str) -> bool:
        """Whether it depends on a variable."""
        return variable in self.factors

    def nbytes(self, extents: Mapping[str, int]) -> int:
        """Bytes of the lines of memory that it touches while some variables take all their values."""
        sizes = [
            min(size, 1 + sum(abs(factor) * (extents[name] - 1) for name, factor in (moves or {}).items() if name in extents))
            if moves is not None
            else size
            for size, moves in zip(self.buffer.shape, self.dimensions, strict=True)
        ]
        item = np.dtype(self.buffer.dtype).itemsize
        row = sizes[-1] * item if sizes else item
        return prod(sizes[:-1]) * -(-row // _LINE_BYTES) * _LINE_BYTES


@dataclass(frozen=True)
class Leaf:
    """A statement that stores, and the loops around it."""

    outer: tuple[Loop, ...]
    """Those that count, outermost first."""
    inner: tuple[Loop, ...]
    """Those that are written out or run as vectors."""
    target: Access
    reads: tuple[Access, ...]
    operations: int
    """Of one value; a product that is added up counts as one with the sum."""
    accumulates: bool

    @property
    def trips(self) -> int:
        """How often what is written out is run."""
        return prod(loop.extent for loop in self.outer)

    @property
    def copies(self) -> int:
        """How often the statement is written out."""
        return prod(loop.extent for loop in self.inner if loop.kind == "unrolled")

    def lane_loop(self) -> Loop | None:
        """The loop that runs as vectors."""
        return next((loop for loop in self.inner if loop.kind == "vectorized"), None)


def leaves_of(program: Program) -> list[Leaf]:
    """All leaves of all functions."""
    return [leaf for function in program.functions for leaf in _leaves(function.body, ())]


def _leaves(statement: Statement, loops: tuple[Loop, ...]) -> Iterator[Leaf]:
    match statement:
        case Store():
            yield _leaf(statement, loops)
        case Block(statements):
            for item in statements:
                yield from _leaves(item, loops)
        case Loop(body=body):
            yield from _leaves(body, (*loops, statement))
        case _:
            yield from _leaves(statement.body, loops)


def _leaf(store: Store, loops: tuple[Loop, ...]) -> Leaf:
    count = len(loops)
    while count and loops[count - 1].kind in _INNER:
        count -= 1
    value = store.value
    work = arithmetic(value)
    if store.accumulate is not None and not (isinstance(value, Binary) and value.operation == "mul"):
        work += 1
    reads = tuple(_access(item) for item in loads(value))
    return Leaf(
        loops[:count], loops[count:], _access(Load(store.buffer, store.indices)), reads, work, store.accumulate is not None
    )


def _access(place: Load) -> Access:
    parts = [affine_of(item) for item in place.indices]
    factors: dict[str, int] = {}
    for part, stride, position in zip(parts, place.buffer.strides, place.indices, strict=True):
        if part is None:
            factors.update(dict.fromkeys(_names(position), 1))
            continue
        for name, factor in part.factors.items():
            factors[name] = factors.get(name, 0) + factor * stride
    known = all(part is not None for part in parts)
    return Access(place.buffer, factors, known, tuple(None if part is None else part.factors for part in parts))


def _names(position: Expr) -> list[str]:
    return [node.name for node in walk(position) if isinstance(node, Var)]
